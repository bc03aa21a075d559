// Looks at nodes, one by one, for one that evicting pods makes room on.
#ifndef BERTH_SRC_PREEMPTION_NODE_SEARCH_H_
#define BERTH_SRC_PREEMPTION_NODE_SEARCH_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/preemption.h"
#include "preemption/dry_run_memory.h"
#include "preemption/failures.h"

namespace berth {

// One search: keeps what came of the nodes. Scheduling thread.
class NodeSearch {
 public:
  NodeSearch(Handle& handle, PreemptionRules& rules, const DisruptionBudgets& budgets,
             const CycleState& state, const PodInfo& pod, RememberedRuns* remembered)
      : handle_(handle),
        rules_(rules),
        budgets_(budgets),
        state_(state),
        pod_(pod),
        remembered_(remembered),
        scores_(rules.OrderedScores()) {}

  // Whether the scores are DefaultScores().
  bool scored_by_default() const { return scores_.empty(); }
  // Whether what comes of the nodes is kept.
  bool remembers() const { return remembered_ != nullptr; }
  // Whether to look at the row costs next to nothing.
  bool IsKnown(NodeRow row) const { return remembered_ != nullptr && remembered_->IsKnown(row); }

  // Whether it is known, too, that there is no candidate.
  bool IsKnownFailure(NodeRow row) const {
    return remembered_ != nullptr && remembered_->IsFailure(row);
  }

  // The candidate on `row`, or null; then it is counted why.
  const WeighedPtr* LookAt(NodeRow row) { return IsKnown(row) ? Recall(row) : Try(row); }
  // Of the last row that was tried: why there is no candidate, or Success.
  const Status& last_failure() const { return last_failure_; }
  // Rows of which a try would come to the same, under all conditions.
  void AddFailures(absl::Span<const NodeRow> rows, const Status& status);

  // Lets the processor fetch what tries of the rows after `at` will read while this one goes on:
  // the pods of very many nodes are in no cache. One step a row, as each step reads what the one
  // before has fetched.
  void FetchAhead(absl::Span<const NodeRow> rows, size_t at) const;

  // Where nobody may go, which is known without looking at them.
  void AddWithoutVictims(absl::Span<const NodeRow> rows) {
    without_victims_.insert(without_victims_.end(), rows.begin(), rows.end());
  }

  // Why there is no candidate, after all rows were looked at.
  Status Failure() &&;
  // When there may be one.
  absl::Time retry_at() const { return retry_at_; }

 private:
  const WeighedPtr* Recall(NodeRow row);
  const WeighedPtr* Try(NodeRow row);
  Status Weigh(DryRun& run, NodeRow row, WeighedCandidate& weighed) const;

  Handle& handle_;
  PreemptionRules& rules_;
  const DisruptionBudgets& budgets_;
  const CycleState& state_;
  const PodInfo& pod_;
  RememberedRuns* remembered_;  // or null
  std::vector<PreemptionRules::CandidateScore> scores_;
  std::deque<WeighedPtr> weighed_now_;
  Failures failures_;
  Status last_failure_;
  std::vector<NodeRow> without_victims_;
  absl::Time retry_at_ = absl::InfiniteFuture();
};

// Here, as it is asked for every row of a search that remembers them.
inline const WeighedPtr* NodeSearch::Recall(NodeRow row) {
  retry_at_ = std::min(retry_at_, remembered_->helps_from(row));
  if (const WeighedPtr& known = remembered_->candidate(row); known != nullptr) return &known;
  if (remembered_->failure(row) == RememberedRuns::kNoVictims) {
    without_victims_.push_back(row);
  } else {
    failures_.AddRemembered(remembered_->failure(row));
  }
  return nullptr;
}

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_NODE_SEARCH_H_
