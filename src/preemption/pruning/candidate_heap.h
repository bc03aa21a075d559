// SPDX-License-Identifier: Apache-2.0
// The nodes that are left to try in one search, the one with the highest bound first.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_
#define BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/columns/node_table.h"
#include "berth/framework/postfilter.h"
#include "preemption/pruning/bound_cache.h"
#include "table/best_row.h"

namespace berth {

// One search, which mostly looks at few nodes. It uses the order that the bounds keep, and hides a
// row that is not left once it comes first, until the search ends. If many are hidden, it builds an
// order of its own of those that are left.
class CandidateHeap {
 public:
  // Of the rows of `bounds`, the potential nodes. Both outlive this; there is one at a time.
  // `listed`: those on which there may be victims, if these are not all.
  CandidateHeap(CandidateBounds& bounds, const NodeStatuses& statuses,
                std::optional<std::vector<NodeRow>> listed = std::nullopt)
      : bounds_(bounds), statuses_(statuses), listed_(std::move(listed)) {
    if (listed_.has_value()) BuildOwnOrder();
  }
  CandidateHeap(const CandidateHeap&) = delete;
  CandidateHeap& operator=(const CandidateHeap&) = delete;
  ~CandidateHeap() { bounds_.ShowAll(); }

  // The row with the highest bound, the first of equals, of those where something is possible; -1
  // if there is none.
  NodeRow Best() {
    while (!has_own_order_) {
      const NodeRow row = bounds_.Best();
      if (row < 0 || IsPotential(row)) return row;
      Hide(row);
    }
    return own_.best();
  }
  // `row` has another bound, after Tighten().
  void Update(NodeRow row) {
    if (has_own_order_ && bounds_.is_possible(row)) own_.Update(row, Order());
  }
  void Remove(NodeRow row) {
    if (has_own_order_) {
      is_left_[row] = 0;
      return Update(row);
    }
    removed_.push_back(row);
    Hide(row);
  }
  // All that are left, in order; where nothing is possible too.
  std::vector<NodeRow> Rows() const {
    const std::vector<uint8_t> is_left = has_own_order_ ? is_left_ : Left();
    std::vector<NodeRow> rows;
    for (NodeRow row = 0; row < bounds_.size(); ++row) {
      if (is_left[row]) rows.push_back(row);
    }
    return rows;
  }

 private:
  // For own_.
  ByBound Order() const { return ByBound(bounds_, is_left_.data(), /*counts=*/1); }

  void Hide(NodeRow row) {
    constexpr size_t kFew = 16, kPartOfAll = 64;  // so many cost less than to order all
    bounds_.Hide(row);
    if (bounds_.hidden() > kFew + static_cast<size_t>(bounds_.size()) / kPartOfAll) BuildOwnOrder();
  }
  bool IsPotential(NodeRow row) const { return statuses_.code(row) == Code::kUnschedulable; }
  std::vector<uint8_t> Left() const {
    std::vector<uint8_t> is_left(bounds_.size());
    if (listed_.has_value()) {
      for (const NodeRow row : *listed_) is_left[row] = 1;
    } else {
      for (NodeRow row = 0; row < bounds_.size(); ++row) is_left[row] = IsPotential(row);
    }
    for (const NodeRow row : removed_) is_left[row] = 0;
    return is_left;
  }
  void BuildOwnOrder() {
    is_left_ = Left();
    bounds_.ShowAll();
    has_own_order_ = true;
    if (!bounds_.none_is_possible()) own_.Build(bounds_.size(), Order());
  }

  CandidateBounds& bounds_;
  const NodeStatuses& statuses_;
  const std::optional<std::vector<NodeRow>> listed_;
  std::vector<NodeRow> removed_;
  bool has_own_order_ = false;
  std::vector<uint8_t> is_left_;  // by row, if it does
  BestRow own_;                   // the same
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_
