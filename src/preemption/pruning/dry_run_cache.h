// SPDX-License-Identifier: Apache-2.0
// Results of dry runs, node by node, kept for pods of one equivalence class.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_CACHE_H_
#define BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/framework/handle.h"
#include "berth/preemption/preemption.h"
#include "framework/domain_tracker.h"
#include "framework/dry_run_inputs.h"
#include "preemption/candidate_scores.h"
#include "table/change_journal.h"

namespace berth {

// The results for one class: pods with the same DryRunInputs::pod_class and priority, whose rules
// may evict the same kinds of pods (PreemptorClass::by_priority). Scheduling thread.
class CachedResults {
 public:
  // Brings everything in step with the nodes, the nominations, the budgets and what the filters
  // depend on: what concerns a row that changed is forgotten. `own_row`: that the pod in question
  // itself is nominated to, or -1; nothing is kept of it. `budget_changes`: the nodes on which
  // evictions may violate other budgets than before.
  void Refresh(const NodeTable& nodes, const Nominator& nominator,
               const NodeJournal& budget_changes, NodeRow own_row, const DryRunInputs& inputs);

  int size() const { return static_cast<int>(outcome_of_.size()); }
  bool IsKnown(NodeRow row) const { return outcome_of_[row] != kUnknown; }
  bool IsFailure(NodeRow row) const { return IsKnown(row) && !IsCandidate(outcome_of_[row]); }
  // For a known row: the candidate, or null.
  ScoredCandidatePtr candidate(NodeRow row);
  // For a known row that is no candidate: why not, an index in failures(), or kNoVictims.
  int failure(NodeRow row) const { return outcome_of_[row]; }
  absl::Span<const Status> failures() const { return failures_; }
  static constexpr int kNoVictims = -3;
  // How many rows are known.
  int known_count() const { return known_count_; }
  // How many rows are candidates.
  int candidate_count() const { return static_cast<int>(candidates_.size() - free_.size()); }

  void SetCandidate(NodeRow row, ScoredCandidatePtr candidate);
  void SetNoVictims(NodeRow row);
  // Not an Error, which may be gone the next time.
  void SetFailures(absl::Span<const NodeRow> rows, const Status& status);

  // Whether a search may yield here and continue later: if more is known than when one yielded
  // before, or that is not so for the first few times, as what a search found out may be forgotten
  // before it continues. So every search ends.
  bool MayYield();
  // A search is over.
  void OnSearchEnd();

 private:
  static constexpr int32_t kUnknown = -1;
  // A candidate, which few rows are, is kFirstCandidate - its place in candidates_.
  static constexpr int32_t kFirstCandidate = -4;
  static bool IsCandidate(int32_t outcome) { return outcome <= kFirstCandidate; }
  ScoredCandidatePtr& CandidateOf(int32_t outcome) {
    return candidates_[kFirstCandidate - outcome];
  }

  void Set(NodeRow row, int32_t outcome);
  bool UpdateInputs(const NodeTable& nodes, const Nominator& nominator, const DryRunInputs& inputs);
  void Restart(const NodeTable& nodes, const DryRunInputs& inputs);
  void Forget(NodeRow row);
  void FreePlace(int32_t outcome);
  void Move(const RowMove& move);

  uint64_t nodes_version_ = 0, nominations_version_ = 0;
  NodeJournal::Position budget_changes_;
  NodeRow own_row_ = -1;
  FilterInputs filter_inputs_;             // as of the last Refresh()
  DomainTracker<DomainDistance> domains_;  // the same
  // By row: one of the constants, a candidate, or an index in failures_.
  std::vector<int32_t> outcome_of_;
  int known_count_ = 0;
  std::deque<ScoredCandidatePtr> candidates_;  // the number of their row may be an earlier one
  std::vector<int32_t> free_;                  // outcomes whose place in it is not taken
  std::vector<Status> failures_;
  absl::flat_hash_map<std::string, int32_t> failure_of_;  // by the reasons
  int known_at_yield_ = -1;
  int yields_without_progress_ = 0;
};

// The results for the classes that came last. Scheduling thread.
class DryRunCache {
 public:
  // What is kept under `key`, over `rows` nodes. Valid until the next call.
  CachedResults& Find(const std::string& key, int rows);
  size_t size() const { return latest_.size(); }

 private:
  struct Entry {
    std::string key;
    CachedResults results;
  };
  std::vector<std::unique_ptr<Entry>> latest_;  // first
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_CACHE_H_
