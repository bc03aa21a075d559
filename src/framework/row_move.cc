// Implementation of berth/framework/row_move.h.
#include "berth/framework/row_move.h"

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
  std::vector<uint8_t> stays(size_before);
  NodeRow next = 0;
  for (const Step& step : steps) {
    for (; next < step.to; ++next) move.came_.push_back(next);
    next = step.to + step.count;
    std::fill_n(stays.begin() + step.from, step.count, 1);
    move.Add(step);
  }
  for (; next < size; ++next) move.came_.push_back(next);
  for (NodeRow row = 0; row < size_before; ++row) {
    if (stays[row] == 0) move.gone_.push_back(row);
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
  const auto goes_up = [](const Step& step) { return step.to > step.from; };
  if (std::any_of(steps_.begin(), steps_.end(), goes_up)) {
    way_ = std::all_of(steps_.begin(), steps_.end(), goes_up) ? Way::kUp : Way::kBoth;
  }
  first_ = size_;
  if (!steps_.empty()) first_ = std::min(first_, steps_.front().to);
  if (!came_.empty()) first_ = std::min(first_, came_.front());
}

}  // namespace berth
