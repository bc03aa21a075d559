// SPDX-License-Identifier: Apache-2.0
// Rows in blocks, their values side by side as doubles: what lets compilers use vector
// instructions.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_ROW_BLOCK_H_
#define BERTH_PLUGINS_NODE_RESOURCES_ROW_BLOCK_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "src/simd/exact_doubles.h"

namespace berth {

inline constexpr size_t kRowBlock = 128;
// Fewer rows are not worth the preparations.
inline constexpr size_t kFewRows = 8;

// What is left of a capacity; 0 if more is requested. Both are whole numbers.
inline double Free(double capacity, double requested) {
  const double free = capacity - requested;
  return (free + std::abs(free)) / 2;
}

struct RowRange {
  NodeRow first, last;
};
RowRange RangeOf(absl::Span<const NodeRow> rows);  // at least one
// To be or-ed over all rows; then IsExact() says whether all capacities are above 0 and everything
// is below kExactAmounts.
inline uint64_t AmountBits(int64_t requested, int64_t capacity) {
  return (static_cast<uint64_t>(capacity) - 1) | static_cast<uint64_t>(requested);
}
inline bool IsExact(uint64_t amount_bits) {
  return amount_bits < static_cast<uint64_t>(kExactAmounts);
}
// scores[i] is of rows[i], values[0] of row `first`.
void PickScores(const int64_t* values, NodeRow first, absl::Span<const NodeRow> rows,
                int64_t* scores);

// At most kRowBlock rows, at least one, and their values in columns side by side. Where most rows
// of a range are asked for, the block has the values of the whole range: they are read where they
// stand.
class RowBlock {
 public:
  explicit RowBlock(absl::Span<const NodeRow> rows) : rows_(rows), size_(rows.size()) {
    const auto [first, last] = RangeOf(rows);
    const size_t range = static_cast<size_t>(last - first) + 1;
    if (range > kRowBlock || range > 2 * rows.size()) return;
    first_ = first;
    size_ = range;
    holes_ = range != rows.size() || !AreConsecutive(rows);
  }

  absl::Span<const NodeRow> rows() const { return rows_; }

  // The number of values, at most kRowBlock.
  size_t size() const { return size_; }
  const int64_t* Values(const int64_t* column, int64_t (&copy)[kRowBlock]) const {
    if (first_ >= 0) return column + first_;
    for (size_t i = 0; i < rows_.size(); ++i) copy[i] = column[rows_[i]];
    return copy;
  }

  // Whether the i-th value is not that of the i-th row; At() is its place then.
  bool has_holes() const { return holes_; }
  size_t At(size_t i) const { return holes_ ? static_cast<size_t>(rows_[i] - first_) : i; }
  // The first row of the range, if there are holes.
  NodeRow first() const { return first_; }

 private:
  absl::Span<const NodeRow> rows_;
  NodeRow first_ = -1;  // of the range; -1: the values are copied
  size_t size_;
  bool holes_ = false;
};

// A score for each value of a block, and then for each of its rows.
class BlockScores {
 public:
  // `scores`: of the block's rows.
  BlockScores(const RowBlock& block, absl::Span<int64_t> scores)
      : block_(block), scores_(scores), values_(block.has_holes() ? of_range_ : scores.data()) {}
  ~BlockScores() {
    if (block_.has_holes()) PickScores(of_range_, block_.first(), block_.rows(), scores_.data());
  }
  BlockScores(const BlockScores&) = delete;
  BlockScores& operator=(const BlockScores&) = delete;

  int64_t* values() { return values_; }

 private:
  const RowBlock& block_;
  const absl::Span<int64_t> scores_;
  int64_t of_range_[kRowBlock];
  int64_t* const values_;
};

// What is requested on a block's rows of one resource, and their capacity.
class BlockAmounts {
 public:
  BlockAmounts(const RowBlock& block, const int64_t* requested, const int64_t* capacity)
      : requested_(block.Values(requested, requested_copy_)),
        capacity_(block.Values(capacity, capacity_copy_)) {}

  const int64_t* requested() const { return requested_; }
  const int64_t* capacity() const { return capacity_; }

 private:
  int64_t requested_copy_[kRowBlock], capacity_copy_[kRowBlock];
  const int64_t* const requested_;
  const int64_t* const capacity_;
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
