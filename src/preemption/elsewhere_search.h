// SPDX-License-Identifier: Apache-2.0
// The search over several nodes: for pods to which evictions on no single node give room, since
// others hold what they need together or elsewhere.
#ifndef BERTH_SRC_PREEMPTION_ELSEWHERE_SEARCH_H_
#define BERTH_SRC_PREEMPTION_ELSEWHERE_SEARCH_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/handle.h"
#include "berth/preemption/held_elsewhere.h"
#include "preemption/candidate_search.h"

namespace berth {

// Dry-runs the potential nodes in order, each without its own pods and, unit by unit, without those
// that hold something that it could use (SharedHoldings). Ends with as many candidates as are
// wanted, or after kMostSteps. Nothing is kept. Made for one pod.
class ElsewhereSearch final : public CandidateSearch {
 public:
  ElsewhereSearch(Handle& handle, const CycleState& state, const PodInfo& pod);

  bool any() const { return !holdings_.empty(); }
  // Holders of what the node could use: the least important, and of these the fewest, first.
  std::vector<VictimUnit> UnitsFor(Symbol node) const;
  // The same for a dry run: those that a budget protects come last, and behind them those with a
  // pod that is spared for its group.
  std::vector<VictimUnit> UnitsFor(Symbol node, const PreemptionQuery& query) const;

  // `query.elsewhere` is this. Without candidates: `failure` is empty, or says that there may be
  // some, since the search ended at its limit.
  std::optional<SearchResult> Find(const PreemptionQuery& query) override;

 private:
  // Units of all dry runs together: about a second.
  static constexpr int64_t kMostSteps = 20'000;

  Handle& handle_;
  std::vector<SharedHolding> holdings_;  // in that order
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_ELSEWHERE_SEARCH_H_
