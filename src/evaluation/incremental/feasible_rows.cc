// SPDX-License-Identifier: Apache-2.0
// Implementation of feasible_rows.h.
#include "evaluation/incremental/feasible_rows.h"

#include <algorithm>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "table/row_move.h"

namespace berth {

absl::Span<const NodeRow> FeasibleRows::Reset(int rows) {
  rows_.resize(rows);
  absl::c_iota(rows_, 0);
  verdicts_.Reset(rows);
  return rows_;
}

void FeasibleRows::Count() {
  count_ = static_cast<int>(absl::c_count(verdicts_.rejectors(), NodeVerdicts::kNoRejector));
  rows_.clear();
  unlisted_.clear();
  if (count_ > 0) Unlist({0, verdicts_.rows()});
}

void FeasibleRows::Set(NodeRow row, const Status& status, uint8_t rejector) {
  const bool was_feasible = contains(row);
  if (status.ok()) {
    verdicts_.Accept(row);
  } else {
    verdicts_.Reject(row, status.code(), rejector);
  }
  if (was_feasible == status.ok()) return;
  Unlist({row, row + 1});
  count_ += status.ok() ? 1 : -1;
}

void FeasibleRows::Recount(absl::Span<const NodeRow> rows,
                           absl::Span<const uint8_t> were_feasible) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool is_feasible = contains(rows[i]);
    if (is_feasible == (were_feasible[i] != 0)) continue;
    Unlist({rows[i], rows[i] + 1});
    count_ += is_feasible ? 1 : -1;
  }
}

void FeasibleRows::Move(const RowMove& move) {
  for (const NodeRow row : move.gone()) count_ -= contains(row) ? 1 : 0;
  verdicts_.Move(move);
}

void FeasibleRows::Renumber(NodeRow first) {
  rows_.erase(absl::c_lower_bound(rows_, first), rows_.end());
  for (Range& range : unlisted_) {
    range = {std::min(range.begin, first), std::min(range.end, first)};
  }
  Unlist({first, verdicts_.rows()});
}

// rows_ is out of date for these rows.
void FeasibleRows::Unlist(Range range) {
  constexpr size_t kMost = 8;
  if (unlisted_.size() == kMost) {  // one that has them all
    for (const Range& other : unlisted_) {
      range = {std::min(range.begin, other.begin), std::max(range.end, other.end)};
    }
    unlisted_.clear();
  }
  unlisted_.push_back(range);
}

// Brings rows_ up to date for these rows, without a branch a row.
void FeasibleRows::List(Range range) const {
  const uint8_t* const rejectors = verdicts_.rejectors().data();
  const auto count =
      std::count(rejectors + range.begin, rejectors + range.end, NodeVerdicts::kNoRejector);
  const auto begin = absl::c_lower_bound(rows_, range.begin);
  const auto end = std::lower_bound(begin, rows_.end(), range.end);
  const auto first = begin - rows_.begin();
  if (count < end - begin) {
    rows_.erase(begin + count, end);
  } else {
    rows_.insert(end, count - (end - begin), 0);
  }
  NodeRow* next = rows_.data() + first;
  const NodeRow* const last = next + count;
  for (NodeRow row = range.begin; next != last; ++row) {
    *next = row;
    next += contains(row);
  }
}

}  // namespace berth
