// SPDX-License-Identifier: Apache-2.0
// A cluster backend that speaks lines: manifests come in, decisions go out.
#ifndef BERTH_EXAMPLES_EMBEDDING_LINE_CLUSTER_H_
#define BERTH_EXAMPLES_EMBEDDING_LINE_CLUSTER_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/api/admission.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/cluster.h"

// What comes in, one a line: a manifest in JSON, which is there or has changed; a manifest after
// "delete ", which is gone; "synced" after what there was at the start. What goes out:
// {"bind":"default/web","node":"n0"}, {"evict":"default/web"} and, at the end,
// {"pending":"default/x"}. For people, on standard error: why. Threads: any.
class LineCluster final : public berth::Cluster {
 public:
  LineCluster(std::istream& in, std::ostream& out) : in_(in), out_(out) {}

  // Delivers every line until the input ends. After Watch(), on a thread of its own.
  void ReadLines() {
    for (std::string line; std::getline(in_, line);) {
      absl::string_view text = line;
      if (text.empty()) continue;
      const std::lock_guard lock(mutex_);
      if (text == "synced") {
        DeliverSynced();
        continue;
      }
      const bool gone = absl::ConsumePrefix(&text, "delete ");
      berth::Manifests manifests =
          berth::ParseManifest(text, "standard input", {.admission = &admission_});
      for (const berth::Problem& problem : manifests.problems) std::cerr << problem << '\n';
      for (const berth::Object& object : manifests.objects) gone ? Delete(object) : Set(object);
    }
    const std::lock_guard lock(mutex_);
    DeliverSynced();
  }

  // Returns when every pod has a node, or `patience` is over.
  void WaitUntilPlaced(std::chrono::seconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] {
      return std::all_of(pods_.begin(), pods_.end(),
                         [](const auto& entry) { return !NodeOf(entry.second).empty(); });
    });
  }

  void PrintPending() {
    const std::lock_guard lock(mutex_);
    for (const auto& [uid, pod] : pods_) {
      if (NodeOf(pod).empty()) Print(absl::StrCat(R"({"pending":")", pod.key(), R"("})"));
    }
  }

  // --- What the scheduler calls ---

  absl::Status Watch(berth::WatchSink& sink, const std::vector<berth::Kind>&) override {
    const std::lock_guard lock(mutex_);
    sink_ = &sink;
    return absl::OkStatus();
  }
  // Deliveries are made under the lock: none is under way when this has it.
  void StopWatching() override {
    const std::lock_guard lock(mutex_);
    sink_ = nullptr;
  }

  absl::Status Bind(const berth::PodBinding& binding) override {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(binding.pod->uid());
    if (found == pods_.end()) return absl::NotFoundError("the pod is gone");
    auto bound = std::make_shared<berth::api::Pod>(found->second.As<berth::api::Pod>());
    if (!bound->spec().node_name().empty()) {
      return absl::FailedPreconditionError("the pod has a node already");
    }
    bound->mutable_spec()->set_node_name(binding.node_name);
    auto& metadata = *bound->mutable_metadata();
    for (const auto& [key, value] : binding.annotations) {
      (*metadata.mutable_annotations())[key] = value;
    }
    metadata.mutable_labels()->insert(binding.labels.begin(), binding.labels.end());
    Print(absl::StrCat(R"({"bind":")", binding.pod->key(), R"(","node":")", binding.node_name,
                       R"("})"));
    Set(berth::Object::Of(std::move(bound)));  // the watch shows it, as everything
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> AssignedNode(const berth::Identity& pod) override {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(pod.uid());
    if (found == pods_.end()) return absl::NotFoundError("the pod is gone");
    return NodeOf(found->second);
  }

  // Nothing runs behind this cluster that would take time to end.
  absl::Status Evict(const berth::Identity& pod, const std::string& message) override {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(pod.uid());
    if (found == pods_.end()) return absl::NotFoundError("the pod is gone");
    Print(absl::StrCat(R"({"evict":")", pod.key(), R"("})"));
    std::cerr << pod.key() << ": " << message << '\n';
    Delete(berth::Object(found->second));
    return absl::OkStatus();
  }

  // Nobody reads the status of pods here.
  absl::Status PatchPodStatus(const berth::PodStatusPatch&) override { return absl::OkStatus(); }

  void Record(berth::RecordedEvent event) override {
    const std::lock_guard lock(mutex_);
    std::cerr << event.regarding->key() << ": " << event.reason << ": " << event.note() << '\n';
  }

 private:
  static const std::string& NodeOf(const berth::Object& pod) {
    return pod.As<berth::api::Pod>().spec().node_name();
  }

  // All of these with the lock.
  void Set(const berth::Object& object) {
    if (object.kind() == berth::Kind::kPod)
      pods_.insert_or_assign(std::string(object.uid()), object);
    Deliver({berth::WatchEvent::Type::kSet, object});
  }
  void Delete(const berth::Object& object) {
    if (object.kind() == berth::Kind::kPod) pods_.erase(std::string(object.uid()));
    Deliver({berth::WatchEvent::Type::kDeleted, object});
  }
  void DeliverSynced() {
    if (!synced_) Deliver({berth::WatchEvent::Type::kSynced, std::nullopt});
    synced_ = true;
  }
  void Deliver(berth::WatchEvent event) {
    changed_.notify_all();
    if (sink_ != nullptr) sink_->DeliverOne(std::move(event));
  }
  void Print(absl::string_view line) { out_ << line << std::endl; }

  std::istream& in_;
  std::ostream& out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  berth::WatchSink* sink_ = nullptr;
  bool synced_ = false;
  berth::Admission admission_;                 // knows the PriorityClasses that came before a pod
  std::map<std::string, berth::Object> pods_;  // by uid
};

#endif  // BERTH_EXAMPLES_EMBEDDING_LINE_CLUSTER_H_
