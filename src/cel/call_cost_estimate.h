// SPDX-License-Identifier: Apache-2.0
// What calls of functions may cost at most, for cost_estimate.h.
#ifndef BERTH_SRC_CEL_CALL_COST_ESTIMATE_H_
#define BERTH_SRC_CEL_CALL_COST_ESTIMATE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "cel/expr.h"

namespace berth::cel {

// Numbers that stop at the largest one, which stands for a cost or size that nobody knows.
inline constexpr uint64_t kUnknownCost = std::numeric_limits<uint64_t>::max();
inline uint64_t AddCost(uint64_t a, uint64_t b) {
  return a > kUnknownCost - b ? kUnknownCost : a + b;
}
inline uint64_t MultiplyCost(uint64_t a, uint64_t b) {
  return b != 0 && a > kUnknownCost / b ? kUnknownCost : a * b;
}

// How long a string, a list or a map can be; 1 for scalars.
struct SizeRange {
  uint64_t min = 0, max = kUnknownCost;

  static SizeRange Exactly(uint64_t size) { return {size, size}; }
  SizeRange Union(const SizeRange& other) const {
    return {std::min(min, other.min), std::max(max, other.max)};
  }
};

struct CallSizes {
  SizeRange target;                  // of a member
  std::optional<SizeRange> element;  // of a target with elements
  std::vector<SizeRange> arguments;  // without the target
};
struct CallEstimate {
  uint64_t cost = 1;  // without what the target and the arguments cost
  std::optional<SizeRange> result;
};

// The call of that overload. `&&`, `||` and `?:` are no calls here.
CallEstimate EstimateCall(const Expr& call, absl::string_view overload, const CallSizes& sizes);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_CALL_COST_ESTIMATE_H_
