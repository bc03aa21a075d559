// SPDX-License-Identifier: Apache-2.0
// Rows in blocks, their values side by side as doubles: what lets compilers use vector
// instructions.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_ROW_BLOCK_H_
#define BERTH_PLUGINS_NODE_RESOURCES_ROW_BLOCK_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"

namespace berth {

inline constexpr size_t kRowBlock = 128;
// Fewer rows are not worth the preparations.
inline constexpr size_t kFewRows = 8;

// Amounts below this are exact as doubles, and so is 100 times one of them. A quotient of two such
// numbers that is at most 100 truncates as the quotient of the integers does: it would have to be
// nearer to the next integer than the division rounds.
inline constexpr int64_t kExactAmounts = int64_t{1} << 46;

// Conversions that SSE2 has no instruction for, and the rest without a branch: a number from 0 to
// 2^51 becomes the low bits of 2^52 plus it.
inline double ToDouble(int64_t amount) {
  return std::bit_cast<double>(static_cast<uint64_t>(amount) | std::bit_cast<uint64_t>(0x1p52)) -
         0x1p52;
}
inline int64_t Truncated(double value) {
  const double shifted = value + 0x1p52;  // rounds to the nearest integer
  const uint64_t rounded_up = std::bit_cast<uint64_t>(value - (shifted - 0x1p52)) >> 63;
  return static_cast<int64_t>(std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(0x1p52) -
                              rounded_up);
}
// What is left of a capacity; 0 if more is requested. Both are whole numbers.
inline double Free(double capacity, double requested) {
  const double free = capacity - requested;
  return (free + std::abs(free)) / 2;
}

// At most kRowBlock rows.
class RowBlock {
 public:
  explicit RowBlock(absl::Span<const NodeRow> rows) : rows_(rows), adjoin_(AreConsecutive(rows)) {}
  size_t size() const { return rows_.size(); }
  absl::Span<const NodeRow> rows() const { return rows_; }

  // The rows' values in `column`: where they stand if the rows follow one another, or in `copy`.
  const int64_t* Values(const int64_t* column, int64_t (&copy)[kRowBlock]) const {
    if (adjoin_) return column + rows_[0];
    for (size_t i = 0; i < rows_.size(); ++i) copy[i] = column[rows_[i]];
    return copy;
  }

 private:
  absl::Span<const NodeRow> rows_;
  bool adjoin_;
};

// What is requested on a block's rows of one resource, and their capacity.
class BlockAmounts {
 public:
  BlockAmounts(const RowBlock& block, const int64_t* requested, const int64_t* capacity)
      : requested_(block.Values(requested, requested_copy_)),
        capacity_(block.Values(capacity, capacity_copy_)) {
    uint64_t bits = 0;  // of 0 - 1, all are set
    for (size_t i = 0; i < block.size(); ++i) {
      bits |= (static_cast<uint64_t>(capacity_[i]) - 1) | static_cast<uint64_t>(requested_[i]);
    }
    exact_ = bits < static_cast<uint64_t>(kExactAmounts);
  }

  // Whether all capacities are above 0 and everything is below kExactAmounts.
  bool exact() const { return exact_; }
  const int64_t* requested() const { return requested_; }
  const int64_t* capacity() const { return capacity_; }

 private:
  int64_t requested_copy_[kRowBlock], capacity_copy_[kRowBlock];
  const int64_t* const requested_;
  const int64_t* const capacity_;
  bool exact_;
};

// Calls visit(rows) for one block after the other.
template <class Visit>
void ForEachBlock(absl::Span<const NodeRow> rows, Visit visit) {
  for (size_t from = 0; from < rows.size(); from += kRowBlock) {
    visit(rows.subspan(from, kRowBlock));
  }
}
// Calls visit(rows, scores), a score a row.
template <class Visit>
void ForEachBlock(absl::Span<const NodeRow> rows, absl::Span<int64_t> scores, Visit visit) {
  for (size_t from = 0; from < rows.size(); from += kRowBlock) {
    visit(rows.subspan(from, kRowBlock), scores.subspan(from, kRowBlock));
  }
}

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_ROW_BLOCK_H_
