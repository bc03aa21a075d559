// SPDX-License-Identifier: Apache-2.0
// The search for candidates: nodes on which evicting pods makes room. There are two, which choose
// by the same criteria: the full one and the pruned one. They find the same, unless there are more
// candidates than SearchRange wants.
#ifndef BERTH_SRC_PREEMPTION_CANDIDATE_SEARCH_H_
#define BERTH_SRC_PREEMPTION_CANDIDATE_SEARCH_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/status.h"
#include "berth/preemption/preemption.h"
#include "disruption/budget_tracker.h"
#include "group/group_victims.h"
#include "preemption/candidate_scores.h"

namespace berth {

class ElsewhereSearch;
struct ResourceNeed;

// Which pod needs room, where it may be made, and by which rules.
struct PreemptionQuery {
  PreemptionRules& rules;
  const CycleState& state;
  const PodInfo& pod;
  // The potential nodes are those whose status is exactly Unschedulable.
  const NodeStatuses& statuses;
  int potential_nodes;
  PreemptionRules::SearchRange range;
  std::vector<PreemptionRules::CandidateScore> scores;  // empty: DefaultScoresOf()
  const BudgetTracker& budgets;
  // Which groups end without some of their pods; null: there are none.
  const GroupVictims* groups = nullptr;
  // The pod's group, which is placed with it: none of its members goes. Null: there is none.
  const GroupMembers* own_group = nullptr;
  // Null: no pod is spared for its group.
  const GroupVictims* spare_groups = nullptr;
  // What the pod needs, for dry runs by sums; null: they copy the node.
  const ResourceNeed* need = nullptr;
  // For DryRun::elsewhere(); null in a search on one node after another.
  const ElsewhereSearch* elsewhere = nullptr;
};

struct SearchResult {
  // Those that violate no budget first, then in the order of the search. Not all there are: as many
  // as were wanted, or enough to know the best.
  std::vector<ScoredCandidatePtr> candidates;
  // Without candidates: why there are none, and when there may be one.
  Status failure;
  absl::Time retry_at = absl::InfiniteFuture();
};

class CandidateSearch {
 public:
  virtual ~CandidateSearch() = default;

  // Absent if it has yielded (CycleState::work_budget()): then it is called again for the same pod,
  // and continues.
  virtual std::optional<SearchResult> Find(const PreemptionQuery& query) = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_CANDIDATE_SEARCH_H_
