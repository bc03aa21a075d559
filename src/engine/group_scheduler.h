// SPDX-License-Identifier: Apache-2.0
// Schedules a group of pods: in which order its members are tried, which are tried again, and what
// is done when it misses its minimum.
#ifndef BERTH_SRC_ENGINE_GROUP_SCHEDULER_H_
#define BERTH_SRC_ENGINE_GROUP_SCHEDULER_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/group_classes.h"
#include "engine/group_moves.h"
#include "engine/group_preemption.h"
#include "engine/group_shortage.h"
#include "engine/pod_scheduler.h"
#include "engine/transaction.h"

namespace berth {

// The members are tried in the order in which single pods would be, so that a group that starts
// starts as its pods would one by one. Only if it misses its minimum so, more is done, in this
// order: sums that prove that it has no place, other orders, a search, a plan of evictions.
// Scheduling thread.
class GroupScheduler {
 public:
  // Both outlive this.
  GroupScheduler(ClusterState& cluster, PodScheduler& pod_scheduler)
      : cluster_(cluster),
        pod_scheduler_(pod_scheduler),
        preemption_(cluster, pod_scheduler),
        moves_(cluster, pod_scheduler) {}

  // Fills `result`, which was empty, but for Permit. While members are tried one after another,
  // events are taken in through `intake`, if it is not null, when it is due; not
  // while anything stands that an event must not see: victims of a plan, nominations that may be
  // put back.
  void Place(const AttemptRequest& request, AttemptResult& result, EventIntake* intake = nullptr);

  GroupPreemption& preemption() { return preemption_; }
  // For a group, or a single member, that missed its minimum: as GroupMoves, if the group wants
  // that and no pod is evicted otherwise.
  void PlanMoves(const AttemptRequest& request, AttemptResult& result);

 private:
  struct ClassFailures;
  class IntakeTimer;

  void PlaceOrPlan(const AttemptRequest& request, AttemptResult& result, EventIntake* intake);
  bool PlaceInOtherOrders(const AttemptRequest& request, const std::vector<MemberClass>& classes,
                          AttemptResult& result, EventIntake* intake);
  bool PlaceInOrder(const AttemptRequest& request, const MemberOrder& order, AttemptResult& result,
                    EventIntake* intake);
  bool PlaceBySearch(const AttemptRequest& request, const std::vector<MemberClass>& classes,
                     AttemptResult& result);
  bool PlaceAll(const AttemptRequest& request, MemberOrder order, AttemptResult& result,
                EventIntake* intake = nullptr);
  void GiveUp(AttemptResult& result);
  void TryMember(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                 ClassFailures& failures, Transaction& transaction, AttemptResult& result);
  static bool IsOutOfReach(const AttemptRequest& request, const AttemptResult& result);
  static MemberOrder TakeMembersToRetry(const AttemptRequest& request, AttemptResult& result,
                                        bool beside_siblings);
  void TakeBackPartsThatMiss(const AttemptRequest& request, Transaction& transaction,
                             AttemptResult& result);

  PodFailure MissesPart(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                        absl::string_view why) const;

  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  GroupPreemption preemption_;
  GroupMoves moves_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_SCHEDULER_H_
