// SPDX-License-Identifier: Apache-2.0
// The best node for a pod of whose class nothing is cached, without filtering every node.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_FIRST_SEARCH_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_FIRST_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/columns/node_verdicts.h"
#include "evaluation/incremental/shared_scores.h"
#include "evaluation/node_evaluator.h"

namespace berth {

// Whether a filter that reads volumes or claims takes part. Its error on any node fails the pod, as
// when an object is missing, so every node has to be filtered. `node_plugins` depend on one node at
// a time.
bool SomeFilterReadsObjects(const EvaluationRequest& request, PluginMask node_plugins);

// Scores every node, feasible or not, and filters nodes from the highest total down: the first that
// the filters accept is the best. How depends on what scores depend on beside their own node
// (DomainScorer::ScoresDependOn):
// - on nothing: as it stands;
// - on the domains that have feasible nodes: a feasible node of each domain is looked for first;
// - on which nodes are feasible: this search is not used.
// If scores are normalised, nodes at both ends of the range are filtered until the lowest and the
// highest score are those of feasible nodes. Keeps scratch memory between searches. Scheduling
// thread.
class ScoreFirstSearch {
 public:
  // Sets `evaluation.best`. `request.state` has PreFilter of all plugins, which names no nodes;
  // `node_plugins` depend on one node at a time. False if the best node is not found so, as if no
  // node is feasible: then nothing is decided, and PreScore has to run again.
  bool Find(const EvaluationRequest& request, PluginMask node_plugins, Evaluation& evaluation);
  // After that the verdicts on all nodes, if it found that none is feasible; else null.
  NodeVerdicts* rejections() { return none_is_feasible_ ? &verdicts_ : nullptr; }

 private:
  bool PreScore(const EvaluationRequest& request, PluginMask node_plugins);
  bool SetFeasible(const EvaluationRequest& request);
  bool FindFeasibleByDomain(const EvaluationRequest& request, const LabelColumn& column);
  bool ScoreAll(const EvaluationRequest& request, PluginMask node_plugins);
  bool ReplaceInfeasible(const EvaluationRequest& request, std::optional<int64_t>& of_all);
  bool SomeIsFeasibleWith(const EvaluationRequest& request, int64_t score);
  bool IsUnknown(NodeRow row) const {
    return verdicts_.rejector(row) == NodeVerdicts::kNotFiltered;
  }
  bool Accepts(const EvaluationRequest& request, NodeRow row);
  bool Filter(const EvaluationRequest& request, NodeRow row);
  bool FilterBlock(const EvaluationRequest& request);
  NodeRow FindBest(const EvaluationRequest& request);
  NodeRow FindBestOfBlock(const EvaluationRequest& request);
  NodeRow TakeBest();

  std::vector<NodeRow> rows_;             // all
  std::vector<int64_t> scores_, totals_;  // by row
  SharedScores shared_scores_;
  std::vector<int64_t> maxima_;      // of totals_, some rows each
  NodeVerdicts verdicts_;            // of this search, on rows that were filtered
  bool failed_ = false;              // a filter, in this search
  bool none_is_feasible_ = false;    // found by this search
  std::vector<NodeRow> block_;       // to be filtered at once
  std::vector<NodeRow> unfiltered_;  // of block_
  std::vector<DomainSum> sums_;
  std::vector<NodeRow> feasible_;  // at least one in each domain that has any
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_FIRST_SEARCH_H_
