// SPDX-License-Identifier: Apache-2.0
// Schedules a group of pods: in which order its members are tried, and who is tried again.
#ifndef BERTH_SRC_ENGINE_GROUP_SCHEDULER_H_
#define BERTH_SRC_ENGINE_GROUP_SCHEDULER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/group_preemptions.h"
#include "engine/pod_scheduler.h"

namespace berth {

// The members are tried in the order in which single pods would be, so that a group that starts
// starts as its pods would one by one. Only if it misses its minimum so are other orders tried.
// Scheduling thread.
class GroupScheduler {
 public:
  // Both outlive this.
  GroupScheduler(ClusterState& cluster, PodScheduler& pod_scheduler)
      : cluster_(cluster), pod_scheduler_(pod_scheduler), group_preemptions_(cluster) {}

  // Fills `result`, which was empty, but for Permit.
  void Place(const AttemptRequest& request, AttemptResult& result);

 private:
  struct Class;
  struct ClassFailures;
  using Order = std::vector<std::shared_ptr<const PodInfo>>;

  bool PlaceAll(const AttemptRequest& request, Order order, AttemptResult& result);
  void TryMember(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                 ClassFailures& failures, AttemptResult& result);
  static bool IsOutOfReach(const AttemptRequest& request, const AttemptResult& result);
  static Order TakeMembersToRetry(const AttemptRequest& request, AttemptResult& result,
                                  bool beside_siblings);
  std::optional<std::string> EquivalenceKey(const AttemptRequest& request,
                                            const PodInfo& pod) const;
  std::vector<Class> Classify(const AttemptRequest& request);
  int CountFeasible(const AttemptRequest& request, const PodInfo& pod);

  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  GroupPreemptions group_preemptions_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_SCHEDULER_H_
