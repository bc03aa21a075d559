// SPDX-License-Identifier: Apache-2.0
// The best node for a pod whose class has a score cache, with as few evaluations as possible.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_BEST_NODE_SEARCH_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_BEST_NODE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "evaluation/incremental/evaluation_caches.h"
#include "evaluation/node_evaluator.h"

namespace berth {

// The score cache has the best node for its own plugins. The other plugins, which depend on more
// than one node, are called in one of three ways, the cheapest first:
//
//   1. If none of them scores, and what they reject cannot change the totals of other rows
//      (ScoreCache::totals_hold_for_any_subset()), the best row that they accept is the best of
//      all.
//   2. If all of them depend on topology domains, one row of each node equivalence class is scored.
//   3. Otherwise they filter and score every feasible row.
//
// Keeps scratch memory between searches. Scheduling thread.
class BestNodeSearch {
 public:
  explicit BestNodeSearch(EvaluationCaches& caches) : caches_(caches) {}

  // Sets `best` of `evaluation`. `state` has PreFilter of the plugins that are not
  // scores.SkippablePreFilters(); `scores` are refreshed. False if no node is feasible, or a plugin
  // failed, or the per-node Filter rejects the node: then nothing is decided.
  bool Find(const EvaluationRequest& request, CycleState& state, ScoreCache& scores,
            Evaluation& evaluation);

 private:
  // One search.
  struct Search {
    const EvaluationRequest& request;
    const Framework& framework;
    const PodInfo& pod;
    const NodeTable& nodes;
    CycleState& state;
    ScoreCache& scores;
    bool no_other_filters;  // no other plugin filters
  };
  bool Choose(const Search& in, NodeRow& chosen);
  bool ChooseBest(const Search& in, int tries, NodeRow& chosen);
  bool ChooseByClass(const Search& in, std::vector<DomainSum> sums, NodeRow& chosen);
  bool ScoreClasses(const Search& in, const EquivalentNodes& feasible);
  bool ChooseByRow(const Search& in, NodeRow& chosen);
  Status FilterRows(const Search& in);
  void CacheObjectFilters(const Search& in);

  EvaluationCaches& caches_;
  NodeVerdicts verdicts_;
  std::vector<NodeRow> feasible_;
  std::vector<int64_t> totals_;        // by position in the rows that are scored
  std::vector<int64_t> other_totals_;  // the same: of the plugins that are not in the cache
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_BEST_NODE_SEARCH_H_
