// SPDX-License-Identifier: Apache-2.0
// The search that leaves nodes out which cannot be chosen. See README.md.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_PRUNED_SEARCH_H_
#define BERTH_SRC_PREEMPTION_PRUNING_PRUNED_SEARCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/incremental/preemption_hints.h"
#include "framework/resource_need.h"
#include "preemption/candidate_search.h"
#include "preemption/dry_runs.h"
#include "preemption/pruning/bound_cache.h"
#include "preemption/pruning/priority_levels.h"

namespace berth {

// Finds what FullSearch finds, for rules with the default scores. If more nodes have candidates
// than SearchRange wants, it tries those with the highest bounds, as many as it wants. Kept by a
// plugin. Scheduling thread.
class PrunedSearch final : public CandidateSearch {
 public:
  PrunedSearch(Handle& handle, DryRuns& dry_runs)
      : handle_(handle), dry_runs_(dry_runs), levels_(handle.Shared<PriorityLevels>()) {}

  // Yields while it reads nodes that changed, and between dry runs.
  std::optional<SearchResult> Find(const PreemptionQuery& query) override;

 private:
  PreemptorClass ClassOf(const PreemptionQuery& query, PreemptionHints::Victims victims) const;

  Handle& handle_;
  DryRuns& dry_runs_;
  std::shared_ptr<PriorityLevels> levels_;  // one a scheduler
  BoundCache bounds_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_PRUNED_SEARCH_H_
