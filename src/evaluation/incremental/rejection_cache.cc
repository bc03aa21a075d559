// SPDX-License-Identifier: Apache-2.0
// Implementation of rejection_cache.h.
#include "evaluation/incremental/rejection_cache.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "table/prefetch_nodes.h"
#include "table/row_move.h"
#include "table/rows_with.h"

namespace berth {

RejectionCache::Outcome RejectionCache::Refresh(const CycleState& state,
                                                const PodInfo& evaluated_pod,
                                                const NodeTable& nodes, const Nominator& nominator,
                                                const DependenciesBeyondNode& beyond_node) {
  Aspects depends_on = framework_.dependencies().FilterDependenciesOf(plugins_);
  if (!beyond_node.domains.empty()) depends_on |= Aspect::kNodeLabels;
  if (!beyond_node.objects.empty()) depends_on |= Aspect::kOfPods | Aspect::kOfNodeObject;
  const Attempt in{state, evaluated_pod, nodes};
  // With dependencies beyond the node: pods that are nominated count in a domain as well, and on
  // their node a plugin may have let the pod in that does not any more.
  const bool all_nominated = !beyond_node.empty();
  if (!CatchUp(
          {nodes, nominator, evaluated_pod, depends_on, state.skips().filter, all_nominated}) ||
      !CatchUpBeyondNode(in, beyond_node) || counts_.is_crowded()) {
    domains_.Keep(beyond_node.domains);
    MarkAll(nodes.size());
  }
  if (!(objects_ == beyond_node.objects)) objects_ = beyond_node.objects;
  spec_ = objects_.empty() ? nullptr : evaluated_pod.shared_spec();
  const Outcome outcome = FilterMarked(in);
  if (outcome != Outcome::kYielded) yields_.Reset();
  return outcome;
}

RejectionCache::Outcome RejectionCache::FilterMarked(const Attempt& in) {
  constexpr size_t kFew = 64, kMost = 16384;  // so many are still at hand from step to step
  for (size_t at_once = kFew; marked_.size() > kFew; at_once = std::min(2 * at_once, kMost)) {
    const Outcome outcome = FilterMany(in, at_once);
    if (outcome != Outcome::kRejected) return outcome;
  }
  while (!marked_.empty()) {
    const Outcome outcome = FilterOne(in, marked_.back());
    if (outcome != Outcome::kRejected) return outcome;
    marked_.pop_back();
  }
  if (marked_.capacity() > kFew) marked_ = {};  // all rows at first, and few later
  return Outcome::kRejected;
}

RejectionCache::Outcome RejectionCache::FilterOne(const Attempt& in, NodeRow row) {
  const Status status = framework_.nomination_filter().RunFilterWithNominatedPods(
      in.state, in.pod, in.nodes.node(row));
  if (status.ok()) return Outcome::kFits;
  const auto index = status.IsError() ? std::nullopt : counts_.IndexOf(status);
  if (!index.has_value()) return Outcome::kUnknown;
  counts_.Set(row, *index);
  framework_.plugins().SetVerdict(row, status, verdicts_);
  return Outcome::kRejected;
}

// Yields if the budget is spent, with so many marked rows left, unless it would not end.
bool RejectionCache::YieldIfSpent(size_t marked, WorkBudget& budget) {
  if (!budget.IsSpent()) return false;
  if (yields_.MayYieldWith(marked)) {
    budget.Yield();
    return true;
  }
  budget.Lift();
  return false;
}

// Filters rows one by one; marks those that fit. kUnknown, kRejected, or kYielded: then the rows
// that are left are marked.
RejectionCache::Outcome RejectionCache::FilterEach(const Attempt& in,
                                                   absl::Span<const NodeRow> rows) {
  constexpr int64_t kStepsOfRow = 20;
  WorkBudget& budget = in.state.work_budget();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (YieldIfSpent(marked_.size() + rows.size() - i, budget)) {
      marked_.insert(marked_.end(), rows.begin() + static_cast<std::ptrdiff_t>(i), rows.end());
      return Outcome::kYielded;
    }
    budget.Spend(kStepsOfRow);
    PrefetchNodes(in.nodes, rows, i);
    const Outcome outcome = FilterOne(in, rows[i]);
    if (outcome == Outcome::kUnknown) return outcome;
    if (outcome == Outcome::kFits) marked_.push_back(rows[i]);
  }
  return Outcome::kRejected;
}

// Filters up to `at_once` marked rows with the batch forms; rows that fit stay marked.
RejectionCache::Outcome RejectionCache::FilterMany(const Attempt& in, size_t at_once) {
  const size_t kept = marked_.size() - std::min(at_once, marked_.size());
  const std::vector<NodeRow> some(marked_.rbegin(), marked_.rend() - kept);
  marked_.resize(kept);
  const auto [with_nominations, rows] =
      framework_.nomination_filter().SplitByNomination(in.pod, in.nodes, some);
  if (!framework_.filters().RunFilterNodes(in.state, in.pod, in.nodes, rows, verdicts_).ok()) {
    return Outcome::kUnknown;
  }
  const Status nothing_excluded;
  const VerdictStatuses statuses(framework_, in.state, in.pod, in.nodes, verdicts_,
                                 nothing_excluded);
  std::vector<std::optional<uint16_t>> index_of;  // by group
  for (const NodeRow row : rows) {
    if (verdicts_.IsFeasible(row)) {
      Mark(row);
      continue;
    }
    const int group = statuses.group(row);
    if (group == VerdictStatuses::kNoReasonGroup) {
      const Outcome outcome = FilterOne(in, row);
      if (outcome == Outcome::kUnknown) return outcome;
      if (outcome == Outcome::kFits) Mark(row);
      continue;
    }
    if (group == static_cast<int>(index_of.size()))
      index_of.push_back(counts_.IndexOf(statuses.status_of_reason_group(group)));
    if (!index_of[group].has_value()) return Outcome::kUnknown;
    counts_.Set(row, *index_of[group]);
  }
  verdicts_.ClearReasonIds();
  if (marked_.size() > kept) {
    marked_.insert(marked_.end(), with_nominations.begin(), with_nominations.end());
    return Outcome::kFits;
  }
  const Outcome outcome = FilterEach(in, with_nominations);
  if (outcome != Outcome::kRejected) return outcome;
  return marked_.size() == kept ? Outcome::kRejected : Outcome::kFits;
}

// Marks the rows whose node or nominated pods changed since the last Refresh(), and moves
// everything with the rows. False if all of them have to be filtered.
bool RejectionCache::CatchUp(const NodeChangeTracker::Question& changes) {
  return node_changes_.CatchUp(
      changes, [&](NodeRow row) { Mark(row); },
      [&](const RowMove& move) {
        verdicts_.Move(move);
        counts_.Move(move);
      },
      [&] {  // what was marked has moved as well
        marked_.clear();
        AppendRowsWith(NodeVerdicts::kNotFiltered, verdicts_.rejectors(), marked_);
      });
}

// Marks the rows in whose domains a rule says something else than at the last Refresh(). False if
// all rows have to be filtered, as when the objects are others.
bool RejectionCache::CatchUpBeyondNode(const Attempt& in,
                                       const DependenciesBeyondNode& beyond_node) {
  if (!(objects_ == beyond_node.objects)) return false;
  if (!beyond_node.objects.empty() && spec_ != in.pod.shared_spec()) return false;
  return domains_.CatchUp(beyond_node.domains, in.nodes, [this](NodeRow row) { Mark(row); });
}

void RejectionCache::Mark(NodeRow row) {
  if (verdicts_.rejector(row) == NodeVerdicts::kNotFiltered) return;
  verdicts_.Reject(row, Code::kUnschedulableAndUnresolvable, NodeVerdicts::kNotFiltered);
  marked_.push_back(row);
}

void RejectionCache::MarkAll(int rows) {
  verdicts_.Reset(rows);
  counts_.Reset(rows);
  marked_.resize(rows);
  for (NodeRow row = 0; row < rows; ++row) marked_[row] = rows - 1 - row;  // the first one first
}

std::vector<NodeRow> CachedStatuses::RowsWith(Code code) const {
  return berth::RowsWith(cache_.verdicts(), code);
}

RejectorCounts CachedDiagnosis::CountRejectors() const {
  RejectorCounts counts{};
  for (size_t i = 0; i < framework_.plugins().filter.size(); ++i) {
    counts[i] = CountOf(static_cast<uint8_t>(i));
  }
  return counts;
}

}  // namespace berth
