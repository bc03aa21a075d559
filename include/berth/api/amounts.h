// SPDX-License-Identifier: Apache-2.0
// Sums and shares of amounts that a user wrote: defined however large the numbers are.
#ifndef BERTH_API_AMOUNTS_H_
#define BERTH_API_AMOUNTS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

namespace berth {

// Sums stop at the ends of int64.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

inline int64_t SaturatingSubtract(int64_t a, int64_t b) {
  int64_t difference;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

// part * 100 / whole, truncated towards 0; stops at the ends of int32. `whole` is not 0.
inline int64_t PercentOf(int64_t part, int64_t whole) {
  using Limits = std::numeric_limits<int32_t>;
  constexpr int64_t kSafe = std::numeric_limits<int64_t>::max() / 100;
  if (part <= kSafe && part >= -kSafe) {
    return std::clamp<int64_t>(part * 100 / whole, Limits::min(), Limits::max());
  }
  return static_cast<int64_t>(
      std::clamp<__int128>(__int128{part} * 100 / whole, Limits::min(), Limits::max()));
}

}  // namespace berth

#endif  // BERTH_API_AMOUNTS_H_
