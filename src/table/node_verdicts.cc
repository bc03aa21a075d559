// SPDX-License-Identifier: Apache-2.0
// NodeVerdicts: the engine's side.
#include "berth/columns/node_verdicts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "berth/check.h"

namespace berth {

void NodeVerdicts::Reset(int rows) {
  codes_.assign(rows, Code::kUnschedulableAndUnresolvable);
  rejectors_.assign(rows, kNotFiltered);
  reason_ids_.resize(rows);
  candidates_.clear();
  said_.clear();
}

void NodeVerdicts::Set(NodeRow row, const Status& status) {
  constexpr size_t kMostCompared = 8;
  size_t i = 0;
  while (i < said_.size() && said_[i] != status) ++i;
  if (i == said_.size() && i < kMostCompared) said_.push_back(status);
  Set(row, status.code(),
      i < said_.size() ? static_cast<uint8_t>(kNoReasonId - 1 - i) : kNoReasonId);
}

void NodeVerdicts::BeginBlock(absl::Span<const NodeRow> rows) {
  candidates_.assign(rows.begin(), rows.end());
  codes_set_ = ended_codes_set_ = 0;
  if (AreConsecutive(rows)) {
    BERTH_DCHECK(rows.empty() || (rows.front() >= 0 && rows.back() < this->rows()));
    const NodeRow first = rows.empty() ? 0 : rows.front();
    std::fill_n(codes_.begin() + first, rows.size(), Code::kSuccess);
    std::fill_n(rejectors_.begin() + first, rows.size(), kNoRejector);
    return;
  }
  for (const NodeRow row : rows) {
    BERTH_DCHECK(row >= 0 && row < this->rows()) << row;
    codes_[row] = Code::kSuccess;
    rejectors_[row] = kNoRejector;
  }
}

void NodeVerdicts::EndPlugin(uint8_t plugin) {
  BERTH_DCHECK(plugin < kNoRejector);
  const uint32_t rejections = codes_set_ & ~(uint32_t{1} << static_cast<uint8_t>(Code::kSuccess));
  ended_codes_set_ |= std::exchange(codes_set_, 0);
  if (rejections == 0) return;  // mostly a plugin has nothing against any node
  // Without a branch a row: which are rejected is hard to foretell.
  NodeRow* kept = candidates_.data();
  for (const NodeRow row : candidates_) {
    const bool feasible = codes_[row] == Code::kSuccess;
    rejectors_[row] = feasible ? kNoRejector : plugin;
    *kept = row;
    kept += feasible;
  }
  candidates_.resize(kept - candidates_.data());
}

// Without a branch a row, and mostly without a look at each if there are none.
void NodeVerdicts::AppendFeasible(absl::Span<const NodeRow> rows,
                                  std::vector<NodeRow>& feasible) const {
  if (AreConsecutive(rows) && !rows.empty()) {
    const uint8_t* const first = &rejectors_[rows.front()];
    if (std::memchr(first, kNoRejector, rows.size()) == nullptr) return;
  }
  const size_t before = feasible.size();
  feasible.resize(before + rows.size());
  NodeRow* next = feasible.data() + before;
  for (const NodeRow row : rows) {
    *next = row;
    next += rejectors_[row] == kNoRejector;
  }
  feasible.resize(next - feasible.data());
}

}  // namespace berth
