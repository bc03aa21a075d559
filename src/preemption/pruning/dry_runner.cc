// SPDX-License-Identifier: Apache-2.0
// Implementation of dry_runner.h.
#include "preemption/pruning/dry_runner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "preemption/dry_run_node.h"

namespace berth {

bool DryRunner::YieldsBefore(NodeRow row) {
  WorkBudget& budget = query_.state.work_budget();
  if (cache_ == nullptr || !budget.IsSpent() || IsKnown(row)) return false;
  if (cache_->MayYield()) {
    budget.Yield();
    return true;
  }
  budget.Lift();
  return false;
}

ScoredCandidatePtr DryRunner::Try(NodeRow row) {
  if (IsKnown(row)) return cache_->candidate(row);
  DryRunResult run = DryRunNode(handle_, query_, row);
  retry_at_ = std::min(retry_at_, run.retry_time);
  last_failure_ = run.failure;
  if (run.candidate != nullptr) {
    if (cache_ != nullptr) cache_->SetCandidate(row, run.candidate);
  } else if (run.no_victims) {
    AddWithoutVictims(row);
  } else {
    AddFailures({&row, 1}, run.failure);
  }
  return std::move(run.candidate);
}

void DryRunner::AddWithoutVictims(NodeRow row) {
  if (cache_ != nullptr) cache_->SetNoVictims(row);
  if (!IsKnown(row)) fit_error_.AddWithoutVictims(row);
}

void DryRunner::AddOthersWithoutVictims(absl::Span<const NodeRow> rows) {
  const int others = query_.potential_nodes - static_cast<int>(rows.size());
  if (cache_ == nullptr && others > FitError::kMostNamed) {
    fit_error_.AddManyWithoutVictims(others);
    return;
  }
  const absl::flat_hash_set<NodeRow> listed(rows.begin(), rows.end());
  for (const NodeRow row : query_.statuses.RowsWith(Code::kUnschedulable)) {
    if (!listed.contains(row)) AddWithoutVictims(row);
  }
}

void DryRunner::AddFailures(absl::Span<const NodeRow> rows, const Status& status) {
  if (rows.empty()) return;
  if (cache_ != nullptr) cache_->SetFailures(rows, status);
  int unknown = 0;
  for (const NodeRow row : rows) unknown += !IsKnown(row);
  fit_error_.Add(status, unknown);
}

void DryRunner::CountKnownFailures() {
  const absl::Span<const Status> failures = cache_->failures();
  std::vector<int> nodes_of(failures.size());
  for (NodeRow row = 0; row < cache_->size(); ++row) {
    if (!cache_->IsFailure(row) || query_.statuses.code(row) != Code::kUnschedulable) continue;
    const int failure = cache_->failure(row);
    if (failure == CachedResults::kNoVictims) {
      fit_error_.AddWithoutVictims(row);
    } else {
      ++nodes_of[failure];
    }
  }
  for (size_t i = 0; i < failures.size(); ++i) fit_error_.Add(failures[i], nodes_of[i]);
}

SearchResult DryRunner::NoCandidates() && {
  if (cache_ != nullptr) CountKnownFailures();
  return {.failure = std::move(fit_error_).ToStatus(), .retry_at = retry_at_};
}

}  // namespace berth
