// SPDX-License-Identifier: Apache-2.0
// Implementation of best_first_search.h.
#include "preemption/pruning/best_first_search.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "framework/nominated_rows.h"
#include "table/prefetch_nodes.h"

namespace berth {

namespace {

// A class that needs less is of no use if its bounds say too much for more nodes.
constexpr size_t kMostReplaced = 64;

}  // namespace

BestFirstSearch::~BestFirstSearch() {
  for (const auto& [row, bound] : replaced_) bounds_.Tighten(row, bound);
}

BestFirstSearch::Outcome BestFirstSearch::Find(bool all, CandidateList& found) {
  for (NodeRow row = heap_.Best(); row >= 0; row = heap_.Best()) {
    if (found.Enough() || (!all && !MayBeChosen(row))) break;
    if (!has_own_bounds_ && !HasOwnBound(row)) {
      if (replaced_.size() == kMostReplaced) return Outcome::kNeedsOwnBounds;
      ComputeOwnBound(row);
      continue;
    }
    if (budgets_.AnyExhausted() && !bounds_.at(row).knows_budgets) {
      CountViolations(row);
      continue;
    }
    Try(row, found);
    if (dry_runs_.has_yielded()) return Outcome::kYielded;
  }
  if (!found.empty()) return Outcome::kDone;
  if (!has_own_bounds_) return Outcome::kNeedsOwnBounds;
  TryRemaining(found);
  return dry_runs_.has_yielded() ? Outcome::kYielded : Outcome::kDone;
}

// Whether the node can be better than the best that was found, or as good and before it.
bool BestFirstSearch::MayBeChosen(NodeRow row) const {
  if (best_ == nullptr) return true;
  const CandidateScores at_best = bounds_.at(row).scores();
  if (at_best != best_->scores) return best_->scores < at_best;
  return row < best_row_;
}

BoundCalculator::Pods BestFirstSearch::NominatedPods(NodeRow row) const {
  if (row == own_row_) return {};
  return handle_.nominator().NominatedPods(handle_.nodes().node(row).name());
}

bool BestFirstSearch::HasOwnBound(NodeRow row) const {
  return std::any_of(replaced_.begin(), replaced_.end(),
                     [row](const auto& of_row) { return of_row.first == row; });
}

// In place of the one of the other class, which may only be too high.
void BestFirstSearch::ComputeOwnBound(NodeRow row) {
  CandidateBound bound;
  const EvictionFeasibility feasibility = calculator_.Compute(row, NominatedPods(row), bound);
  replaced_.emplace_back(row, bounds_.at(row));
  if (feasibility.kind() != EvictionFeasibility::Kind::kPossible) {
    heap_.Remove(row);
    return;
  }
  if (bound == bounds_.at(row)) return;
  bounds_.Tighten(row, bound);
  heap_.Update(row);
}

// Reads each pod of the node, so it is done for those only that have the highest bound.
void BestFirstSearch::CountViolations(NodeRow row) {
  bounds_.Tighten(row, calculator_.WithBudgets(bounds_.at(row), row, NominatedPods(row), budgets_));
  heap_.Update(row);
}

void BestFirstSearch::Try(NodeRow row, CandidateList& found) {
  heap_.Remove(row);
  ScoredCandidatePtr candidate = dry_runs_.Try(row);
  if (candidate == nullptr || !found.Add(row, candidate)) return;
  if (best_ != nullptr && candidate->scores < best_->scores) return;
  const bool better = best_ == nullptr || best_->scores < candidate->scores;
  if (!better && row > best_row_) return;
  best_ = std::move(candidate);
  best_row_ = row;
}

// On the nodes left no pod may be evicted, or all victims together make too little room.
void BestFirstSearch::TryRemaining(CandidateList& found) {
  std::vector<NodeRow> rows = heap_.Rows();
  if (preemptor_.by_priority) {
    std::erase_if(rows, [this](NodeRow row) {
      const bool no_victims =
          bounds_.feasibility(row).kind() == EvictionFeasibility::Kind::kNoVictims;
      if (no_victims) dry_runs_.AddWithoutVictims(row);
      return no_victims;
    });
  }
  if (SameFailureIfSameShortage()) rows = TryOneOfEach(rows, found);
  for (size_t i = 0; i < rows.size() && !dry_runs_.has_yielded(); ++i) {
    PrefetchNodes(handle_.nodes(), rows, i);
    Try(rows[i], found);
  }
}

// Tries one for all nodes whose dry runs fail for the same shortage. Returns the rows that
// are left.
std::vector<NodeRow> BestFirstSearch::TryOneOfEach(absl::Span<const NodeRow> rows,
                                                   CandidateList& found) {
  const auto nominated = RowsWithNominatedPods(rows, handle_.nominator(), handle_.nodes());
  absl::flat_hash_map<uint32_t, SameShortage> by_shortage;  // EvictionFeasibility::short_of()
  std::vector<NodeRow> others;
  for (const NodeRow row : rows) {
    const uint32_t short_of = bounds_.feasibility(row).short_of();
    const bool has_nominated = !nominated.empty() && nominated.contains(row);
    const bool for_resources = statuses_.rejecting_plugin(row) == preemptor_.need->plugin;
    if (short_of == 0 || !for_resources || has_nominated) {
      others.push_back(row);
      continue;
    }
    const auto [it, is_first] = by_shortage.try_emplace(short_of);
    SameShortage& nodes = it->second;
    if (is_first) {
      Try(row, found);
      if (dry_runs_.has_yielded()) break;
      nodes.failure = dry_runs_.last_failure();
      nodes.holds_for_all = nodes.failure.IsRejected();
    } else {
      if (nodes.holds_for_all) {
        ++nodes.untried;
      } else {
        others.push_back(row);
      }
    }
  }
  for (const auto& [short_of, nodes] : by_shortage) {
    if (nodes.untried > 0) dry_runs_.AddFailures(nodes.untried, nodes.failure);
  }
  return others;
}

// Whether dry runs of nodes that the resource filter rejects, and that stay short of the same,
// fail for the same reasons. What nominated pods take on a node is not counted.
bool BestFirstSearch::SameFailureIfSameShortage() const {
  return preemptor_.fails_as_filters && preemptor_.need.has_value() &&
         preemptor_.need->others_allow_removal;
}

}  // namespace berth
