// SPDX-License-Identifier: Apache-2.0
// MoveSearch: the fewest running pods that, once they are elsewhere, leave a place for a group.
#ifndef BERTH_SRC_SEARCH_MOVE_SEARCH_H_
#define BERTH_SRC_SEARCH_MOVE_SEARCH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "berth/framework/node_info.h"

namespace berth {

// What the search moves in: pods that have to find a place, one after another. First the members of
// the group, then running pods, in the order in which they were taken off their nodes.
class MoveSpace {
 public:
  virtual ~MoveSpace() = default;

  // Running pods of one node.
  struct Move {
    NodeRow row = -1;
    std::vector<int> pods;  // the same number for the same pod, in every call
  };

  // The kind of the next pod that has no place; -1 if all have one. Pods of one kind are alike.
  virtual int Next() const = 0;
  // Where it could be placed now, the most promising first.
  virtual std::vector<NodeRow> FeasibleRows() = 0;
  // At most `most` running pods without which it may find a place on their node, in each way in
  // which none of them could stay; the most promising first.
  virtual std::vector<Move> Moves(int most) = 0;
  // Places it. False, and nothing has changed, if a plugin refuses it after all.
  virtual bool Place(NodeRow row) = 0;
  // Takes the pods off. They have to find a place, too.
  virtual void TakeOff(const Move& move) = 0;
  // Takes back the last of what was placed or taken off.
  virtual void Undo() = 0;
};

// First with one pod to move, then with two, and so on: depth first over rows and moves. What was
// tried in another order is not tried again. If a pod fits wherever it fits beside more pods, too,
// then every way with so few moves is tried before one more is. Deterministic.
class MoveSearch {
 public:
  enum class Outcome : uint8_t {
    kFound,      // all have a place
    kExhausted,  // moving so many does not help
    kUndecided,  // the budget is spent
  };
  // `budget`: in steps; one for each pod that is placed or taken off and each thousand nodes
  // evaluated. It is shared out evenly among the numbers of moves that are tried.
  MoveSearch(MoveSpace& space, int nodes, int64_t budget)
      : space_(space), steps_of_evaluation_(1 + nodes / 1000), budget_(budget) {}

  // If nothing is found, everything is taken back.
  Outcome Run(int most_moves);
  // Of what was found: whether it was proven that no fewer moves do.
  bool is_fewest() const { return is_fewest_; }
  int64_t possibilities() const { return possibilities_; }  // pods that were placed, in all

 private:
  bool Extend(int moves_left);
  bool PlaceAt(NodeRow row, int moves_left);
  bool Spend(int64_t steps);
  std::string Key() const;

  MoveSpace& space_;
  const int64_t steps_of_evaluation_;
  const int64_t budget_;
  int64_t steps_ = 0;
  int64_t steps_end_ = 0;  // with so many moves
  int64_t possibilities_ = 0;
  bool is_spent_ = false;
  bool is_fewest_ = false;
  std::vector<std::pair<int, NodeRow>> placed_;  // (kind, row)
  std::vector<int> moved_;
  absl::flat_hash_set<std::string> tried_;
};

}  // namespace berth

#endif  // BERTH_SRC_SEARCH_MOVE_SEARCH_H_
