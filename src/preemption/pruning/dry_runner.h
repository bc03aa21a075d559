// SPDX-License-Identifier: Apache-2.0
// The dry runs of one search: those of pods of the same class are not made again.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_DRY_RUNNER_H_
#define BERTH_SRC_PREEMPTION_PRUNING_DRY_RUNNER_H_

#include "absl/types/span.h"
#include "berth/framework/handle.h"
#include "preemption/candidate_search.h"
#include "preemption/fit_error.h"
#include "preemption/pruning/dry_run_cache.h"

namespace berth {

// Scheduling thread.
class DryRunner {
 public:
  // `cache` may be null: then nothing is kept, and the search does not yield between
  // dry runs.
  DryRunner(Handle& handle, const PreemptionQuery& query, CachedResults* cache)
      : handle_(handle),
        query_(query),
        cache_(cache),
        fit_error_(query.rules, query.pod, handle.nodes()) {}

  // Whether the search yields here: the budget is spent, and to try the row takes more.
  bool YieldsBefore(NodeRow row);
  // The candidate on `row`, or null; then it is counted why.
  ScoredCandidatePtr Try(NodeRow row);
  // Why the last dry run found no candidate, or Success.
  const Status& last_failure() const { return last_failure_; }
  // Rows whose dry run would have the same result, and rows from which no pod may be evicted.
  void AddFailures(absl::Span<const NodeRow> rows, const Status& status);
  void AddWithoutVictims(NodeRow row);
  // All potential nodes but `rows`, which are some of them.
  void AddOthersWithoutVictims(absl::Span<const NodeRow> rows);

  // After all potential nodes were tried and none has a candidate.
  SearchResult NoCandidates() &&;

 private:
  bool IsKnown(NodeRow row) const { return cache_ != nullptr && cache_->IsKnown(row); }
  void CountKnownFailures();

  Handle& handle_;
  const PreemptionQuery& query_;
  CachedResults* const cache_;
  FitError fit_error_;  // without the failures that the cache knows
  Status last_failure_;
  absl::Time retry_at_ = absl::InfiniteFuture();
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_DRY_RUNNER_H_
