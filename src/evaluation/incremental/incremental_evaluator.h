// SPDX-License-Identifier: Apache-2.0
// Evaluates a pod from caches of its equivalence class: only nodes that changed since are filtered
// and scored again. README.md says what is kept, for which pods, and what invalidates it.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_INCREMENTAL_EVALUATOR_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_INCREMENTAL_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "evaluation/full_evaluator.h"
#include "evaluation/incremental/best_node_search.h"
#include "evaluation/incremental/evaluation_caches.h"
#include "evaluation/incremental/score_first_search.h"
#include "evaluation/node_evaluator.h"

namespace berth {

// Recall() answers from the caches, and makes the scores of a class that keeps coming back. If it
// has no answer, Evaluate() filters the few rows that a SelectiveFilter names, or scores all rows
// first, or is the full evaluation; what that rejects it caches. Searches that end before they
// filtered every node use no cache.
class IncrementalEvaluator final : public NodeEvaluator {
 public:
  // `filter_block_size` as SchedulerOptions has it.
  explicit IncrementalEvaluator(int filter_block_size = 0) : full_(filter_block_size) {}

  std::optional<Evaluation> Recall(const EvaluationRequest& request) override;
  Evaluation Evaluate(const EvaluationRequest& request,
                      const PreFilterOutcome& pre_filter) override;
  Counters counters() const override {
    return {.recalled = recalled_,
            .scored_first = scored_first_,
            .of_few_rows = of_few_rows_,
            .unconfirmed = full_.counters().unconfirmed};
  }

 private:
  bool SelectFewRows(const EvaluationRequest& request);
  bool EvaluateFewRows(const EvaluationRequest& request, Evaluation& evaluation);
  bool EvaluatesEveryNode(const EvaluationRequest& request) const;
  std::optional<Evaluation> RecallRejection(const EvaluationRequest& request);
  ScoreCache* FindScores(const EvaluationRequest& request, bool add, CycleState& own);
  Diagnosis* CacheRejection(const EvaluationRequest& request);

  FullEvaluator full_;
  EvaluationCaches caches_;
  BestNodeSearch best_node_{caches_};
  ScoreFirstSearch score_first_search_;
  std::optional<CachedDiagnosis> diagnosis_;  // of the last evaluation
  std::vector<NodeRow> few_rows_;
  bool added_rejections_ = false;  // in this evaluation: AddRejections() was called
  int64_t recalled_ = 0, scored_first_ = 0, of_few_rows_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_INCREMENTAL_EVALUATOR_H_
