// SPDX-License-Identifier: Apache-2.0
// What calls cost, as cel-go interpreter/runtimecost.go and apiserver pkg/cel/library/cost.go.
#ifndef BERTH_SRC_CEL_COST_H_
#define BERTH_SRC_CEL_COST_H_

#include <cstdint>

#include "absl/types/span.h"
#include "cel/value.h"

namespace berth::cel {

inline constexpr uint64_t kListCost = 10;
inline constexpr uint64_t kMapCost = 30;

// Characters, bytes, elements or entries; 1 for what has no size.
uint64_t SizeOf(const Value& value);
// A tenth of `size`, rounded up: for going over that many characters.
uint64_t TraversalCost(uint64_t size);
// For going over a value and all that is in it.
uint64_t DeepTraversalCost(const Value& value);
// A regular expression of `pattern_size` characters on `size` characters.
uint64_t RegexCost(uint64_t size, uint64_t pattern_size);

uint64_t EqualityCost(const Value& left, const Value& right);
uint64_t InequalityCost(const Value& left, const Value& right);

// For CostFunction: going once over the first argument, twice over it, over the shorter of both.
uint64_t TraverseFirst(absl::Span<const Value> arguments, const Value& result);
uint64_t TraverseFirstTwice(absl::Span<const Value> arguments, const Value& result);
uint64_t TraverseShorter(absl::Span<const Value> arguments, const Value& result);
uint64_t TraverseBoth(absl::Span<const Value> arguments, const Value& result);
uint64_t DeepTraverseFirst(absl::Span<const Value> arguments, const Value& result);
uint64_t MatchRegex(absl::Span<const Value> arguments, const Value& result);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_COST_H_
