// SPDX-License-Identifier: Apache-2.0
// ShortagesOf() of capacity_beside_nominated.h: one pass over columns for each thing that is
// needed.
#include "framework/capacity_beside_nominated.h"

#include <algorithm>

#include "simd/vector_clones.h"

namespace berth {
namespace {

constexpr size_t kBlock = 128;
using Amounts = int64_t[kBlock];

// In the low bits what is short, as ShortageOf() says it of each row; kUntold is a bit too.
struct BlockShortages {
  size_t size;
  uint64_t bits[kBlock];
};

// Whether there is no room for one more pod: bit 0.
BERTH_VECTOR_CLONES void FindFullRows(const int64_t* pods, const int64_t* allowed,
                                      const int64_t* nominated, uint64_t untold,
                                      BlockShortages& shortages) {
  for (size_t i = 0; i < shortages.size; ++i) {
    const uint64_t full = pods[i] + nominated[i] >= allowed[i] ? 1 : 0;
    shortages.bits[i] = allowed[i] <= 0 ? untold : full;
  }
}

// Only sums of amounts with none of `overflow_bits` cannot overflow.
BERTH_VECTOR_CLONES void AddShortages(const int64_t* allocatable, const int64_t* requested,
                                      const int64_t* nominated, int64_t amount,
                                      int64_t overflow_bits, uint64_t bit, uint64_t untold,
                                      BlockShortages& shortages) {
  for (size_t i = 0; i < shortages.size; ++i) {
    const int64_t has = allocatable[i], used = requested[i], taken = nominated[i];
    const uint64_t wanted = static_cast<uint64_t>(used) + static_cast<uint64_t>(taken) +
                            static_cast<uint64_t>(amount);  // without overflow_bits less than 2^63
    const uint64_t shortage = static_cast<int64_t>(wanted) > has ? bit : 0;
    const bool tells = ((amount | has | used | taken) & overflow_bits) == 0 && amount <= has;
    shortages.bits[i] |= tells ? shortage : untold;
  }
}

// values[i] becomes that of the i-th slot.
template <class T>
inline void GatherAll(const T* column, const int32_t* slots, size_t size, int64_t* values) {
  for (size_t i = 0; i < size; ++i) values[i] = column[slots[i]];
}
BERTH_VECTOR_CLONES void Gather(const int64_t* column, const int32_t* slots, size_t size,
                                int64_t* values) {
  GatherAll(column, slots, size, values);
}
BERTH_VECTOR_CLONES void Gather(const int32_t* column, const int32_t* slots, size_t size,
                                int64_t* values) {
  GatherAll(column, slots, size, values);
}

// The values of some rows side by side: where they stand, if the rows do too.
class RowValues {
 public:
  explicit RowValues(absl::Span<const NodeRow> rows)
      : rows_(rows), consecutive_(AreConsecutive(rows)) {}

  const int64_t* Of(const int64_t* column, Amounts& copy) const {
    if (consecutive_) return column + rows_.front();
    Gather(column, rows_.data(), rows_.size(), copy);
    return copy;
  }

 private:
  const absl::Span<const NodeRow> rows_;
  const bool consecutive_;
};

}  // namespace

void CapacityBesideNominated::ShortagesOf(absl::Span<const NodeRow> rows,
                                          const NominatedRows& nominated,
                                          absl::Span<uint32_t> shortages) const {
  for (size_t from = 0; from < rows.size(); from += kBlock) {
    ShortagesOfBlock(rows.subspan(from, kBlock), nominated, shortages.subspan(from, kBlock));
  }
}

void CapacityBesideNominated::ShortagesOfBlock(absl::Span<const NodeRow> rows,
                                               const NominatedRows& nominated,
                                               absl::Span<uint32_t> shortages) const {
  const RowValues values(rows);
  BlockShortages found;
  found.size = rows.size();
  Amounts copy, other_copy, taken;
  int32_t slots[kBlock];
  for (size_t i = 0; i < rows.size(); ++i) slots[i] = nominated.slot(rows[i]);
  Gather(nominated.pod_count().data(), slots, rows.size(), taken);
  FindFullRows(values.Of(pod_count_, copy), values.Of(allowed_pods_, other_copy), taken, kUntold,
               found);
  uint64_t bit = 1;
  for (const Need& need : needs_) {
    bit <<= 1;
    if (need.resource >= kCommonResources) {
      for (size_t i = 0; i < rows.size(); ++i) {
        taken[i] = nominated.at(rows[i]).requests.Get(need.resource);
      }
    } else if (const auto column = nominated.requests(need.resource); !column.empty()) {
      Gather(column.data(), slots, rows.size(), taken);
    } else {
      std::fill_n(taken, rows.size(), 0);
    }
    AddShortages(values.Of(need.allocatable, copy), values.Of(need.requested, other_copy), taken,
                 need.amount, kOverflowBits, bit, kUntold, found);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    shortages[i] = (found.bits[i] & kUntold) != 0 ? 0 : static_cast<uint32_t>(found.bits[i]);
  }
}

}  // namespace berth
