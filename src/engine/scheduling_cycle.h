// SPDX-License-Identifier: Apache-2.0
// One pod's scheduling cycle: PreFilter, the nominated node, the evaluation of all nodes. Decides;
// changes nothing but the pod's own state. As kube-scheduler v1.35 schedule_one.go schedulePod(),
// not its schedulingCycle(), which also assumes, reserves and permits: that is PodScheduler and
// EntryScheduler::Permit.
#ifndef BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_
#define BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_

#include <memory>
#include <vector>

#include "evaluation/full_evaluator.h"
#include "evaluation/node_evaluator.h"
#include "framework/framework.h"

namespace berth {

// The outcome of a cycle. Exactly one of: placed (row >= 0), rejected, failed (status is an Error),
// or nothing yet: the evaluator has yielded (WorkBudget::yielded() of the cycle's state).
struct CycleResult {
  Status status;     // Success, the rejection, or the Error that ended the cycle
  NodeRow row = -1;  // the chosen node
  bool pre_filter_rejected = false;
  // The plugins that rejected the pod or a node: PreFilter plugins that narrowed the nodes first,
  // then the others in the profile's order.
  std::vector<Symbol> rejecting_plugins;
  // If nodes were evaluated and none is feasible: why. Valid until the next cycle.
  Diagnosis* diagnosis = nullptr;
};

// Runs cycles. One per scheduler. Scheduling thread.
class SchedulingCycle {
 public:
  // `incremental`: whether verdicts and scores are cached for the next pods of the class. The
  // decisions are the same. `filter_block_size` as SchedulerOptions has it.
  SchedulingCycle(bool incremental, int filter_block_size);

  // `percentage`: 0 evaluates every node; else kube-scheduler's percentageOfNodesToScore.
  CycleResult Run(const Framework& framework, CycleState& state,
                  const std::shared_ptr<const PodInfo>& pod, const NodeTable& nodes,
                  const Nominator& nominator, int percentage);

  // Counts all evaluations since the start.
  NodeEvaluator::Counters counters() const;

 private:
  const std::unique_ptr<NodeEvaluator> evaluator_;
  // For pods that an extender is interested in: it does not declare what its verdicts depend on.
  FullEvaluator evaluator_with_extenders_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_
