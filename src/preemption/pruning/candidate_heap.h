// SPDX-License-Identifier: Apache-2.0
// The nodes that are left to try in one search, the one with the highest bound first.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_
#define BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "berth/columns/node_table.h"
#include "preemption/pruning/bound_cache.h"
#include "table/best_row.h"

namespace berth {

// One search.
class CandidateHeap {
 public:
  // `is_left`: by row. `bounds` are those of the same rows.
  CandidateHeap(const CandidateBounds& bounds, std::vector<uint8_t> is_left)
      : bounds_(bounds), is_left_(std::move(is_left)) {
    if (!bounds_.none_is_possible()) best_.Build(bounds_.size(), ByBound(*this));
  }

  // The row with the highest bound, the first of equals, of those where something is possible; -1
  // if there is none.
  NodeRow Best() const { return best_.best(); }
  // `row` has another bound.
  void Update(NodeRow row) {
    if (bounds_.is_possible(row)) best_.Update(row, ByBound(*this));
  }
  void Remove(NodeRow row) {
    is_left_[row] = 0;
    Update(row);
  }
  // All that are left, in order; where nothing is possible too.
  std::vector<NodeRow> Rows() const {
    std::vector<NodeRow> rows;
    for (NodeRow row = 0; row < bounds_.size(); ++row) {
      if (is_left_[row]) rows.push_back(row);
    }
    return rows;
  }

 private:
  // For best_.
  class ByBound {
   public:
    explicit ByBound(const CandidateHeap& heap)
        : bounds_(heap.bounds_), is_left_(heap.is_left_.data()) {}
    NodeRow BestOf(NodeRow begin, NodeRow end) const {
      NodeRow best = -1;
      for (NodeRow row = begin; row < end; ++row) {
        if (!is_left_[row] || !bounds_.is_possible(row)) continue;
        if (best < 0 || bounds_.at(best) < bounds_.at(row)) best = row;
      }
      return best;
    }
    NodeRow Better(NodeRow left, NodeRow right) const {
      if (left < 0) return right;
      if (right < 0) return left;
      return bounds_.at(left) < bounds_.at(right) ? right : left;
    }

   private:
    const CandidateBounds& bounds_;
    const uint8_t* is_left_;
  };

  const CandidateBounds& bounds_;
  std::vector<uint8_t> is_left_;
  BestRow best_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_CANDIDATE_HEAP_H_
