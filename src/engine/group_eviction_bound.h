// SPDX-License-Identifier: Apache-2.0
// What evictions could do at most for a group, and proofs by sums that none make room: before a
// plan is tried, which takes a cycle and a search for victims for each member.
#ifndef BERTH_SRC_ENGINE_GROUP_EVICTION_BOUND_H_
#define BERTH_SRC_ENGINE_GROUP_EVICTION_BOUND_H_

#include <cstdint>
#include <optional>

#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/group_shortage.h"

namespace berth {

// Whether a member is nominated: room is held for it.
bool AnyNominated(const AttemptRequest& request, const ClusterState& cluster);

// Whether PostFilter plugins, whatever they do for any member, evict no others than pods of a lower
// priority and their groups.
bool EvictsLowerPriorityOnly(const AttemptRequest& request);

// Whether a PostFilter plugin has VictimRules.
bool HasVictimRules(const AttemptRequest& request);

// How many of GroupShortage::members would have room at most, fewer than all, if all pods
// were gone that PostFilter plugins could evict for the group. Absent if there may be enough, and
// where that is not known: a plugin says nothing about its victims, a member holds a nomination
// that may end, or a group would go of which some members are as important.
std::optional<int64_t> RoomByEvictionsAtMost(const AttemptRequest& request,
                                             const GroupShortage& shortage,
                                             const ClusterState& cluster);

// For members of several kinds that are short: whether there is no room for them together either if
// all these pods were gone. False as above where that is not known.
bool AreTooManyWithEvictions(const AttemptRequest& request, const ClusterState& cluster);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_EVICTION_BOUND_H_
