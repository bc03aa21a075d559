// SPDX-License-Identifier: Apache-2.0
// The dry runs of one search, and why those failed that found no candidate.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_DRY_RUNNER_H_
#define BERTH_SRC_PREEMPTION_PRUNING_DRY_RUNNER_H_

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/handle.h"
#include "preemption/candidate_search.h"
#include "preemption/dry_runs.h"
#include "preemption/fit_error.h"

namespace berth {

// Scheduling thread.
class DryRunner {
 public:
  DryRunner(const Handle& handle, const PreemptionQuery& query, DryRuns& runs)
      : query_(query), runs_(runs), fit_error_(query.rules, query.pod, handle.nodes()) {}

  // The candidate on `row`, or null; then it is counted why, or it has_yielded().
  ScoredCandidatePtr Try(NodeRow row);
  bool has_yielded() const { return has_yielded_; }
  // Why the last dry run, if it has not yielded, found no candidate; or Success. Valid until the
  // next one.
  const Status& last_failure() const { return last_run_->failure; }
  // So many nodes whose dry run would have the same result, and a node from which no pod may be
  // evicted.
  void AddFailures(int nodes, const Status& status) { fit_error_.Add(status, nodes); }
  void AddWithoutVictims(NodeRow row) { fit_error_.AddWithoutVictims(row); }
  // All potential nodes but `rows`, which are some of them.
  void AddOthersWithoutVictims(absl::Span<const NodeRow> rows);

  // After all potential nodes were tried and none has a candidate.
  SearchResult NoCandidates() && {
    return {.failure = std::move(fit_error_).ToStatus(), .retry_at = retry_at_};
  }

 private:
  const PreemptionQuery& query_;
  DryRuns& runs_;
  bool has_yielded_ = false;
  FitError fit_error_;
  const DryRunResult* last_run_ = nullptr;
  absl::Time retry_at_ = absl::InfiniteFuture();
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_DRY_RUNNER_H_
