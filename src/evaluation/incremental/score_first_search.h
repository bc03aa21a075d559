// SPDX-License-Identifier: Apache-2.0
// The best node for a pod that resembles no pod before it, without filtering every node.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_FIRST_SEARCH_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_FIRST_SEARCH_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "evaluation/node_evaluator.h"

namespace berth {

// Scores every node, feasible or not, and filters nodes from the highest total down: the first that
// the filters accept is the best. That is right where the score of a node does not depend on which
// others are feasible: all plugins that score look at one node at a time (sign.h), or say that it
// does not (DomainScorer::ScoresDependOnFeasible), and of scores that are normalised the lowest and
// the highest are those of feasible nodes too, which is tried on few nodes. Keeps scratch memory
// between searches. Scheduling thread.
class ScoreFirstSearch {
 public:
  // Sets `evaluation.best`. `request.state` has PreFilter of all plugins, which names no nodes;
  // `node_plugins` depend on one node at a time. False if the best node is not found so: then
  // nothing is decided.
  bool Find(const EvaluationRequest& request, PluginMask node_plugins, Evaluation& evaluation);

 private:
  // Rows with the lowest, or the highest, raw score of a plugin.
  using ExtremeRows = std::vector<NodeRow>;

  bool PreScore(const EvaluationRequest& request, PluginMask node_plugins);
  bool ScoreAll(const EvaluationRequest& request);
  bool Normalize(const EvaluationRequest& request, const Hook<ScorePlugin>& hook);
  bool Accepts(const EvaluationRequest& request, NodeRow row);
  bool FindBest(const EvaluationRequest& request, Evaluation& evaluation);

  std::vector<NodeRow> rows_;                       // all
  std::vector<int64_t> scores_, totals_;            // by row
  std::vector<ExtremeRows> extremes_;               // one of each has to be feasible
  bool failed_ = false;                             // a filter, in this search
  std::vector<std::pair<NodeRow, bool>> filtered_;  // in this search
  std::vector<DomainSum> sums_;
  // So many pods were not tried after the last search that failed; twice as many after the next.
  int last_pause_ = 0;
  int pause_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_FIRST_SEARCH_H_
