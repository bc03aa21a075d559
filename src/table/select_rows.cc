// SPDX-License-Identifier: Apache-2.0
// The rows of a dictionary column that have one of some values, and those with room.
#include "table/select_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/columns/node_table.h"
#include "simd/vector_clones.h"

namespace berth {
namespace {

constexpr size_t kBlock = 64;

// No early end: this way it compiles to vector instructions.
BERTH_VECTOR_CLONES uint32_t CountOf(uint32_t value, const uint32_t* indexes, size_t size) {
  uint32_t count = 0;
  for (size_t i = 0; i < size; ++i) count += indexes[i] == value ? 1 : 0;
  return count;
}

BERTH_VECTOR_CLONES int CountWithRoom(const int64_t* allocatable, const int64_t* requested,
                                      int64_t amount, size_t size) {
  int count = 0;
  for (size_t i = 0; i < size; ++i) count += requested[i] <= allocatable[i] - amount ? 1 : 0;
  return count;
}

}  // namespace

bool AppendRowsWithRoom(absl::Span<const int64_t> allocatable, absl::Span<const int64_t> requested,
                        int64_t amount, int most, std::vector<NodeRow>& rows) {
  const auto count_from = [&](size_t begin) {
    return CountWithRoom(allocatable.data() + begin, requested.data() + begin, amount,
                         std::min(kBlock, allocatable.size() - begin));
  };
  int count = 0;  // mostly soon too many
  for (size_t begin = 0; begin < allocatable.size(); begin += kBlock) {
    count += count_from(begin);
    if (count > most) return false;
  }
  rows.reserve(rows.size() + static_cast<size_t>(count));
  for (size_t begin = 0; begin < allocatable.size() && count > 0; begin += kBlock) {
    const int here = count_from(begin);
    if (here == 0) continue;
    count -= here;
    const size_t end = std::min(begin + kBlock, allocatable.size());
    for (size_t row = begin; row < end; ++row) {
      if (requested[row] <= allocatable[row] - amount) rows.push_back(static_cast<NodeRow>(row));
    }
  }
  return true;
}

void AppendRowsOf(absl::Span<const uint32_t> values, absl::Span<const uint32_t> indexes,
                  size_t value_count, std::vector<NodeRow>& rows) {
  if (values.empty()) return;
  if (values.size() > 1) {
    std::vector<uint8_t> is_wanted(value_count, 0);
    for (const uint32_t value : values) is_wanted[value] = 1;
    for (size_t row = 0; row < indexes.size(); ++row) {
      if (is_wanted[indexes[row]] != 0) rows.push_back(static_cast<NodeRow>(row));
    }
    return;
  }
  for (size_t begin = 0; begin < indexes.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, indexes.size());
    if (CountOf(values.front(), indexes.data() + begin, end - begin) == 0) continue;
    for (size_t row = begin; row < end; ++row) {
      if (indexes[row] == values.front()) rows.push_back(static_cast<NodeRow>(row));
    }
  }
}

}  // namespace berth
