// In which order to look at the nodes for a victim: where most can be gained first.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_
#define BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_

#include <cstdint>
#include <vector>

#include "berth/framework/node_table.h"
#include "framework/best_row.h"
#include "framework/change_journal.h"
#include "preemption/pruning/candidate_bound.h"

namespace berth {

class QuestionBounds;

// The rows that come into question, and the one with the highest bound. Costs the rows that changed
// since the last search. Scheduling thread.
class Prospects {
 public:
  // What follows is about these bounds, until they are refreshed. False if they are others than
  // before, or any of them may be: then no row is in play.
  bool Follow(const QuestionBounds& bounds);

  // Whether `row` comes into question; as before if nothing is said.
  void SetInPlay(NodeRow row, bool in_play) {
    if (is_in_play_[row] == static_cast<uint8_t>(in_play)) return;
    is_in_play_[row] = in_play;
    if (!all_changed_) changed_.push_back(row);
  }
  bool is_in_play(NodeRow row) const { return is_in_play_[row] != 0; }
  // Makes `rows` some of those in play from `begin` on, in order, and returns where to go on; none
  // if there are no more.
  NodeRow ListInPlay(NodeRow begin, std::vector<NodeRow>& rows) const;

  // The row in play with the highest bound, the first of equals, of those that are possible; -1 if
  // there is none.
  NodeRow Best();

 private:
  class ByBound;

  bool TakeChanges();

  const QuestionBounds* bounds_ = nullptr;
  RowJournal::Position seen_;        // of their changes
  std::vector<uint8_t> is_in_play_;  // by row
  std::vector<NodeRow> changed_;     // since best_ was brought in step
  bool all_changed_ = false;
  BestRow best_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_
