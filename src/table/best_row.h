// SPDX-License-Identifier: Apache-2.0
// BestRow: which row has the highest of values that change.
#ifndef BERTH_SRC_TABLE_BEST_ROW_H_
#define BERTH_SRC_TABLE_BEST_ROW_H_

#include <algorithm>
#include <vector>

#include "berth/columns/node_table.h"

namespace berth {

// A tree of winners: a change costs the logarithm of the number of rows. The values are the
// caller's, and so is `compare`:
// - NodeRow compare.BestOf(NodeRow begin, NodeRow end) is the first of the best of these rows, -1
//   if none of them is eligible;
// - NodeRow compare.Better(NodeRow left, NodeRow right) is the better of two such, `left` if they
//   are equal; either may be -1.
class BestRow {
 public:
  // Rows before `first` have the values they had.
  template <class Compare>
  void Build(int size, const Compare& compare, NodeRow first = 0) {
    int leaves = 1;
    while (leaves * kBlock < size) leaves *= 2;
    if (leaves != leaves_) {
      leaves_ = leaves;
      winners_.assign(2 * leaves, -1);
      first = 0;
    }
    size_ = size;
    int begin = std::min(leaves_ + first / kBlock, 2 * leaves_ - 1);
    int end = 2 * leaves_;
    for (int i = begin; i < end; ++i) winners_[i] = BestOfBlock(i - leaves_, compare);
    while (begin > 1) {
      begin /= 2;
      end /= 2;
      for (int i = begin; i < end; ++i) {
        winners_[i] = compare.Better(winners_[2 * i], winners_[2 * i + 1]);
      }
    }
  }
  // Only `row` has another value.
  template <class Compare>
  void Update(NodeRow row, const Compare& compare) {
    const int block = row / kBlock;
    int i = leaves_ + block;
    winners_[i] = BestOfBlock(block, compare);
    for (i /= 2; i >= 1; i /= 2) winners_[i] = compare.Better(winners_[2 * i], winners_[2 * i + 1]);
  }
  // The first of the best; -1 if no row is eligible.
  NodeRow best() const { return winners_[1]; }

 private:
  static constexpr int kBlock = 16;

  template <class Compare>
  NodeRow BestOfBlock(int block, const Compare& compare) const {
    return compare.BestOf(block * kBlock, std::min((block + 1) * kBlock, size_));
  }

  int size_ = 0;
  int leaves_ = 1;                           // a power of two, at least as many as there are blocks
  std::vector<NodeRow> winners_ = {-1, -1};  // of each subtree; [1] is the root, a leaf is a block
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_BEST_ROW_H_
