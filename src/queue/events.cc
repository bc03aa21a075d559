// SPDX-License-Identifier: Apache-2.0
// Whether an event of the cluster concerns a waiting entry, and where it sends it.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "queue/pod_update_events.h"
#include "queue/scheduling_queue.h"

namespace berth {

void SchedulingQueue::Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  for (const std::shared_ptr<const PodInfo>& pod : pods) {
    Entry* const entry = FindEntryOf(*pod->identity());
    if (entry == nullptr) continue;
    switch (entry->state) {
      case QueueState::kActive:
        break;
      case QueueState::kInFlight:
        Record(ForceActivate(), {.new_pod = pod});
        break;
      case QueueState::kBackoff:
      case QueueState::kErrorBackoff:
        MoveToActive(*entry, Gates::kSkip);
        break;
      case QueueState::kUnschedulable:
      case QueueState::kGated:
        MoveToActive(*entry, Gates::kAll);
        break;
    }
  }
}

void SchedulingQueue::Record(const ClusterEvent& event, const ObjectChange& change) {
  if (!in_flight_.empty()) log_.Append(event, change);
}

// kube-scheduler v1.35 PriorityQueue.isPodWorthRequeuing. Hints of a group are asked about the
// members that plugins rejected; an update of a member about that one alone.
SchedulingQueue::Strategy SchedulingQueue::WorthRequeuing(const Entry& entry,
                                                          const ClusterEvent& event,
                                                          const ObjectChange& change) const {
  if (entry.unschedulable_plugins.empty() && entry.pending_plugins.empty()) {
    return Strategy::kAfterBackoff;
  }
  const bool about_member = IsAbout(change, entry);
  if (IsWildcard(event)) {
    const bool about_one =
        change.new_pod != nullptr || change.new_node != nullptr || change.new_object != nullptr;
    return about_one && !about_member ? Strategy::kSkip : Strategy::kAfterBackoff;
  }
  const bool any_marked = std::any_of(entry.members.begin(), entry.members.end(),
                                      [](const PendingPod& member) { return member.rejected; });
  const auto wants = [&](Symbol plugin) {
    const PluginSlot slot = table_.FindSlot(entry.profile, plugin);
    if (!table_.IsInterested(slot, event)) return false;
    return std::any_of(entry.members.begin(), entry.members.end(), [&](const PendingPod& member) {
      const bool asked = about_member ? member.pod->uid() == change.new_pod->uid()
                                      : member.rejected || !any_marked;
      return asked && table_.Hint(slot, event, change, *member.pod);
    });
  };
  if (std::any_of(entry.pending_plugins.begin(), entry.pending_plugins.end(), wants)) {
    return Strategy::kImmediately;
  }
  return std::any_of(entry.unschedulable_plugins.begin(), entry.unschedulable_plugins.end(), wants)
             ? Strategy::kAfterBackoff
             : Strategy::kSkip;
}

// The same for everything that happened since Pop().
SchedulingQueue::Strategy SchedulingQueue::WorthAfterFlight(const Entry& entry) const {
  if (entry.unschedulable_plugins.empty() && entry.pending_plugins.empty()) {
    return Strategy::kAfterBackoff;
  }
  Strategy best = entry.changed_in_flight ? Strategy::kAfterBackoff : Strategy::kSkip;
  log_.ForEachSince(entry.first_event, [&](const ClusterEvent& event, const ObjectChange& change) {
    best = std::max(best, WorthRequeuing(entry, event, change));
    return best != Strategy::kImmediately &&
           (best == Strategy::kSkip || !entry.pending_plugins.empty());
  });
  return best;
}

// A pod that was tried and then gated waits for the plugins that rejected it too. kube-scheduler
// v1.35 counts the gating plugin among them; its registration alone decides which events are looked
// at.
bool SchedulingQueue::AnyRejectorWants(const Entry& entry, const ClusterEvent& event,
                                       const ObjectChange& change, const PodInfo& pod) const {
  const auto wants = [&](Symbol plugin) {
    return table_.Hint(table_.FindSlot(entry.profile, plugin), event, change, pod);
  };
  return std::any_of(entry.unschedulable_plugins.begin(), entry.unschedulable_plugins.end(),
                     wants) ||
         std::any_of(entry.pending_plugins.begin(), entry.pending_plugins.end(), wants);
}

// Whether the change is that of the pod.
bool SchedulingQueue::IsOwn(const ObjectChange& change, const PodInfo& pod) {
  const PodInfo* const changed =
      change.new_pod != nullptr ? change.new_pod.get() : change.old_pod.get();
  return changed != nullptr && changed->uid() == pod.uid();
}

bool SchedulingQueue::IsAbout(const ObjectChange& change, const Entry& entry) const {
  return change.new_pod != nullptr && FindEntryOf(*change.new_pod->identity()) == &entry;
}

// The entry of the pod that changed; null if there is none.
QueuedGroup* SchedulingQueue::OwnEntry(const ObjectChange& change) {
  const std::shared_ptr<const PodInfo>& pod =
      change.new_pod != nullptr ? change.new_pod : change.old_pod;
  return pod == nullptr ? nullptr : FindEntryOf(*pod->identity());
}

// Whether its gate is to be asked about a gated member.
bool SchedulingQueue::MayOpenGate(const Entry& entry, const PendingPod& member,
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

bool SchedulingQueue::GatingPluginWants(const Entry& entry, const ClusterEvent& event,
                                        const ObjectChange& change) const {
  const PluginSlot slot = table_.FindSlot(entry.profile, entry.gating_plugin);
  return !entry.members.empty() && table_.Hint(slot, event, change, *entry.members.front().pod);
}

// Whether OnEvent() might do anything for an entry that waits.
bool SchedulingQueue::MayConcern(const Entry& entry, const ClusterEvent& event,
                                 const ObjectChange& change) const {
  if (std::any_of(
          entry.gated_members.begin(), entry.gated_members.end(),
          [&](const PendingPod& member) { return MayOpenGate(entry, member, event, change); })) {
    return true;
  }
  if (entry.state == QueueState::kGated) return GatingPluginWants(entry, event, change);
  return entry.state == QueueState::kUnschedulable &&
         WorthRequeuing(entry, event, change) != Strategy::kSkip;
}

// An event that some plugin registered that the entry waits for.
void SchedulingQueue::OnEvent(Entry& entry, const ClusterEvent& event, const ObjectChange& change) {
  const bool opened = OpenGates(
      entry, [&](const PendingPod& member) { return MayOpenGate(entry, member, event, change); });
  switch (entry.state) {
    case QueueState::kUnschedulable: {
      Strategy strategy = WorthRequeuing(entry, event, change);
      if (opened) strategy = std::max(strategy, Strategy::kAfterBackoff);
      if (strategy == Strategy::kSkip) return Reindex(entry);
      return RequeueOne(entry, Symbol::Intern(event.label), strategy);
    }
    case QueueState::kGated:
      if (opened || GatingPluginWants(entry, event, change)) {
        entry.requeued_by = Symbol::Intern(event.label);
        Requeue(entry, Strategy::kAfterBackoff, Gates::kGroupOnly);
      } else {
        Reindex(entry);  // another plugin may gate a member now
      }
      return;
    case QueueState::kActive:
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
    case QueueState::kInFlight:
      Reindex(entry);
  }
}

// Keeps the index of who waits for whose events in step with what the entry waits for.
void SchedulingQueue::Reindex(Entry& entry) {
  const bool waits = entry.state == QueueState::kUnschedulable || entry.state == QueueState::kGated;
  // It was woken, whatever becomes of it until it moves.
  const bool is_waking = entry.kind != nullptr && !entry.kind->is_indexed;
  if (is_waking && waits) return;
  if (!waits && entry.gated_members.empty()) return hint_classes_.Remove(entry);
  absl::InlinedVector<PluginSlot, 8> slots;
  HintClass::Key key;
  bool hints_read_spec_only = true;  // all that may be asked about it
  const auto note = [&](Symbol plugin, bool waits_for_it) {
    const PluginSlot slot = table_.FindSlot(entry.profile, plugin);
    hints_read_spec_only &= table_.HintsReadSpecOnly(slot);
    key.role.push_back(plugin.id());
    if (waits_for_it && slot >= 0 && !absl::c_linear_search(slots, slot)) slots.push_back(slot);
  };
  const bool in_flight = entry.state == QueueState::kInFlight;
  const bool unschedulable = entry.state == QueueState::kUnschedulable;
  key.role = {entry.profile.id(), static_cast<uint32_t>(entry.state),
              static_cast<uint32_t>(entry.gated_members.size()),
              static_cast<uint32_t>(entry.unschedulable_plugins.size())};
  for (const PendingPod& member : entry.gated_members) {
    note(member.status.plugin_symbol(), !in_flight);
  }
  if (entry.state == QueueState::kGated) note(entry.gating_plugin, true);
  for (const Symbol plugin : entry.unschedulable_plugins) note(plugin, unschedulable);
  for (const Symbol plugin : entry.pending_plugins) note(plugin, unschedulable);
  if (slots.empty()) {
    if (!unschedulable) return hint_classes_.Remove(entry);
    slots.push_back(table_.unregistered());
  }
  // Whom events in waiting still concern may be of a kind that was asked about them already: it
  // becomes one of its own, which is asked when all others have been.
  const uint64_t since = FirstPendingEvent(entry);
  key.who = entry.AnyMember().pod->shared_spec().get();
  const bool is_unasked = since < next_event_ && !(entry.kind->key == key);
  if (!hints_read_spec_only || entry.is_group || is_unasked) key.who = &entry;
  hint_classes_.Set(entry, std::move(key), slots, since);
}

}  // namespace berth
