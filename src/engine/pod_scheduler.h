// SPDX-License-Identifier: Apache-2.0
// Schedules one pod: SchedulingCycle, then assume and Reserve, or a diagnosis and PostFilter. As
// kube-scheduler v1.35 schedule_one.go schedulingCycle(), whose Permit is EntryScheduler::Permit.
#ifndef BERTH_SRC_ENGINE_POD_SCHEDULER_H_
#define BERTH_SRC_ENGINE_POD_SCHEDULER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/scheduling_cycle.h"
#include "engine/transaction.h"

namespace berth {

// PostFilter rejected the pod: adds its plugins whose events may change that.
void WaitForPostFilter(const Framework& framework, const PodInfo& pod,
                       std::vector<Symbol>& rejecting_plugins);

// What it does to the cluster state is undone pod by pod, in reverse order. Scheduling thread.
class PodScheduler {
 public:
  PodScheduler(ClusterState& cluster, bool incremental, int filter_block_size)
      : cluster_(cluster), incremental_(incremental), cycle_(incremental, filter_block_size) {}

  // Adds the pod to `result`: to `placed`, assumed and reserved, or to `failed`, with what
  // PostFilter plans for it; to neither if it yielded. Returns whether it is placed.
  bool Place(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
             AttemptResult& result);
  // The same on the node of that row, if the filters accept it and Reserve does; else nothing is
  // added.
  bool PlaceOn(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
               NodeRow row, AttemptResult& result);
  // The rows on which the pod could be placed now, in row order.
  std::vector<NodeRow> FeasibleRows(const AttemptRequest& request, const PodInfo& pod) const;
  // Places the pod, as Place() does but without reasons if it fails. Or, if PostFilter is to be
  // called: where room could be made for it, and which victims that takes.
  struct PlacedOrPlan {
    bool placed = false;
    bool found = false;  // a plan, with a node
    Status status;       // of PostFilter, or of the cycle
    PostFilterResult plan;
  };
  enum class AskPostFilter : uint8_t { kNo, kYes };
  // `together`: PlacedTogether, for PostFilter.
  PlacedOrPlan PlaceOrPlan(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                           AskPostFilter ask, AttemptResult& result,
                           std::vector<const PodInfo*> together = {});
  // Asks the Permit plugins about a placed pod. Success if it may be bound, or once its waits are
  // over.
  static Status Permit(const Framework& framework, Binder::Member& member);
  // A pod that had a node, and that Reserve or Permit refused.
  PodFailure Refused(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                     const Status& status) const;
  // Whether the pod to be tried may preempt: if nothing stands or falls with it but itself.
  // Preempting for a part of a group would evict pods for nothing.
  static bool MayPreempt(const AttemptRequest& request, const AttemptResult& result);
  // Whether the pod's part of the group starts with the pod and those that are placed. No pod is
  // evicted for one that does not.
  static bool StartsWithItsPart(const AttemptRequest& request, const PodInfo& pod,
                                const AttemptResult& result);

  void Undo(AssumedPod& placement) { Transaction::Undo(cluster_, placement); }
  // All that is placed.
  void RollBack(AttemptResult& result);
  // RollBack() of a group whose minimum was missed. Plans were made for pods beyond the minimum,
  // and go with it. What a pod decides for itself stays.
  void RollBackGroup(const AttemptRequest& request, AttemptResult& result);

  const SchedulingCycle& cycle() const { return cycle_; }

 private:
  // Assumes and reserves. What Reserve says. The node table has the pod after a Refresh().
  Status Reserve(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                 NodeRow row, CycleState&& state, AttemptResult& result);
  bool CostsTheGroup(const AttemptRequest& request, const AttemptResult& result,
                     const PostFilterResult& plan) const;
  // What came of PostFilter, if it ran.
  struct PostFilterOutcome {
    std::string message;
    absl::Time retry_at = absl::InfiniteFuture();
    bool rejected = false;  // so that events of its plugins may help
  };
  void RejectPod(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                 CycleState& state, const CycleResult& cycle, AttemptResult& result);
  PostFilterOutcome RunPostFilter(const AttemptRequest& request, CycleState& state,
                                  const NodeStatuses& statuses, PodFailure& failure,
                                  AttemptResult& result) const;

  ClusterState& cluster_;
  const bool incremental_;
  SchedulingCycle cycle_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_POD_SCHEDULER_H_
