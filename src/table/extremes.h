// SPDX-License-Identifier: Apache-2.0
// The lowest and the highest number of a column.
#ifndef BERTH_SRC_TABLE_EXTREMES_H_
#define BERTH_SRC_TABLE_EXTREMES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace berth {

struct Extremes {
  int64_t min, max;
};

// The extremes of at least one number.
Extremes ExtremesOf(absl::Span<const int64_t> numbers);

}  // namespace berth

#endif  // BERTH_SRC_TABLE_EXTREMES_H_
