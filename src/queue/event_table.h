// SPDX-License-Identifier: Apache-2.0
// Which plugins of which profile want to be asked about which events.
#ifndef BERTH_SRC_QUEUE_EVENT_TABLE_H_
#define BERTH_SRC_QUEUE_EVENT_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/framework/enqueue.h"
#include "framework/profile_plugins.h"

namespace berth {

// A plugin of a profile, as a small number; -1 if it registered nothing. Belongs to the queue.
using PluginSlot = int;

class EventTable {
 public:
  void Add(Symbol profile, std::vector<PluginEvents> plugins);

  PluginSlot FindSlot(Symbol profile, Symbol plugin) const;
  int size() const { return static_cast<int>(slots_.size()); }
  // Stands for all plugins that registered nothing: only a wildcard event interests it.
  PluginSlot unregistered() const { return size(); }
  // The plugins that registered for `event`, ascending; all for a wildcard event. Valid until the
  // next Add().
  absl::Span<const PluginSlot> Interested(const ClusterEvent& event) const;
  bool IsInterested(PluginSlot slot, const ClusterEvent& event) const;
  // Whether the filter of any registration of these plugins lets the change through.
  bool PassesFilter(absl::Span<const PluginSlot> interested, const ClusterEvent& event,
                    const ObjectChange& change) const;
  // Why the plugin is to be asked again about pods that it rejected when a pod left its node.
  enum class Interest : uint8_t {
    kNone,  // it did not register for that
    kRoom,  // it only waits for room on a node (ClusterEventWithHint::waits_for_room)
    kAny,
  };
  Interest AfterPodLeft(PluginSlot slot) const {
    return slot < 0 ? Interest::kNone : slots_[slot].after_pod_left;
  }
  // Whether its hint is the same for all pods that share what is parsed of their spec, but for one
  // that changed.
  bool HintsReadSpecOnly(PluginSlot slot) const {
    return slot < 0 || slots_[slot].hints_read_spec_only;
  }
  // Null if it has none.
  const IndexedHints* IndexOf(PluginSlot slot) const {
    return slot < 0 || slot >= size() ? nullptr : slots_[slot].index.get();
  }
  // Whether the plugin thinks that the change may help `pod`; false if it did not register for
  // `event`. A hint that fails counts as kQueue.
  bool Hint(PluginSlot slot, const ClusterEvent& event, const ObjectChange& change,
            const PodInfo& pod) const;

 private:
  struct Slot {
    std::vector<ClusterEventWithHint> events;
    bool hints_read_spec_only = true;
    std::shared_ptr<const IndexedHints> index;
    Interest after_pod_left = Interest::kNone;
  };
  std::vector<Slot> slots_;
  absl::flat_hash_map<std::pair<Symbol, Symbol>, PluginSlot> slot_of_;
  // What Interested() found out so far: clusters see few different events.
  mutable absl::flat_hash_map<uint64_t, std::vector<PluginSlot>> interested_;
};

// Whether a pod left the node that it was on.
bool IsPodLeaving(const ClusterEvent& event, const ObjectChange& change);
// "*" with every action: concerns all pods, or the one in the change.
bool IsWildcard(const ClusterEvent& event);

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_EVENT_TABLE_H_
