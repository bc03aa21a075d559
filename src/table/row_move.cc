// SPDX-License-Identifier: Apache-2.0
// Implementation of row_move.h.
#include "table/row_move.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace berth {

RowMove RowMove::Came(NodeRow row, int size) {
  RowMove move(size);
  move.came_ = {row};
  move.Add({.to = row + 1, .from = row, .count = size - row - 1});
  move.Finish();
  return move;
}

RowMove RowMove::Went(absl::Span<const NodeRow> rows, int size) {
  RowMove move(size - 1);
  move.gone_ = {rows.front()};
  for (size_t i = 1; i < rows.size(); ++i) move.Add({rows[i - 1], rows[i], 1});
  move.Add({.to = rows.back(), .from = rows.back() + 1, .count = size - rows.back() - 1});
  move.Finish();
  return move;
}

RowMove RowMove::Rearranged(absl::Span<const NodeRow> rows, int size_before) {
  std::vector<Step> steps;
  const auto size = static_cast<NodeRow>(rows.size());
  for (NodeRow row = 0; row < size; ++row) {
    if (rows[row] >= 0) steps.push_back({row, rows[row], 1});
  }
  return Rearranged(steps, size_before, size);
}

RowMove RowMove::Rearranged(absl::Span<const Step> steps, int size_before, int size) {
  RowMove move(size);
  // By row, as they were numbered before. A string finds the next 0 many rows at a time.
  std::string stays(size_before, 0);
  NodeRow next = 0;
  for (const Step& step : steps) {
    for (; next < step.to; ++next) move.came_.push_back(next);
    next = step.to + step.count;
    std::fill_n(stays.begin() + step.from, step.count, 1);
    move.Add(step);
  }
  for (; next < size; ++next) move.came_.push_back(next);
  for (size_t row = stays.find('\0'); row != stays.npos; row = stays.find('\0', row + 1)) {
    move.gone_.push_back(static_cast<NodeRow>(row));
  }
  move.Finish();
  return move;
}

void RowMove::Add(Step step) {
  if (step.to == step.from || step.count == 0) return;
  renumbered_ += step.count;
  if (!steps_.empty()) {
    Step& last = steps_.back();
    if (last.to + last.count == step.to && last.from + last.count == step.from) {
      last.count += step.count;
      return;
    }
  }
  steps_.push_back(step);
}

void RowMove::Finish() {
  bool some_go_down = false;
  for (const Step& step : steps_) {
    most_up_ = std::max(most_up_, step.to - step.from);
    some_go_down |= step.to < step.from;
  }
  first_ = size_;
  if (!steps_.empty()) first_ = std::min(first_, steps_.front().to);
  if (!came_.empty()) first_ = std::min(first_, came_.front());
  constexpr size_t kShort = 8;  // rows a step
  if ((most_up_ > 0 && some_go_down) || steps_.size() * kShort > static_cast<size_t>(size_)) {
    direction_ = Direction::kEach;
    NodeRow last = steps_.back().to + steps_.back().count;
    if (!came_.empty()) last = std::max(last, came_.back() + 1);
    from_.resize(last - first_);
    std::iota(from_.begin(), from_.end(), first_);
    for (const NodeRow row : came_) from_[row - first_] = -1;
    for (const Step& step : steps_) {
      const auto to = from_.begin() + (step.to - first_);
      std::iota(to, to + step.count, step.from);
    }
  } else if (most_up_ > 0) {
    direction_ = Direction::kUp;
  }
}

}  // namespace berth
