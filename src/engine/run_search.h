// SPDX-License-Identifier: Apache-2.0
// A search for a placement of each run of a group's members.
#ifndef BERTH_SRC_ENGINE_RUN_SEARCH_H_
#define BERTH_SRC_ENGINE_RUN_SEARCH_H_

#include <vector>

#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/member_runs.h"
#include "engine/pod_scheduler.h"
#include "engine/run_room.h"

namespace berth {

enum class RunsOutcome : uint8_t { kPlaced, kExhausted, kUndecided };

// First depth first: each run in the tightest of its placements that has room, or, if the group
// starts without it, in none. Within a placement its members go one after another. Where that may
// miss a place, AssignmentSearch tries all members on all nodes. Each has a budget of the request's
// group_search_steps. If the group does not start, everything is taken back.
RunsOutcome PlaceRuns(AttemptRequest& request, const std::vector<MemberRun>& runs,
                      ClusterState& cluster, PodScheduler& pod_scheduler, AttemptResult& result);

// The placements of a run that have room for its minimum, the tightest first; within each tier.
std::vector<const NodePlacement*> PlacementsByRoom(const MemberRun& run, const RunRoom& room);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_RUN_SEARCH_H_
