// SPDX-License-Identifier: Apache-2.0
// Room in one piece for a group that has none: which running pods are to be moved to other nodes.
#ifndef BERTH_SRC_ENGINE_GROUP_MOVES_H_
#define BERTH_SRC_ENGINE_GROUP_MOVES_H_

#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/pod_scheduler.h"

namespace berth {

// A pod is moved by evicting it: its controller makes it again. So it is planned only if the whole
// group then has a place, and each pod that is moved has one, too. Pods may be moved that are of
// the group's profile, that MovesPods::MayMove() allows, whose priority is no higher than any
// pending member's, and that no PodDisruptionBudget protects; of a group only its surplus.
// Scheduling thread.
class GroupMoves {
 public:
  // Both outlive this.
  GroupMoves(ClusterState& cluster, PodScheduler& pod_scheduler)
      : cluster_(cluster), pod_scheduler_(pod_scheduler) {}

  // For a group that missed its minimum, and for which no pod is evicted otherwise. Adds to
  // `result` what is to be done, as GroupPreemption::Plan() does, or why moving does not help.
  void Plan(const AttemptRequest& request, AttemptResult& result);

 private:
  bool AwaitsMoves(const AttemptRequest& request) const;

  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_MOVES_H_
