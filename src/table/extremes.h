// SPDX-License-Identifier: Apache-2.0
// The lowest and the highest number of a column.
#ifndef BERTH_SRC_TABLE_EXTREMES_H_
#define BERTH_SRC_TABLE_EXTREMES_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace berth {

struct Extremes {
  int64_t min, max;
};

// The extremes of at least one number.
Extremes ExtremesOf(absl::Span<const int64_t> numbers);

// The lowest of at least one number.
int32_t MinOf(absl::Span<const int32_t> numbers);

// maxima[i] becomes the maximum of the i-th `length` numbers; the last may be of fewer. There are
// as many maxima as that makes.
void FindMaxima(absl::Span<const int64_t> numbers, size_t length, absl::Span<int64_t> maxima);

}  // namespace berth

#endif  // BERTH_SRC_TABLE_EXTREMES_H_
