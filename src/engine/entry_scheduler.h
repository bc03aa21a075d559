// SPDX-License-Identifier: Apache-2.0
// Schedules one entry of the queue: a pod on its own, or a group of which at least the minimum is
// placed or nothing.
#ifndef BERTH_SRC_ENGINE_ENTRY_SCHEDULER_H_
#define BERTH_SRC_ENGINE_ENTRY_SCHEDULER_H_

#include <memory>

#include "engine/attempt.h"
#include "engine/group_placements.h"
#include "engine/group_scheduler.h"
#include "engine/pod_scheduler.h"

namespace berth {

// Runs attempts. Everything an attempt did to the cluster state is undone, in reverse order, unless
// it reached its minimum. Scheduling thread.
class EntryScheduler {
 public:
  EntryScheduler(ClusterState& cluster, bool incremental, int filter_block_size)
      : cluster_(cluster),
        pod_scheduler_(cluster, incremental, filter_block_size),
        group_scheduler_(cluster, pod_scheduler_),
        group_placements_(cluster, pod_scheduler_, group_scheduler_) {}

  // Place(), then Permit() if the minimum was reached. `intake`: as for GroupScheduler::Place().
  AttemptResult Run(const AttemptRequest& request, EventIntake* intake = nullptr);
  // Without asking Permit plugins.
  AttemptResult Place(const AttemptRequest& request, EventIntake* intake = nullptr);
  // Asks the Permit plugins about every placed pod once all of them are reserved.
  void Permit(const AttemptRequest& request, AttemptResult& result);
  // As PodScheduler::PlaceOn().
  bool PlaceOn(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
               NodeRow row, AttemptResult& result) {
    return pod_scheduler_.PlaceOn(request, pod, row, result);
  }
  // After a what-if: undoes what was placed.
  void RollBack(AttemptResult& result) { pod_scheduler_.RollBack(result); }

  const SchedulingCycle& cycle() const { return pod_scheduler_.cycle(); }

 private:
  ClusterState& cluster_;
  PodScheduler pod_scheduler_;
  GroupScheduler group_scheduler_;
  GroupPlacements group_placements_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_ENTRY_SCHEDULER_H_
