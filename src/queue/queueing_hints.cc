// SPDX-License-Identifier: Apache-2.0
// Implementation of queueing_hints.h.
#include "queue/queueing_hints.h"

#include <algorithm>

#include "absl/types/span.h"
#include "queue/pod_update_events.h"

namespace berth {

// kube-scheduler v1.35 PriorityQueue.isPodWorthRequeuing. Hints of a group are asked about the
// members that plugins rejected; an update of a member about that one alone.
RequeueStrategy QueueingHints::WorthRequeuing(const QueueEntry& entry, const ClusterEvent& event,
                                              const ObjectChange& change) const {
  if (entry.unschedulable_plugins.empty() && entry.pending_plugins.empty()) {
    return RequeueStrategy::kAfterBackoff;
  }
  const bool about_member = IsAbout(change, entry);
  if (IsWildcard(event)) {
    const bool about_one =
        change.new_pod != nullptr || change.new_node != nullptr || change.new_object != nullptr;
    return about_one && !about_member ? RequeueStrategy::kSkip : RequeueStrategy::kAfterBackoff;
  }
  const auto is_marked = [](const PendingPod& member) { return member.rejected; };
  absl::Span<const PendingPod> asked = entry.members;
  if (about_member) {
    const PendingPod* const own = entries_.FindTriable(entry, *change.new_pod->identity());
    asked = absl::MakeConstSpan(own, own == nullptr ? 0 : 1);
  }
  const bool all = about_member || std::none_of(asked.begin(), asked.end(), is_marked);
  const auto wants = [&](Symbol plugin) {
    const PluginSlot slot = table_.FindSlot(entry.profile, plugin);
    if (!table_.IsInterested(slot, event)) return false;
    return std::any_of(asked.begin(), asked.end(), [&](const PendingPod& member) {
      return (all || member.rejected) && table_.Hint(slot, event, change, *member.pod);
    });
  };
  if (std::any_of(entry.pending_plugins.begin(), entry.pending_plugins.end(), wants)) {
    return RequeueStrategy::kImmediately;
  }
  return std::any_of(entry.unschedulable_plugins.begin(), entry.unschedulable_plugins.end(), wants)
             ? RequeueStrategy::kAfterBackoff
             : RequeueStrategy::kSkip;
}

RequeueStrategy QueueingHints::WorthAfterFlight(const QueueEntry& entry,
                                                const StoredEventLog& events) const {
  if (entry.unschedulable_plugins.empty() && entry.pending_plugins.empty()) {
    return RequeueStrategy::kAfterBackoff;
  }
  RequeueStrategy best =
      entry.changed_in_flight ? RequeueStrategy::kAfterBackoff : RequeueStrategy::kSkip;
  events.ForEachSince(entry.first_event,
                      [&](const ClusterEvent& event, const ObjectChange& change) {
                        best = std::max(best, WorthRequeuing(entry, event, change));
                        return best != RequeueStrategy::kImmediately &&
                               (best == RequeueStrategy::kSkip || !entry.pending_plugins.empty());
                      });
  return best;
}

// A pod that was tried and then gated waits for the plugins that rejected it too. kube-scheduler
// v1.35 counts the gating plugin among them; its registration alone decides which events are looked
// at.
bool QueueingHints::AnyRejectorWants(const QueueEntry& entry, const ClusterEvent& event,
                                     const ObjectChange& change, const PodInfo& pod) const {
  const auto wants = [&](Symbol plugin) {
    return table_.Hint(table_.FindSlot(entry.profile, plugin), event, change, pod);
  };
  return std::any_of(entry.unschedulable_plugins.begin(), entry.unschedulable_plugins.end(),
                     wants) ||
         std::any_of(entry.pending_plugins.begin(), entry.pending_plugins.end(), wants);
}

bool QueueingHints::IsOwn(const ObjectChange& change, const PodInfo& pod) {
  const PodInfo* const changed =
      change.new_pod != nullptr ? change.new_pod.get() : change.old_pod.get();
  return changed != nullptr && changed->uid() == pod.uid();
}

bool QueueingHints::IsAbout(const ObjectChange& change, const QueueEntry& entry) const {
  return change.new_pod != nullptr && entries_.FindByPod(*change.new_pod->identity()) == &entry;
}

bool QueueingHints::MayOpenGate(const QueueEntry& entry, const PendingPod& member,
                                const ClusterEvent& event, const ObjectChange& change) const {
  const PluginSlot slot = table_.FindSlot(entry.profile, member.status.plugin_symbol());
  if (IsAbout(change, entry)) {
    if (member.pod->uid() != change.new_pod->uid()) return false;
    if (slot < 0) return true;  // nothing else would ever ask again
  }
  if (!table_.IsInterested(slot, event)) return false;
  return table_.Hint(slot, event, change, *member.pod) ||
         AnyRejectorWants(entry, event, change, *member.pod);
}

bool QueueingHints::GatingPluginWants(const QueueEntry& entry, const ClusterEvent& event,
                                      const ObjectChange& change) const {
  const PluginSlot slot = table_.FindSlot(entry.profile, entry.gating_plugin);
  return !entry.members.empty() && table_.Hint(slot, event, change, *entry.members.front().pod);
}

bool QueueingHints::MayConcern(const QueueEntry& entry, const ClusterEvent& event,
                               const ObjectChange& change) const {
  if (std::any_of(
          entry.gated_members.begin(), entry.gated_members.end(),
          [&](const PendingPod& member) { return MayOpenGate(entry, member, event, change); })) {
    return true;
  }
  if (entry.state == QueueState::kGated) return GatingPluginWants(entry, event, change);
  return entry.state == QueueState::kUnschedulable &&
         WorthRequeuing(entry, event, change) != RequeueStrategy::kSkip;
}

}  // namespace berth
