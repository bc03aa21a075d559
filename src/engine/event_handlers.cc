// SPDX-License-Identifier: Apache-2.0
// Implementation of event_handlers.h.
#include "engine/event_handlers.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/run_time.h"

namespace berth {

namespace {

// Whether pods may have ceased or begun to run in their groups without an attempt of ours.
bool ChangesWhoRuns(const ClusterChange& change) {
  if (change.groups.empty()) return false;
  const PodInfo* const pod = change.change.new_pod.get();
  if (pod == nullptr || pod->deletion_time().has_value() || change.groups.size() > 1) return true;
  return change.type == ClusterChange::Type::kPodAssigned && !change.confirmed;
}

}  // namespace

void EventHandlers::Handle(WatchEvent event) {
  ++events_;
  const EngineMetrics::SteadyTime begun =
      metrics_.enabled() ? std::chrono::steady_clock::now() : EngineMetrics::SteadyTime();
  if (event.type == WatchEvent::Type::kSet && event.object->kind() == Kind::kPod) {
    // A pod was created again under its name, and no event said that the old one is gone.
    const auto predecessor = cluster_.FindPredecessor(*event.object);
    if (predecessor != nullptr) {
      Handle({WatchEvent::Type::kDeleted, Object(predecessor->packed())});
    }
  }
  const ClusterChange change = cluster_.Apply(std::move(event));
  if (!change.problem.ok()) {
    ++unusable_objects_;
    return;
  }
  if (change.type == ClusterChange::Type::kSynced) {
    synced_ = true;
    // What happened to their groups while no scheduler ran is not known.
    for (const GroupMembers* group : cluster_.groups().All()) EndNominationsInVain(group->name());
    table_updater_.Prime(events_);
    return;
  }
  if (change.type == ClusterChange::Type::kNode && change.change.new_node == nullptr) {
    failure_handler_.EndNominations(change.change.old_node->name());
  }
  UpdateQueue(change);
  WarnOfAnnotations(change);
  for (const std::shared_ptr<const PodInfo>& pod : change.regrouped) {
    if (queue_.Contains(*pod->identity())) queue_.Update(pod, cluster_.GroupOf(*pod));
  }
  for (const std::string& group : change.groups) queue_.GroupChanged(group);
  reservations_.Changed(change);
  if (ChangesWhoRuns(change)) {
    for (const std::string& group : change.groups) stale_groups_.Changed(group);
  }
  for (const std::string& group : change.redefined) stale_groups_.Changed(group);
  EndNominationsInVain(change);
  if (const std::shared_ptr<const PodInfo>& was = change.unnominated; was != nullptr) {
    failure_handler_.RequeuePodsBlockedByNomination(was, was->nominated_node_name());
  }
  for (const ClusterEvent& moved : change.changed_since_assumed) {
    queue_.MoveAllOnEvent(moved, change.meanwhile);
  }
  EventScope scope;
  AwaitedVictims::Departure gone;
  if (change.type == ClusterChange::Type::kPodGone) {
    gone = preemption_executor_.VictimGone(*change.change.old_pod->identity());
    scope.except_group = gone.in_vain_for;
  }
  for (const ClusterEvent& moved : change.events) {
    queue_.MoveAllOnEvent(moved, change.change, scope);
  }
  if (!gone.makes_room_for.empty()) {
    queue_.RetryGroup(gone.makes_room_for, SchedulingQueue::RetryBackoff::kUnlessIdle);
  }
  for (const std::string& group : change.redefined) queue_.GroupChanged(group);
  metrics_.EventHandled(change, begun);
}

// Members that are bound or nominated, or of which something else changed, make no group unready.
void EventHandlers::EndNominationsInVain(const ClusterChange& change) {
  const PodInfo* const pod = change.change.new_pod.get();
  const bool may_be_unready = pod == nullptr || change.change.old_pod == nullptr ||
                              pod->deletion_time().has_value() || change.groups.size() > 1;
  if (!synced_ || !may_be_unready || change.confirmed) return;
  for (const std::string& group : change.groups) EndNominationsInVain(group);
  for (const std::string& group : change.redefined) EndNominationsInVain(group);
}

void EventHandlers::EndNominationsInVain(absl::string_view group) {
  if (cluster_.nominations().size() == 0) return;
  const GroupMembers* const members = cluster_.groups().Find(group);
  if (members == nullptr) return;
  const Framework* const framework =
      profiles_.Find(members->members().front().pod->scheduler_name());
  const GroupPlugin* const plugin = framework == nullptr ? nullptr : framework->plugins().group;
  if (plugin == nullptr || plugin->ReadyToSchedule(*members).ok()) return;
  failure_handler_.EndNominations(*members);
}

void EventHandlers::UpdateQueue(const ClusterChange& change) {
  switch (change.type) {
    case ClusterChange::Type::kPodPending: {
      const std::shared_ptr<const PodInfo>& pod = change.change.new_pod;
      // Another scheduler's, or being deleted.
      if (profiles_.Find(pod->scheduler_name()) == nullptr || pod->deletion_time().has_value()) {
        queue_.Delete(*pod->identity());
        return;
      }
      moved_pods_.OnPending(pod);
      if (queue_.Contains(*pod->identity())) {
        queue_.Update(pod, cluster_.GroupOf(*pod));
      } else {
        queue_.Add(pod, cluster_.GroupOf(*pod));
      }
      return;
    }
    case ClusterChange::Type::kPodAssigned:
      queue_.Delete(*change.change.new_pod->identity());
      recorder_.Forget(*change.change.new_pod->identity());
      // Another scheduler was faster.
      if (!change.confirmed) binder_.Drop(change.change.new_pod->uid());
      return;
    case ClusterChange::Type::kPodLeaving:
      binder_.Drop(change.change.new_pod->uid());
      return;
    case ClusterChange::Type::kPodGone: {
      const std::string& uid = change.change.old_pod->uid();
      queue_.Delete(*change.change.old_pod->identity());
      recorder_.Forget(*change.change.old_pod->identity());
      binder_.Drop(uid);
      return;
    }
    case ClusterChange::Type::kObject:
      binder_.ObjectChanged(change.new_object != nullptr ? *change.new_object : *change.old_object);
      return;
    case ClusterChange::Type::kNothing:
    case ClusterChange::Type::kPodChanged:
    case ClusterChange::Type::kNode:
    case ClusterChange::Type::kSynced:
      return;
  }
}

// Annotations of ours that cannot be read are as if they were not there: their author should know.
void EventHandlers::WarnOfAnnotations(const ClusterChange& change) {
  const PodInfo* const pod = change.change.new_pod.get();
  if (pod == nullptr || profiles_.Find(pod->scheduler_name()) == nullptr) return;
  const auto warn = [&](absl::string_view key, auto parse, absl::string_view so) {
    const std::optional<absl::string_view> text = pod->annotation(key);
    if (!text.has_value()) return;
    const PodInfo* const before = change.change.old_pod.get();
    if (before != nullptr && before->annotation(key) == text) return;  // that has been said
    const absl::Status read = parse(*text).status();
    if (read.ok()) return;
    recorder_.Warn(*pod, "UnreadableAnnotation",
                   absl::StrCat("metadata.annotations[\"", key, "\"]: ", read.message(), "; ", so));
  };
  warn(kDeclaredRunTime, ParseRunTime, "it is not known how long the pod runs");
  warn(kCheckpointTime, ParseCheckpointTime, "its work counts as saved when it started");
}

}  // namespace berth
