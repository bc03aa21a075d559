// SPDX-License-Identifier: Apache-2.0
// Rows in groups, the best row of each at hand.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_SCORED_ROWS_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_SCORED_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "berth/columns/node_table.h"

namespace berth {

// What the rows of a group have in common.
using NodeClassKey = absl::InlinedVector<int64_t, 4>;

struct ScoredRow {
  int64_t total = 0;
  NodeRow row = -1;
  // For a heap with the best one on top, the first of equals.
  friend bool operator<(const ScoredRow& a, const ScoredRow& b) {
    return a.total < b.total || (a.total == b.total && a.row > b.row);
  }
  friend bool operator==(const ScoredRow&, const ScoredRow&) = default;
};

// Rows as they were when they were added: some are not in the group any more, or have other totals,
// and come out when they would be the best.
class ScoredRowHeap {
 public:
  bool empty() const { return heap_.empty(); }
  // The group has `rows` rows; `is_now` returns whether an entry is up to date.
  template <class IsNow>
  void Add(ScoredRow row, int rows, IsNow is_now) {
    heap_.push_back(row);
    absl::c_push_heap(heap_);
    if (heap_.size() > 2 * static_cast<size_t>(rows) + kFew) DropStale(is_now);
  }
  // All again: Clear(), Append() of each row, MakeHeap().
  void Clear() { heap_.clear(); }
  void Append(ScoredRow row) { heap_.push_back(row); }
  void MakeHeap() { absl::c_make_heap(heap_); }
  // The best one, not to be asked if there is none.
  template <class IsNow>
  ScoredRow Best(IsNow is_now) {
    while (!is_now(heap_.front())) {
      absl::c_pop_heap(heap_);
      heap_.pop_back();
    }
    return heap_.front();
  }

 private:
  static constexpr size_t kFew = 64;

  // Leaves what is true now, each row once.
  template <class IsNow>
  void DropStale(IsNow is_now) {
    std::erase_if(heap_, [&](const ScoredRow& row) { return !is_now(row); });
    std::sort(heap_.rbegin(), heap_.rend());  // the best first, which makes a heap
    heap_.erase(std::unique(heap_.begin(), heap_.end()), heap_.end());
  }

  std::vector<ScoredRow> heap_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_SCORED_ROWS_H_
