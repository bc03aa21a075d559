// SPDX-License-Identifier: Apache-2.0
// Groups that plugins place: on which of the sets of nodes that PlacementGenerate names a group
// goes, or the proof that it has room on none.
#ifndef BERTH_SRC_ENGINE_GROUP_PLACEMENTS_H_
#define BERTH_SRC_ENGINE_GROUP_PLACEMENTS_H_

#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/group_scheduler.h"
#include "engine/placement_plugins.h"
#include "engine/pod_scheduler.h"
#include "search/room_sums.h"

namespace berth {

// Tier by tier, in each the placement with the least room first that has room enough by sums: the
// group is tried there as GroupScheduler tries it on all nodes. The first that takes all its
// pending members counts, or else the first that takes its minimum. Evictions come last, in the
// placements of the last tier. Scheduling thread.
class GroupPlacements {
 public:
  // All outlive this.
  GroupPlacements(ClusterState& cluster, PodScheduler& pod_scheduler,
                  GroupScheduler& group_scheduler)
      : cluster_(cluster), pod_scheduler_(pod_scheduler), group_scheduler_(group_scheduler) {}

  // Fills `result`, which was empty, but for Permit. False, and nothing was done, if no plugin of
  // the profile says where the group may be.
  bool Place(const AttemptRequest& request, AttemptResult& result);

 private:
  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  GroupScheduler& group_scheduler_;
  RoomSums room_sums_;
  PlacementValidator validator_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_PLACEMENTS_H_
