// SPDX-License-Identifier: Apache-2.0
// One pod's scheduling cycle: PreFilter, the nominated node, the evaluation of all nodes. Decides;
// changes nothing but the pod's own state. As kube-scheduler v1.35 schedule_one.go schedulePod.
#ifndef BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_
#define BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_

#include <memory>
#include <vector>

#include "evaluation/node_evaluator.h"
#include "framework/framework.h"

namespace berth {

// What a cycle came to. Exactly one of: placed (row >= 0), rejected, failed (status is an Error),
// or nothing yet: the evaluator has yielded.
struct CycleResult {
  Status status;     // Success, the rejection, or the Error that ended the cycle
  NodeRow row = -1;  // the chosen node
  bool pre_filter_rejected = false;
  // The plugins that rejected the pod or a node, in the profile's order.
  std::vector<Symbol> rejecting_plugins;
  // If nodes were judged and none is feasible: why. Valid until the next cycle.
  Diagnosis* diagnosis = nullptr;
};

// Runs cycles. One per scheduler. Scheduling thread.
class SchedulingCycle {
 public:
  // `incremental`: whether what was found for a pod is kept for the next pods like it. The
  // decisions are the same. `filter_block_size` as SchedulerOptions has it.
  SchedulingCycle(bool incremental, int filter_block_size);

  // `percentage`: 0 judges every node; else kube-scheduler's percentageOfNodesToScore.
  CycleResult Run(const Framework& framework, CycleState& state,
                  const std::shared_ptr<const PodInfo>& pod, const NodeTable& nodes,
                  const Nominator& nominator, int percentage);

  // Where a pod like that of the last Run() will go next, perhaps; -1 if nothing is known of that.
  NodeRow expected() const { return expected_; }
  const NodeEvaluator& evaluator() const { return *evaluator_; }

 private:
  const std::unique_ptr<NodeEvaluator> evaluator_;
  NodeRow expected_ = -1;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_
