// SPDX-License-Identifier: Apache-2.0
// Implementation of feasible_rows.h.
#include "evaluation/incremental/feasible_rows.h"

#include "absl/algorithm/container.h"

namespace berth {

absl::Span<const NodeRow> FeasibleRows::rows() const {
  if (is_listed_) return rows_;
  rows_.resize(count_);
  NodeRow* next = rows_.data();
  const NodeRow* const end = next + count_;
  for (NodeRow row = 0; next != end; ++row) {  // without a branch a row
    *next = row;
    next += contains(row);
  }
  is_listed_ = true;
  return rows_;
}

absl::Span<const NodeRow> FeasibleRows::Reset(int rows) {
  is_listed_ = false;
  rows_.resize(rows);
  absl::c_iota(rows_, 0);
  verdicts_.Reset(rows);
  return rows_;
}

void FeasibleRows::Recount() {
  count_ = static_cast<int>(absl::c_count(verdicts_.rejectors(), NodeVerdicts::kNoRejector));
  is_listed_ = false;
}

void FeasibleRows::Set(NodeRow row, const Status& status, const ProfilePlugins& plugins) {
  if (contains(row) != status.ok()) {
    count_ += status.ok() ? 1 : -1;
    is_listed_ = false;
  }
  plugins.SetVerdict(row, status, verdicts_);
}

}  // namespace berth
