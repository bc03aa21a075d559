// Looks at nodes, one by one, for one that evicting pods makes room on.
#ifndef BERTH_SRC_PREEMPTION_NODE_SEARCH_H_
#define BERTH_SRC_PREEMPTION_NODE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/preemption.h"
#include "preemption/dry_run_memory.h"
#include "preemption/failures.h"

namespace berth {

// One search: keeps what came of the nodes. Scheduling thread.
class NodeSearch {
 public:
  // `most_steps`: after how many, of CycleState::work_budget(), it asks whether it may stop.
  NodeSearch(Handle& handle, PreemptionRules& rules, const DisruptionBudgets& budgets,
             const CycleState& state, const PodInfo& pod, RememberedSearch* remembered,
             int64_t most_steps, std::function<bool()> may_stop)
      : handle_(handle),
        rules_(rules),
        budgets_(budgets),
        state_(state),
        pod_(pod),
        remembered_(remembered),
        most_steps_(most_steps),
        may_stop_(std::move(may_stop)),
        scores_(rules.OrderedScores()) {}

  const NodeTable& nodes() const { return handle_.nodes(); }
  // Whether the scores are DefaultScores().
  bool scored_by_default() const { return scores_.empty(); }
  // Whether to look at the row costs next to nothing. If it fails it is counted among the
  // standings.
  bool IsKnown(NodeRow row) const {
    return remembered_ != nullptr && remembered_->runs.IsKnown(row);
  }

  // Whether it stops here: it has done enough, and to look at the row takes more.
  bool StopsBefore(NodeRow row) {
    if (steps_ < most_steps_ || IsKnown(row)) return false;
    if (may_stop_()) return true;
    most_steps_ = std::numeric_limits<int64_t>::max();
    return false;
  }
  // The candidate on `row`, which comes into question, or null; then it is counted why.
  const WeighedPtr* LookAt(NodeRow row) { return IsKnown(row) ? Recall(row) : Try(row); }
  // Of the last row that was tried: why there is no candidate, or Success.
  const Status& last_failure() const { return last_failure_; }
  // Rows of which a try would come to the same, under all conditions.
  void AddFailures(absl::Span<const NodeRow> rows, const Status& status);

  // A row where nobody may go, which is known without looking at it.
  void AddWithoutVictims(NodeRow row);
  // All that come into question are such rows.
  void SetAllWithoutVictims(const NodeStatuses& statuses, int count);

  // Why there is no candidate, after all rows were looked at.
  Status Failure() &&;
  // When there may be one, after the same.
  absl::Time retry_at() const;

 private:
  const WeighedPtr* Recall(NodeRow row);
  const WeighedPtr* Try(NodeRow row);
  void NoteWithoutVictims(NodeRow row);
  bool NamesNodesWithoutVictims() const;
  void CountRemembered();
  Status Weigh(DryRun& run, NodeRow row, WeighedCandidate& weighed) const;

  Handle& handle_;
  PreemptionRules& rules_;
  const DisruptionBudgets& budgets_;
  const CycleState& state_;
  const PodInfo& pod_;
  RememberedSearch* remembered_;  // or null; what is kept of failures is counted there
  int64_t most_steps_;
  const std::function<bool()> may_stop_;
  int64_t steps_ = 0;
  std::vector<PreemptionRules::CandidateScore> scores_;
  std::deque<WeighedPtr> weighed_now_;
  Failures failures_;
  Status last_failure_;
  int without_victims_ = 0;
  std::vector<NodeRow> named_without_victims_;  // these, unless they are too many
  absl::Time retry_at_ = absl::InfiniteFuture();
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_NODE_SEARCH_H_
