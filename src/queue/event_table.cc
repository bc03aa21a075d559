// SPDX-License-Identifier: Apache-2.0
// Looking up and asking the plugins that registered for an event.
#include "queue/event_table.h"

#include <algorithm>
#include <utility>

namespace berth {

bool IsPodLeaving(const ClusterEvent& event, const ObjectChange& change) {
  return event.resource == EventResource::AssignedPod() && event.action == action::kDelete &&
         change.new_pod == nullptr && change.old_pod != nullptr &&
         !change.old_pod->node_name().empty();
}

void EventTable::Add(Symbol profile, std::vector<PluginEvents> plugins) {
  interested_.clear();
  const ClusterEvent pod_left{EventResource::AssignedPod(), action::kDelete, ""};
  for (PluginEvents& plugin : plugins) {
    const auto [it, is_new] = slot_of_.try_emplace({profile, plugin.plugin}, size());
    if (is_new) slots_.emplace_back();
    Slot& slot = slots_[it->second];
    slot.index = std::move(plugin.index);
    for (ClusterEventWithHint& event : plugin.events) {
      slot.hints_read_spec_only &= event.hint == nullptr || plugin.hints_read_spec_only;
      if (event.event.Matches(pod_left)) {
        slot.after_pod_left =
            std::max(slot.after_pod_left, event.waits_for_room ? Interest::kRoom : Interest::kAny);
      }
      slot.events.push_back(std::move(event));
    }
  }
}

PluginSlot EventTable::FindSlot(Symbol profile, Symbol plugin) const {
  const auto it = slot_of_.find({profile, plugin});
  return it == slot_of_.end() ? -1 : it->second;
}

absl::Span<const PluginSlot> EventTable::Interested(const ClusterEvent& event) const {
  const uint64_t key = static_cast<uint64_t>(event.action) << 16 |
                       static_cast<uint64_t>(event.resource.kind) << 8 |
                       static_cast<uint64_t>(event.resource.type);
  const auto [it, is_new] = interested_.try_emplace(key);
  if (is_new) {
    const bool all = IsWildcard(event);
    for (PluginSlot slot = 0; slot < size(); ++slot) {
      if (all || IsInterested(slot, event)) it->second.push_back(slot);
    }
    if (all) it->second.push_back(unregistered());
  }
  return it->second;
}

bool EventTable::IsInterested(PluginSlot slot, const ClusterEvent& event) const {
  if (slot < 0) return false;
  for (const ClusterEventWithHint& registered : slots_[slot].events) {
    if (registered.event.Matches(event)) return true;
  }
  return false;
}

bool EventTable::PassesFilter(absl::Span<const PluginSlot> interested, const ClusterEvent& event,
                              const ObjectChange& change) const {
  if (IsWildcard(event)) return true;
  for (const PluginSlot slot : interested) {
    for (const ClusterEventWithHint& registered : slots_[slot].events) {
      if (!registered.event.Matches(event)) continue;
      if (registered.filter == nullptr || registered.filter(change)) return true;
    }
  }
  return false;
}

bool EventTable::Hint(PluginSlot slot, const ClusterEvent& event, const ObjectChange& change,
                      const PodInfo& pod) const {
  if (slot < 0) return false;
  for (const ClusterEventWithHint& registered : slots_[slot].events) {
    if (!registered.event.Matches(event)) continue;
    if (registered.filter != nullptr && !registered.filter(change)) continue;
    if (!registered.hint) return true;
    const absl::StatusOr<QueueingHint> hint = registered.hint(pod, change);
    if (!hint.ok() || *hint == QueueingHint::kQueue) return true;
  }
  return false;
}

bool IsWildcard(const ClusterEvent& event) {
  return event.resource.type == EventResource::kWildcard && event.action == action::kAll;
}

}  // namespace berth
