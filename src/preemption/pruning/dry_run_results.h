// What dry runs came to, node by node.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_RESULTS_H_
#define BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_RESULTS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "berth/framework/handle.h"
#include "berth/framework/preemption.h"
#include "framework/change_journal.h"
#include "framework/followed_domains.h"
#include "preemption/candidate_scores.h"

namespace berth {

// A candidate and its scores.
struct WeighedCandidate {
  PreemptionCandidate candidate;
  CandidateScores scores;
};
using WeighedPtr = std::shared_ptr<const WeighedCandidate>;

// What came of the nodes for pods of one kind, priority and key of the rules.
class RememberedRuns {
 public:
  // Brings everything in step with the nodes, the nominations, the budgets, what the filters go by
  // and the rules' gauges: what concerns a row that changed, or no longer holds, is forgotten.
  // `own_row`: that the pod in question itself is nominated to, or -1; nothing is remembered of it.
  void Refresh(const NodeTable& nodes, const Nominator& nominator, uint64_t budgets_version,
               NodeRow own_row, const DryRunGrounds& grounds, absl::Span<const int64_t> gauges);

  bool IsKnown(NodeRow row) const { return outcome_of_[row] != kUnknown; }
  bool IsFailure(NodeRow row) const { return IsKnown(row) && !IsCandidate(outcome_of_[row]); }
  // Of a known row: the candidate, or null. Valid until the next Refresh().
  const WeighedPtr& candidate(NodeRow row);
  // Of a known row that is no candidate: why not, an index in failures(), or kNoVictims.
  int failure(NodeRow row) const { return outcome_of_[row]; }
  // Of the same: DryRun::helps_from().
  absl::Time helps_from(NodeRow row) const {
    return helps_from_.empty() ? absl::InfiniteFuture() : helps_from_[row];
  }
  // Whether there are such rows of which it may be another one than InfiniteFuture().
  bool knows_times() const { return !helps_from_.empty(); }
  absl::Span<const Status> failures() const { return failures_; }
  // Of the rows of which something else is known, or nothing any more.
  const RowJournal& changes() const { return changes_; }
  int size() const { return static_cast<int>(outcome_of_.size()); }
  static constexpr int kNoVictims = -3;
  // How many rows are known.
  int known_count() const { return known_count_; }
  // How many rows are candidates.
  int candidate_count() const { return static_cast<int>(candidates_.size() - free_.size()); }

  // As of the run: when what it came to holds, and DryRun::helps_from().
  struct Terms {
    absl::Span<const GaugeRange> conditions;
    absl::Time helps_from = absl::InfiniteFuture();
  };
  // What a run came to.
  void SetCandidate(NodeRow row, WeighedPtr candidate, const Terms& terms);
  void SetNoVictims(NodeRow row, const Terms& terms);
  // Not an Error, which may be gone the next time.
  void SetFailures(absl::Span<const NodeRow> rows, const Status& status, const Terms& terms);

 private:
  static constexpr int32_t kUnknown = -1;
  // A candidate, which few rows are, is kFirstCandidate - its place in candidates_.
  static constexpr int32_t kFirstCandidate = -4;
  static bool IsCandidate(int32_t outcome) { return outcome <= kFirstCandidate; }
  WeighedPtr& CandidateOf(int32_t outcome) { return candidates_[kFirstCandidate - outcome]; }

  void Set(NodeRow row, int32_t outcome, const Terms& terms);
  bool FollowGrounds(const NodeTable& nodes, const Nominator& nominator,
                     const DryRunGrounds& grounds);
  void Forget(NodeRow row);
  void FreePlace(int32_t outcome);
  void Move(const RowMove& move);
  void CheckGauges(absl::Span<const int64_t> gauges);
  void Tighten(const GaugeRange& range);

  uint64_t nodes_version_ = 0, nominations_version_ = 0, budgets_version_ = 0;
  NodeRow own_row_ = -1;
  FilterBasis basis_;                      // as of the last Refresh()
  FollowedDomains<DomainNumber> domains_;  // the same
  // By row: one of the constants, a candidate, or an index in failures_.
  std::vector<int32_t> outcome_of_;
  int known_count_ = 0;
  std::deque<WeighedPtr> candidates_;  // the number of their row may be an earlier one
  std::vector<int32_t> free_;          // outcomes whose place in it is not taken
  std::vector<std::vector<GaugeRange>> conditions_;  // by row; empty without gauges
  std::vector<absl::Time> helps_from_;               // the same
  // By gauge: where all conditions hold, or a part of that.
  std::vector<std::pair<int64_t, int64_t>> all_hold_;
  std::vector<Status> failures_;
  absl::flat_hash_map<std::string, int32_t> failure_of_;  // by the reasons
  RowJournal changes_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_RESULTS_H_
