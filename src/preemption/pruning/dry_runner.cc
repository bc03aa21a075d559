// SPDX-License-Identifier: Apache-2.0
// Implementation of dry_runner.h.
#include "preemption/pruning/dry_runner.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace berth {

ScoredCandidatePtr DryRunner::Try(NodeRow row) {
  last_run_ = runs_.Run(query_, row);
  has_yielded_ = last_run_ == nullptr;
  if (has_yielded_) return nullptr;
  const DryRunResult& run = *last_run_;
  retry_at_ = std::min(retry_at_, run.retry_time);
  if (run.no_victims) {
    fit_error_.AddWithoutVictims(row);
  } else if (run.candidate == nullptr) {
    fit_error_.Add(run.failure);
  }
  return run.candidate;
}

void DryRunner::AddOthersWithoutVictims(absl::Span<const NodeRow> rows) {
  const int others = query_.potential_nodes - static_cast<int>(rows.size());
  if (others > FitError::kMostNamed) {
    fit_error_.AddManyWithoutVictims(others);
    return;
  }
  const absl::flat_hash_set<NodeRow> listed(rows.begin(), rows.end());
  for (const NodeRow row : query_.statuses.RowsWith(Code::kUnschedulable)) {
    if (!listed.contains(row)) fit_error_.AddWithoutVictims(row);
  }
}

}  // namespace berth
