// SPDX-License-Identifier: Apache-2.0
// The question of every scheduling cycle: which nodes are feasible for a pod, which is the best of
// them, and why are the others not feasible?
#ifndef BERTH_SRC_EVALUATION_NODE_EVALUATOR_H_
#define BERTH_SRC_EVALUATION_NODE_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "evaluation/diagnosis.h"
#include "framework/framework.h"

namespace berth {

// One pod, and all that its evaluation depends on.
struct EvaluationRequest {
  const Framework& framework;  // the pod's profile
  CycleState& state;
  const std::shared_ptr<const PodInfo>& pod;
  const NodeTable& nodes;  // at least one
  const Nominator& nominator;
  std::string nominated_node = {};  // of the pod, or empty
  int percentage = 0;               // 0: every node; else kube-scheduler's percentageOfNodesToScore
};

// The answer: a node, or an Error, or why no node is feasible. None of them if the evaluator has
// yielded (CycleState::work_budget()).
struct Evaluation {
  Status status;  // Success, or the Error of a plugin, which ends the cycle
  // The feasible node with the highest total, the first of equals. The per-node Filter accepts it
  // too. -1 if no node is feasible.
  NodeRow best = -1;
  // Why nodes are not feasible; null if some node is, or after an Error, but for an explanation.
  // Belongs to the evaluator, until its next evaluation, and reads the request's objects.
  Diagnosis* diagnosis = nullptr;
};

// Scheduling thread. The two implementations decide the same. FullEvaluator caches no verdicts.
// IncrementalEvaluator evaluates only what changed since the last pod of the class.
class NodeEvaluator {
 public:
  virtual ~NodeEvaluator() = default;

  // The answer, if caches have it; calls PreFilter of the plugins that it needs. `state` is then
  // what the rest of the attempt needs. Absent if they do not: then PreFilter of all plugins and
  // Evaluate() find the answer, and of `state` only the work budget may differ.
  virtual std::optional<Evaluation> Recall(const EvaluationRequest& /*request*/) {
    return std::nullopt;
  }

  // PreFilter of all plugins has run on `state`; `pre_filter` is its outcome, not a rejection.
  virtual Evaluation Evaluate(const EvaluationRequest& request,
                              const PreFilterOutcome& pre_filter) = 0;

  struct Counters {
    int64_t recalled = 0;      // answers from caches
    int64_t scored_first = 0;  // answers of a search that scored all rows first
    int64_t of_few_rows = 0;   // answers among the few rows that a SelectiveFilter named
    int64_t unconfirmed = 0;   // nodes that FilterNodes() accepted and Filter() rejected
  };
  virtual Counters counters() const = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_NODE_EVALUATOR_H_
