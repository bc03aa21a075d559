// SPDX-License-Identifier: Apache-2.0
// Implementation of openb_cluster.h.
#include "trace/openb_cluster.h"

#include <algorithm>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

constexpr double kCoverage = 0.95;  // of the pods by typical ones, as published

constexpr absl::string_view kCardsPlugin = "GpuDevices";

template <class Map>
void SetAmount(Map* map, const std::string& name, const std::string& amount) {
  (*map)[name].set_string(amount);
}

std::string MixText(const std::vector<TypicalPod>& mix) {
  std::vector<std::string> pods;
  const TypicalMix all(mix, 1);
  for (const TypicalMix::Group& group : all.groups()) {
    const TypicalPod& pod = group.pod;
    pods.push_back(absl::StrCat(
        "{milliCPU: ", pod.milli_cpu, ", gpus: ", pod.gpus, ", milliGPU: ", pod.milli_gpu,
        ", models: [",
        absl::StrJoin(pod.models, ", ",
                      [](std::string* out, Symbol model) { absl::StrAppend(out, model.view()); }),
        "], count: ", pod.count, "}"));
  }
  return absl::StrCat("typicalPods: [", absl::StrJoin(pods, ", "), "]");
}

}  // namespace

std::vector<Object> OpenbNodes(const OpenbTrace& trace) {
  std::vector<const OpenbNode*> by_rank(trace.nodes.size());
  for (size_t i = 0; i < trace.nodes.size(); ++i) by_rank[trace.node_ranks[i]] = &trace.nodes[i];
  std::vector<Object> objects;
  for (const OpenbNode* const node : by_rank) {
    if (node == nullptr) continue;  // ranks that repeat
    auto message = std::make_shared<api::Node>();
    message->mutable_metadata()->set_name(node->name);
    auto* const labels = message->mutable_metadata()->mutable_labels();
    (*labels)["kubernetes.io/hostname"] = node->name;
    (*labels)["nvidia.com/gpu.product"] = node->model;
    auto* const capacity = message->mutable_status()->mutable_capacity();
    SetAmount(capacity, "cpu", absl::StrCat(node->milli_cpu, "m"));
    SetAmount(capacity, "memory", absl::StrCat(node->memory_mib, "Mi"));
    SetAmount(capacity, "nvidia.com/gpu", absl::StrCat(node->gpus));
    SetAmount(capacity, "pods", "1001");
    *message->mutable_status()->mutable_allocatable() = message->status().capacity();
    objects.push_back(Object::Of(std::move(message)));
  }
  return objects;
}

OpenbShares SharesFor(const Profile& profile) {
  const auto enables = [](const PluginSet& set) {
    return std::any_of(set.enabled.begin(), set.enabled.end(),
                       [](const PluginEntry& entry) { return entry.name == kCardsPlugin; });
  };
  const bool knows = enables(profile.multi_point) ||
                     std::any_of(profile.points.begin(), profile.points.end(), enables);
  return knows ? OpenbShares::kAnnotations : OpenbShares::kWholeCards;
}

Object OpenbPodObject(const OpenbPod& pod, const std::string& name,
                      const std::string& scheduler_name, OpenbShares shares) {
  auto message = std::make_shared<api::Pod>();
  api::ObjectMeta& metadata = *message->mutable_metadata();
  metadata.set_name(name);
  metadata.set_namespace_("openb");
  message->mutable_spec()->set_scheduler_name(scheduler_name);
  api::Container& container = *message->mutable_spec()->add_containers();
  container.set_name("main");
  auto* const requests = container.mutable_resources()->mutable_requests();
  SetAmount(requests, "cpu", absl::StrCat(pod.milli_cpu, "m"));
  SetAmount(requests, "memory", absl::StrCat(pod.memory_mib, "Mi"));
  if (pod.gpus > 0 && (pod.milli_gpu >= 1000 || shares == OpenbShares::kWholeCards)) {
    SetAmount(requests, "nvidia.com/gpu", absl::StrCat(pod.gpus));
  } else if (pod.gpus > 0) {
    (*metadata.mutable_annotations())["alibabacloud.com/gpu-milli"] = absl::StrCat(pod.milli_gpu);
    (*metadata.mutable_annotations())["alibabacloud.com/gpu-count"] = absl::StrCat(pod.gpus);
  }
  if (!pod.models.empty()) {
    (*metadata.mutable_annotations())["alibabacloud.com/gpu-card-model"] = pod.models;
  }
  return Object::Of(std::move(message));
}

absl::Status GiveMix(const std::vector<TypicalPod>& mix, const Registry& registry,
                     KubeSchedulerConfiguration& configuration) {
  const std::string text = MixText(mix);
  for (const auto& [name, registration] : registry.plugins()) {
    if (registration.args == nullptr) continue;
    const auto& fields = registration.args->fields();
    if (std::none_of(fields.begin(), fields.end(),
                     [](const auto& field) { return field.name == "typicalPods"; })) {
      continue;
    }
    for (Profile& profile : configuration.profiles) {
      const auto given = profile.args.find(name);
      const std::string before = given == profile.args.end()
                                     ? PluginArgs::Defaults(registration.args).ToString()
                                     : given->second.ToString();
      // The mix that a configuration gives stays.
      absl::StatusOr<PluginArgs> args = PluginArgs::Parse(
          absl::StrReplaceAll(before, {{"typicalPods: []", text}}), *registration.args);
      if (!args.ok()) return args.status();
      profile.args[name] = *std::move(args);
    }
  }
  return absl::OkStatus();
}

OpenbBooks::OpenbBooks(const OpenbTrace& trace, OpenbShares shares)
    : shares_(shares), mix_(trace.Mix(), kCoverage), capacity_(trace.capacity_milli()) {
  for (const OpenbNode& node : trace.nodes) {
    node_of_[node.name] = free_.size();
    FreeGpus free{node.milli_cpu, {}, Symbol::Intern(node.model)};
    free.milli_gpu.assign(node.gpus, 1000);
    fragmentation_.push_back(Fragmentation(mix_, free));
    free_.push_back(std::move(free));
    cpu_capacity_ += node.milli_cpu;
  }
}

absl::Status OpenbBooks::Change(const OpenbPod& pod, const std::string& node,
                                const std::string& cards, int64_t sign) {
  const auto it = node_of_.find(node);
  if (it == node_of_.end()) return absl::InvalidArgumentError(absl::StrCat("no node ", node));
  FreeGpus& free = free_[it->second];
  const std::vector<std::string> indexes = absl::StrSplit(cards, '-', absl::SkipEmpty());
  if (static_cast<int>(indexes.size()) != pod.gpus) {
    return absl::InvalidArgumentError(absl::StrCat("pod ", pod.name, " on ", node, " asks for ",
                                                   pod.gpus, " GPUs and has cards \"", cards,
                                                   "\"; does the profile enable GpuDevices?"));
  }
  free.milli_cpu -= sign * pod.milli_cpu;
  bool free_enough = free.milli_cpu >= 0;
  for (const std::string& text : indexes) {
    size_t index;
    if (!absl::SimpleAtoi(text, &index) || index >= free.milli_gpu.size()) {
      return absl::InvalidArgumentError(absl::StrCat("node ", node, " has no card ", text));
    }
    free.milli_gpu[index] -= sign * pod.milli_gpu;
    free_enough = free_enough && free.milli_gpu[index] >= 0;
  }
  if (!free_enough) {
    return absl::InternalError(
        absl::StrCat("pod ", pod.name, " does not fit on cards ", cards, " of ", node));
  }
  allocated_ += sign * pod.demand();
  milli_cpu_ += sign * pod.milli_cpu;
  fragmentation_[it->second] = Fragmentation(mix_, free);
  return absl::OkStatus();
}

std::string OpenbBooks::FirstIdle(const OpenbPod& pod, const std::string& node) const {
  std::vector<size_t> idle;
  const auto it = node_of_.find(node);
  if (it == node_of_.end()) return "";
  const FreeGpus& free = free_[it->second];
  for (size_t i = 0; i < free.milli_gpu.size(); ++i) {
    if (free.milli_gpu[i] == 1000 && static_cast<int>(idle.size()) < pod.gpus) idle.push_back(i);
  }
  return absl::StrJoin(idle, "-");
}

absl::StatusOr<std::string> OpenbBooks::Place(const OpenbPod& pod, const std::string& node,
                                              std::string cards) {
  if (cards.empty() && shares_ == OpenbShares::kWholeCards) cards = FirstIdle(pod, node);
  absl::Status changed = Change(pod, node, cards, 1);
  if (!changed.ok()) return changed;
  return cards;
}

void OpenbBooks::Remove(const OpenbPod& pod, const std::string& node, const std::string& cards) {
  Change(pod, node, cards, -1).IgnoreError();
}

double OpenbBooks::fragmentation() const {
  double sum = 0;
  for (const double of_node : fragmentation_) sum += of_node;
  return sum;
}

}  // namespace berth
