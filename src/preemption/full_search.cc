// SPDX-License-Identifier: Apache-2.0
// Implementation of full_search.h.
#include "preemption/full_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "preemption/candidate_list.h"
#include "preemption/dry_run_node.h"
#include "preemption/fit_error.h"

namespace berth {

std::optional<SearchResult> FullSearch::Find(const PreemptionQuery& query) {
  const std::vector<NodeRow> nodes = query.statuses.RowsWith(Code::kUnschedulable);
  const int count = static_cast<int>(nodes.size());
  const bool all = query.scores.empty();
  const int offset = all ? 0 : query.range.offset;
  CandidateList candidates(all ? count : query.range.candidates);
  FitError fit_error(query.rules, query.pod, handle_.nodes());
  SearchResult result;
  for (int i = 0; i < count && !candidates.Enough(); ++i) {
    const NodeRow row = nodes[(offset + i) % count];
    DryRunResult run = DryRunNode(handle_, query, row);
    result.retry_at = std::min(result.retry_at, run.retry_time);
    if (run.candidate != nullptr) {
      candidates.Add(i, std::move(run.candidate));
    } else if (run.no_victims) {
      fit_error.AddWithoutVictims(row);
    } else {
      fit_error.Add(run.failure);
    }
  }
  result.candidates = std::move(candidates).Take();
  if (result.candidates.empty()) result.failure = std::move(fit_error).ToStatus();
  return result;
}

}  // namespace berth
