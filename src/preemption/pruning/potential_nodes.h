// How each node stands before a search begins: what need not be looked at again is counted.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_POTENTIAL_NODES_H_
#define BERTH_SRC_PREEMPTION_PRUNING_POTENTIAL_NODES_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "berth/framework/postfilter.h"
#include "framework/change_journal.h"
#include "preemption/pruning/candidate_heap.h"
#include "preemption/pruning/dry_run_results.h"

namespace berth {

// Follows what filters say, and what dry runs came to, of pods of one kind: costs the rows of which
// it is something else. Scheduling thread.
class Standings {
 public:
  // Before a search. `runs` and `bounds` are in step with the nodes; without `bounds`, prospects()
  // are of no use.
  void Follow(const NodeStatuses& statuses, const RememberedRuns& runs,
              const QuestionBounds* bounds);
  // After it: what it came to.
  void FollowRuns(const RememberedRuns& runs);

  // In play are the rows that filters find Unschedulable, but for those of which a dry run is known
  // to have failed, as of the last call above.
  Prospects& prospects() { return prospects_; }
  // These are counted, by RememberedRuns::failure().
  int CountOf(int failure) const {
    return failure < static_cast<int>(counts_.size()) ? counts_[failure] : 0;
  }
  int without_victims() const { return without_victims_; }
  bool is_without_victims(NodeRow row) const {
    return standing_of_[row] == RememberedRuns::kNoVictims;
  }
  int size() const { return static_cast<int>(standing_of_.size()); }
  // Of all of them, the first RememberedRuns::helps_from().
  absl::Time helps_from() const {
    return helps_from_.empty() ? absl::InfiniteFuture() : *helps_from_.begin();
  }

 private:
  static constexpr int32_t kOut = -1, kInPlay = -2;

  void Settle(NodeRow row, bool unschedulable, const RememberedRuns& runs);
  void SettleAll(const NodeStatuses& statuses, const RememberedRuns& runs);
  void Count(int32_t standing, int difference) {
    if (standing == RememberedRuns::kNoVictims) without_victims_ += difference;
    if (standing < 0) return;
    if (standing >= static_cast<int32_t>(counts_.size())) counts_.resize(standing + 1);
    counts_[standing] += difference;
  }
  void NoteHelp(NodeRow row, absl::Time time);

  Prospects prospects_;
  bool has_bounds_ = false;         // prospects_ are in step too
  NodeStatuses::Version statuses_;  // as of the last Follow()
  RowJournal::Position runs_;       // the same
  // By row: one of the constants, or a RememberedRuns::failure().
  std::vector<int32_t> standing_of_;
  std::vector<int> counts_;  // by failure(), but for kNoVictims
  int without_victims_ = 0;
  absl::flat_hash_map<NodeRow, absl::Time> helps_from_of_;  // of counted rows, if that ever comes
  std::multiset<absl::Time> helps_from_;                    // the same
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_POTENTIAL_NODES_H_
