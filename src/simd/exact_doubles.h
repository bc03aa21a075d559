// SPDX-License-Identifier: Apache-2.0
// Whole numbers as doubles, so that loops over columns compile to vector instructions where those
// for integers are missing, above all division. Compile with -ffp-contract=off.
#ifndef BERTH_SRC_SIMD_EXACT_DOUBLES_H_
#define BERTH_SRC_SIMD_EXACT_DOUBLES_H_

#include <bit>
#include <cstdint>

namespace berth {

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

}  // namespace berth

#endif  // BERTH_SRC_SIMD_EXACT_DOUBLES_H_
