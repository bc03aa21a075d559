// SPDX-License-Identifier: Apache-2.0
// Tries the nodes in the order of their bounds, and ends when no other node can be better.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_BEST_FIRST_SEARCH_H_
#define BERTH_SRC_PREEMPTION_PRUNING_BEST_FIRST_SEARCH_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/framework/handle.h"
#include "berth/framework/postfilter.h"
#include "preemption/candidate_list.h"
#include "preemption/candidate_search.h"
#include "preemption/pruning/bound_cache.h"
#include "preemption/pruning/candidate_heap.h"
#include "preemption/pruning/dry_runner.h"

namespace berth {

// Best-first branch and bound, for candidates that are scored by DefaultScoresOf(). One
// search.
class BestFirstSearch {
 public:
  // `bounds` are those of the preemptor's class, or of one that RequestsSlightlyLess(). `bounds`
  // and `levels` are as of now. `with_victims`: the potential nodes on which there may be victims,
  // if these are not all. `own_row`: that the pod is nominated to, or -1.
  BestFirstSearch(const Handle& handle, const PreemptionQuery& query,
                  const PreemptorClass& preemptor, DryRunner& dry_runs, CandidateBounds& bounds,
                  std::optional<std::vector<NodeRow>> with_victims, const PriorityLevels& levels,
                  NodeRow own_row)
      : handle_(handle),
        statuses_(query.statuses),
        preemptor_(preemptor),
        has_own_bounds_(bounds.preemptor() == preemptor),
        budgets_(query.budgets.all()),
        own_row_(own_row),
        calculator_(preemptor_, handle.nodes(), levels),
        dry_runs_(dry_runs),
        bounds_(bounds),
        heap_(bounds, query.statuses, std::move(with_victims)) {}
  // The bounds are again what they were, if they are of another class.
  ~BestFirstSearch();

  enum class Outcome {
    kDone,
    kNeedsOwnBounds,  // the bounds of the other class do not say enough
    kYielded,         // DryRunner::has_yielded()
  };
  // Adds the best candidate to `found`, and others that were tried on the way: of all, or of those
  // with the highest bounds, if `found` has enough before. `all`: tries also nodes that cannot be
  // better. If there is none, `dry_runs` has counted why.
  Outcome Find(bool all, CandidateList& found);

 private:
  // Nodes that stay short of the same: their dry runs come to the same.
  struct SameShortage {
    Status failure;              // of the first one, which was tried
    bool holds_for_all = false;  // an Error may be of one node alone
    int untried = 0;
  };

  bool MayBeChosen(NodeRow row) const;
  BoundCalculator::Pods NominatedPods(NodeRow row) const;
  bool HasOwnBound(NodeRow row) const;
  void ComputeOwnBound(NodeRow row);
  void CountViolations(NodeRow row);
  void Try(NodeRow row, CandidateList& found);
  void TryRemaining(CandidateList& found);
  std::vector<NodeRow> TryOneOfEach(absl::Span<const NodeRow> rows, CandidateList& found);
  bool SameFailureIfSameShortage() const;

  const Handle& handle_;
  const NodeStatuses& statuses_;
  const PreemptorClass& preemptor_;
  const bool has_own_bounds_;
  const DisruptionBudgets& budgets_;
  const NodeRow own_row_;
  const BoundCalculator calculator_;
  DryRunner& dry_runs_;
  CandidateBounds& bounds_;
  CandidateHeap heap_;
  std::vector<std::pair<NodeRow, CandidateBound>> replaced_;  // bounds of the other class
  ScoredCandidatePtr best_;
  NodeRow best_row_ = -1;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_BEST_FIRST_SEARCH_H_
