// Which waiting entries an event of the cluster concerns, and where it sends them.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "queue/change_events.h"
#include "queue/scheduling_queue.h"

namespace berth {

void SchedulingQueue::MoveAllOnEvent(const ClusterEvent& event, const ObjectChange& change,
                                     const std::function<bool(const PodInfo&)>& concerns) {
  const absl::Span<const PluginSlot> interested = table_.Interested(event);
  if (interested.empty() && !IsWildcard(event)) return;

  std::vector<std::pair<uint64_t, Entry*>> waiting;  // in the order in which they began to wait
  for (const PluginSlot slot : interested) {
    for (Entry* entry : waiting_for_[slot]) waiting.emplace_back(entry->sequence, entry);
  }
  if (IsWildcard(event)) {
    unschedulable_.ForEach([&](Entry& entry) { waiting.emplace_back(entry.sequence, &entry); });
  }
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());

  for (const auto& [sequence, entry] : waiting) {
    const auto is_concerned = [&](const PendingPod& member) { return concerns(*member.pod); };
    if (concerns && std::none_of(entry->members.begin(), entry->members.end(), is_concerned) &&
        std::none_of(entry->gated_members.begin(), entry->gated_members.end(), is_concerned)) {
      continue;
    }
    OnEvent(*entry, event, change);
  }
  Record(event, change);
}

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
  const bool about_member =
      change.new_pod != nullptr && FindEntryOf(*change.new_pod->identity()) == &entry;
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

// An event that some plugin registered that the entry waits for.
void SchedulingQueue::OnEvent(Entry& entry, const ClusterEvent& event, const ObjectChange& change) {
  const bool about_member =
      change.new_pod != nullptr && FindEntryOf(*change.new_pod->identity()) == &entry;
  const bool opened = OpenGates(entry, [&](const PendingPod& member) {
    const PluginSlot slot = table_.FindSlot(entry.profile, member.status.plugin_symbol());
    if (about_member) {
      if (member.pod->uid() != change.new_pod->uid()) return false;
      if (slot < 0) return true;  // nothing else would ever ask again
    }
    if (!table_.IsInterested(slot, event)) return false;
    return table_.Hint(slot, event, change, *member.pod) ||
           AnyRejectorWants(entry, event, change, *member.pod);
  });
  switch (entry.state) {
    case QueueState::kUnschedulable: {
      Strategy strategy = WorthRequeuing(entry, event, change);
      if (opened) strategy = std::max(strategy, Strategy::kAfterBackoff);
      if (strategy == Strategy::kSkip) return;
      entry.woken_by = Symbol::Intern(event.label);
      Requeue(entry, strategy, Gates::kAll);
      return;
    }
    case QueueState::kGated: {
      const PluginSlot slot = table_.FindSlot(entry.profile, entry.gating_plugin);
      const bool asked = !opened && !entry.members.empty() &&
                         table_.Hint(slot, event, change, *entry.members.front().pod);
      if (opened || asked) {
        entry.woken_by = Symbol::Intern(event.label);
        Requeue(entry, Strategy::kAfterBackoff, Gates::kGroupOnly);
      } else {
        Reindex(entry);  // another plugin may gate a member now
      }
      return;
    }
    case QueueState::kActive:
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
    case QueueState::kInFlight:
      Reindex(entry);
  }
}

// Keeps the lists of who waits for whose events in step with what the entry waits for.
void SchedulingQueue::Reindex(Entry& entry) {
  absl::InlinedVector<PluginSlot, 8> slots;
  const auto add = [&](Symbol plugin) {
    const PluginSlot slot = table_.FindSlot(entry.profile, plugin);
    if (slot >= 0 && !absl::c_linear_search(slots, slot)) slots.push_back(slot);
  };
  if (entry.state != QueueState::kInFlight) {
    for (const PendingPod& member : entry.gated_members) add(member.status.plugin_symbol());
  }
  if (entry.state == QueueState::kGated) add(entry.gating_plugin);
  if (entry.state == QueueState::kUnschedulable) {
    for (const Symbol plugin : entry.unschedulable_plugins) add(plugin);
    for (const Symbol plugin : entry.pending_plugins) add(plugin);
  }
  if (absl::c_equal(slots, entry.indexed_under)) return;
  for (const PluginSlot slot : entry.indexed_under) waiting_for_[slot].erase(&entry);
  for (const PluginSlot slot : slots) waiting_for_[slot].insert(&entry);
  entry.indexed_under.assign(slots.begin(), slots.end());
}

}  // namespace berth
