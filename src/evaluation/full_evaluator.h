// SPDX-License-Identifier: Apache-2.0
// Filters and scores all nodes for each pod: the meaning of an evaluation.
#ifndef BERTH_SRC_EVALUATION_FULL_EVALUATOR_H_
#define BERTH_SRC_EVALUATION_FULL_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "evaluation/node_evaluator.h"

namespace berth {

// FilterNodes, PreScore, ScoreNodes and the choice, with the extenders that are interested in the
// pod. Between two pods it keeps scratch memory, and where the last partial search ended. For an
// explanation (CycleState::for_explanation()) all nodes are filtered and all feasible ones are
// scored, even a single one.
class FullEvaluator final : public NodeEvaluator {
 public:
  // `filter_block_size` as SchedulerOptions has it.
  explicit FullEvaluator(int filter_block_size = 0) : filter_block_size_(filter_block_size) {}

  Evaluation Evaluate(const EvaluationRequest& request,
                      const PreFilterOutcome& pre_filter) override {
    return Evaluate(request, pre_filter, nullptr);
  }
  // The same. `rejections`: the verdicts of the filters, if they have just rejected all nodes; they
  // are taken. Null: not known.
  Evaluation Evaluate(const EvaluationRequest& request, const PreFilterOutcome& pre_filter,
                      NodeVerdicts* rejections);
  // The same with nothing but `rows`, ascending, filtered: -1 and no diagnosis if none of them is
  // feasible.
  Evaluation EvaluateRows(const EvaluationRequest& request, absl::Span<const NodeRow> rows);
  Counters counters() const override { return {.unconfirmed = unconfirmed_}; }

  // As of the last Evaluate(). The feasible rows in order, and their totals if they were scored.
  absl::Span<const NodeRow> feasible() const { return feasible_; }
  absl::Span<const int64_t> totals() const { return totals_; }
  // What each Score plugin adds to the totals; for an explanation only.
  absl::Span<const PluginScores> scores_by_plugin() const { return scores_by_plugin_; }

 private:
  void FindBest(const EvaluationRequest& request, Evaluation& evaluation);
  Status FindFeasible(const EvaluationRequest& request, NodeVerdicts* rejections);
  Status FindAllFeasible(const EvaluationRequest& request);
  Status FindSomeFeasible(const EvaluationRequest& request, int wanted);
  Status FilterByExtenders(const EvaluationRequest& request);
  Status ScoreFeasible(const EvaluationRequest& request);
  Status ScoreByPlugins(const EvaluationRequest& request);
  Status ChooseBest(const EvaluationRequest& request, NodeRow& best_row);

  const int filter_block_size_;
  // Where a partial search begins, rotating over the nodes. As kube-scheduler's nextStartNodeIndex,
  // it goes on by the nodes that a search filtered, also where PreFilter named few.
  int next_start_ = 0;
  int filtered_ = 0;  // by the last search
  int64_t unconfirmed_ = 0;
  // As of the last Evaluate().
  std::vector<NodeRow> rows_;  // to be filtered, in search order
  NodeVerdicts verdicts_;
  std::vector<NodeRow> feasible_;
  std::vector<int64_t> totals_;  // by position in feasible_
  std::vector<PluginScores> scores_by_plugin_;
  Status excluded_;  // of nodes that PreFilter excluded
  ExtenderStatuses by_extenders_;
  std::optional<VerdictDiagnosis> diagnosis_;
};

// kube-scheduler v1.35 schedule_one.go numFeasibleNodesToFind: how many feasible nodes end a search
// over `nodes`. `percentage` 0, the default, is every node (kube-scheduler: adaptive;
// docs/parity.md). Without Score plugins and extenders that choose (`scores`)
// the first feasible node ends it.
int FeasibleNodesToFind(int nodes, int percentage, bool scores);

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_FULL_EVALUATOR_H_
