// SPDX-License-Identifier: Apache-2.0
// A search for a placement of each pod set of a group's members.
#ifndef BERTH_SRC_ENGINE_POD_SET_SEARCH_H_
#define BERTH_SRC_ENGINE_POD_SET_SEARCH_H_

#include <vector>

#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/pod_scheduler.h"
#include "engine/pod_set_room.h"
#include "engine/pod_sets.h"

namespace berth {

enum class PodSetsOutcome : uint8_t { kPlaced, kExhausted, kUndecided };

// First depth first: each pod set in the tightest of its placements that has room, or, if the group
// starts without it, in none. Within a placement its members go one after another. Where that may
// miss a place, AssignmentSearch tries all members on all nodes. Each has a budget of the request's
// group_search_steps. If the group does not start, everything is taken back.
PodSetsOutcome PlacePodSets(AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                            ClusterState& cluster, PodScheduler& pod_scheduler,
                            AttemptResult& result);

// The placements of a pod set that have room for its minimum, the tightest first; within each tier.
std::vector<const NodePlacement*> PlacementsByRoom(const PodSet& pod_set, const PodSetRoom& room);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_POD_SET_SEARCH_H_
