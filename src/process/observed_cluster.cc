// SPDX-License-Identifier: Apache-2.0
// Implementation of observed_cluster.h.
#include "process/observed_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/identity.h"

namespace berth {
namespace {

constexpr int kVerbosityOfDecisions = 2;
constexpr int kVerbosityOfWrites = 4;

}  // namespace

absl::Status ObservedCluster::Watch(WatchSink& sink, const std::vector<Kind>& kinds) {
  sink_ = &sink;
  return cluster_.Watch(*this, kinds);
}

void ObservedCluster::Deliver(std::vector<WatchEvent> events) {
  const bool ends_sync = std::any_of(events.begin(), events.end(), [](const WatchEvent& event) {
    return event.type == WatchEvent::Type::kSynced;
  });
  sink_->Deliver(std::move(events));
  if (ends_sync) synced_ = true;
  callbacks_.on_events();
}

void ObservedCluster::DeliverOne(WatchEvent event) {
  const bool ends_sync = event.type == WatchEvent::Type::kSynced;
  sink_->DeliverOne(std::move(event));
  if (ends_sync) synced_ = true;
  callbacks_.on_events();
}

template <class Write>
absl::Status ObservedCluster::Try(const Write& write, absl::string_view failed, LogField subject,
                                  bool (*is_expected)(const absl::Status&)) {
  if (!callbacks_.may_write()) return absl::UnavailableError("this process does not lead");
  absl::Status status = write();
  if (!status.ok() && !is_expected(status)) log_.Error(failed, status, {subject});
  return status;
}

absl::Status ObservedCluster::Bind(const PodBinding& binding) {
  const std::string& pod = binding.pod->key();
  log_.Verbose(kVerbosityOfWrites, "Binding pod", {{"pod", pod}, {"node", binding.node_name}});
  return Try([&] { return cluster_.Bind(binding); }, "Failed to bind pod", {"pod", pod},
             [](const absl::Status&) { return false; });
}

absl::Status ObservedCluster::Evict(const Identity& pod, const std::string& message) {
  log_.Verbose(kVerbosityOfDecisions, "Evicting pod", {{"pod", pod.key()}, {"reason", message}});
  return Try([&] { return cluster_.Evict(pod, message); }, "Failed to evict pod",
             {"pod", pod.key()},
             [](const absl::Status& status) { return absl::IsNotFound(status); });
}

absl::Status ObservedCluster::PatchPodStatus(const PodStatusPatch& patch) {
  return Try([&] { return cluster_.PatchPodStatus(patch); }, "Failed to update the status of pod",
             {"pod", patch.pod->key()},
             [](const absl::Status& status) { return absl::IsNotFound(status); });
}

absl::Status ObservedCluster::Update(const ObjectUpdate& update) {
  const std::string object = update.object.ToString();
  // What was changed or removed meanwhile is seen by the watch, and tried again.
  return Try([&] { return cluster_.Update(update); }, "Failed to update object", {"object", object},
             [](const absl::Status& status) {
               return absl::IsNotFound(status) || absl::IsAborted(status);
             });
}

absl::Status ObservedCluster::Edit(const ObjectEdit& edit) {
  const std::string object = absl::StrCat(KindName(edit.object->kind()), " ", edit.object->key());
  return Try([&] { return cluster_.Edit(edit); }, "Failed to update object", {"object", object},
             [](const absl::Status& status) {
               return absl::IsNotFound(status) || absl::IsAborted(status) ||
                      absl::IsFailedPrecondition(status);  // what the edit itself says
             });
}

absl::StatusOr<Object> ObservedCluster::Create(const Object& object) {
  const std::string name = object.ToString();
  absl::StatusOr<Object> created = absl::UnknownError("");
  absl::Status status = Try(
      [&] {
        created = cluster_.Create(object);
        return created.status();
      },
      "Failed to create object", {"object", name}, [](const absl::Status&) { return false; });
  if (!status.ok()) return status;
  return created;
}

absl::Status ObservedCluster::Delete(const Identity& object) {
  const std::string name = absl::StrCat(KindName(object.kind()), " ", object.key());
  return Try([&] { return cluster_.Delete(object); }, "Failed to delete object", {"object", name},
             [](const absl::Status& status) { return absl::IsNotFound(status); });
}

void ObservedCluster::Record(RecordedEvent event) {
  if (!callbacks_.may_write()) return;
  if (event.warning && event.regarding->kind() != Kind::kPod) {
    const Identity& who = *event.regarding;
    log_.Warning("Something is wrong with an object",
                 {{"object", absl::StrCat(KindName(who.kind()), " ", who.key())},
                  {"reason", event.reason},
                  {"message", event.text}});
  }
  cluster_.Record(std::move(event));
}

}  // namespace berth
