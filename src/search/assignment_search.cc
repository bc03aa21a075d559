// SPDX-License-Identifier: Apache-2.0
// Implementation of assignment_search.h.
#include "search/assignment_search.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {

AssignmentSearch::Outcome AssignmentSearch::Run() {
  const size_t classes = space_.classes().size();
  state_ = {{}, std::vector<int>(classes, 0), std::vector<bool>(classes, false)};
  tried_.clear();
  if (Extend()) return Outcome::kFound;
  return undecided_ ? Outcome::kUndecided : Outcome::kExhausted;
}

// Equal for states from which the same can be reached.
std::string AssignmentSearch::KeyOf(const State& state) const {
  std::vector<std::pair<int, NodeRow>> placed = state.placed;
  std::sort(placed.begin(), placed.end());
  std::string key;
  for (const auto& [pod_class, row] : placed) absl::StrAppend(&key, pod_class, ":", row, " ");
  for (const bool closed : state.closed) key.push_back(closed ? '1' : '0');
  return key;
}

// How many members of each class may be placed at last, at most. False if that is not enough.
bool AssignmentSearch::HasRoom(std::vector<int>& at_most) {
  const absl::Span<const AssignmentClass> classes = space_.classes();
  for (size_t i = 0; i < classes.size(); ++i) {
    at_most[i] = state_.count[i];
    const int left = classes[i].members - state_.count[i];
    if (left == 0 || state_.closed[i]) continue;
    at_most[i] += classes[i].only_competes ? space_.Room(static_cast<int>(i), left) : left;
  }
  return space_.IsEnough(at_most);
}

bool AssignmentSearch::Extend() {
  if (space_.IsEnough(state_.count)) return true;
  if (!tried_.insert(KeyOf(state_)).second) return false;
  const absl::Span<const AssignmentClass> classes = space_.classes();
  std::vector<int> at_most(classes.size());
  if (!HasRoom(at_most)) return false;

  // One of those that only compete is enough at a time: the one that has the least room to spare.
  int next = -1;
  int least = 0;
  for (int i = 0; i < static_cast<int>(classes.size()); ++i) {
    const int left = classes[i].members - state_.count[i];
    if (left == 0 || state_.closed[i]) continue;
    if (!classes[i].only_competes) {
      if (TryRows(i)) return true;
      if (undecided_) return false;
      continue;
    }
    const int room = at_most[i] - state_.count[i];
    if (next < 0 || room - left < least) {
      next = i;
      least = room - left;
    }
  }
  if (next < 0) return false;
  if (TryRows(next)) return true;
  if (undecided_) return false;
  // Without any more of them, if the others are enough.
  state_.closed[next] = true;
  if (Extend()) return true;
  state_.closed[next] = false;
  return false;
}

bool AssignmentSearch::TryRows(int pod_class) {
  steps_ += steps_of_evaluation_;
  for (const NodeRow row : space_.FeasibleRows(pod_class)) {
    steps_ += 1 + static_cast<int64_t>(state_.placed.size()) / 64;  // what it costs to look back
    if (steps_ > budget_) {
      undecided_ = true;
      return false;
    }
    state_.placed.push_back({pod_class, row});
    if (tried_.contains(KeyOf(state_)) || !space_.Place(pod_class, row)) {
      state_.placed.pop_back();
      continue;
    }
    ++possibilities_;
    ++state_.count[pod_class];
    most_placed_ = std::max(most_placed_, static_cast<int>(state_.placed.size()));
    if (Extend()) return true;
    space_.Undo();
    --state_.count[pod_class];
    state_.placed.pop_back();
    if (undecided_) return false;
  }
  return false;
}

}  // namespace berth
