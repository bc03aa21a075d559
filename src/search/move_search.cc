// SPDX-License-Identifier: Apache-2.0
// Implementation of move_search.h.
#include "search/move_search.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace berth {

MoveSearch::Outcome MoveSearch::Run(int most_moves) {
  bool all_tried = true;
  for (int moves = 1; moves <= most_moves; ++moves) {
    steps_end_ = steps_ + (budget_ - steps_) / (most_moves - moves + 1);
    is_spent_ = false;
    tried_.clear();
    if (Extend(moves)) {
      is_fewest_ = all_tried;
      return Outcome::kFound;
    }
    all_tried = all_tried && !is_spent_;
  }
  return all_tried ? Outcome::kExhausted : Outcome::kUndecided;
}

bool MoveSearch::Spend(int64_t steps) {
  steps_ += steps;
  is_spent_ = is_spent_ || steps_ > steps_end_;
  return !is_spent_;
}

// Equal for states from which the same can be reached.
std::string MoveSearch::Key() const {
  std::vector<std::pair<int, NodeRow>> placed = placed_;
  std::sort(placed.begin(), placed.end());
  std::vector<int> moved = moved_;
  std::sort(moved.begin(), moved.end());
  std::string key;
  for (const auto& [kind, row] : placed) absl::StrAppend(&key, kind, ":", row, " ");
  for (const int pod : moved) absl::StrAppend(&key, "/", pod);
  return key;
}

bool MoveSearch::Extend(int moves_left) {
  if (space_.Next() < 0) return true;
  if (!tried_.insert(Key()).second) return false;
  if (!Spend(steps_of_evaluation_)) return false;
  for (const NodeRow row : space_.FeasibleRows()) {
    if (PlaceAt(row, moves_left)) return true;
    if (is_spent_) return false;
  }
  if (moves_left == 0) return false;
  for (const MoveSpace::Move& move : space_.Moves(moves_left)) {
    const int pods = static_cast<int>(move.pods.size());
    if (!Spend(pods)) return false;
    space_.TakeOff(move);
    moved_.insert(moved_.end(), move.pods.begin(), move.pods.end());
    if (PlaceAt(move.row, moves_left - pods)) return true;
    moved_.resize(moved_.size() - move.pods.size());
    space_.Undo();
    if (is_spent_) return false;
  }
  return false;
}

bool MoveSearch::PlaceAt(NodeRow row, int moves_left) {
  if (!Spend(1 + static_cast<int64_t>(placed_.size()) / 64))
    return false;  // what looking back costs
  const int kind = space_.Next();
  if (!space_.Place(row)) return false;
  ++possibilities_;
  placed_.emplace_back(kind, row);
  if (Extend(moves_left)) return true;
  placed_.pop_back();
  space_.Undo();
  return false;
}

}  // namespace berth
