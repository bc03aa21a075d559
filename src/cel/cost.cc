// SPDX-License-Identifier: Apache-2.0
#include "cel/cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cel/utf8.h"

namespace berth::cel {
namespace {

uint64_t RoundUp(double cost) { return static_cast<uint64_t>(std::ceil(cost)); }

// Elements may be shared so often that going over all of them has no end; what costs more than
// anything may is enough.
constexpr int kMostSteps = 1'000'000;
constexpr uint64_t kTooMuch = uint64_t{1} << 60;

// library/cost.go traversalCost rounds each string down.
uint64_t DeepTraversalCost(const Value& value, int& steps) {
  if (++steps > kMostSteps) return kTooMuch;
  uint64_t cost = 0;
  const auto add = [&](const Value& part) {
    if (cost < kTooMuch) cost += DeepTraversalCost(part, steps);
  };
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kBytes:
      return static_cast<uint64_t>(static_cast<double>(value.text().size()) * 0.1);
    case Kind::kList:
      for (const Value& element : value.elements()) add(element);
      return cost;
    case Kind::kMap:
      for (const Map::Entry& entry : value.map().entries()) {
        add(entry.key);
        add(entry.value);
      }
      return cost;
    default:
      return 1;
  }
}

// The smaller size. A long string is not counted if it cannot be the smaller one.
uint64_t SmallerSize(const Value& a, const Value& b) {
  constexpr size_t kLong = 256;
  for (const auto& [one, other] : {std::pair<const Value&, const Value&>(a, b), {b, a}}) {
    if (!other.IsString() || other.text().size() < kLong) continue;
    const uint64_t at_least = other.text().size() / 4;
    if (one.IsString() ? one.text().size() <= at_least : SizeOf(one) <= at_least) {
      return SizeOf(one);
    }
  }
  return std::min(SizeOf(a), SizeOf(b));
}

}  // namespace

uint64_t SizeOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
      return CountRunes(value.text());
    case Kind::kBytes:
      return value.text().size();
    case Kind::kList:
      return value.elements().size();
    case Kind::kMap:
      return value.map().size();
    case Kind::kOpaque:
      if (!value.IsOptional()) return value.Get<OpaquePointer>()->size();
      return value.optional() ? SizeOf(*value.optional()) : 1;
    default:
      return 1;
  }
}

uint64_t TraversalCost(uint64_t size) { return RoundUp(static_cast<double>(size) * 0.1); }

uint64_t DeepTraversalCost(const Value& value) {
  int steps = 0;
  return DeepTraversalCost(value, steps);
}

uint64_t RegexCost(uint64_t size, uint64_t pattern_size) {
  return RoundUp((1.0 + static_cast<double>(size)) * 0.1) *
         RoundUp(static_cast<double>(pattern_size) * 0.25);
}

uint64_t EqualityCost(const Value& left, const Value& right) {
  return left.Is<OpaquePointer>() ? 1 : InequalityCost(left, right);
}

uint64_t InequalityCost(const Value& left, const Value& right) {
  return TraversalCost(SmallerSize(left, right));
}

uint64_t TraverseFirst(absl::Span<const Value> arguments, const Value&) {
  return TraversalCost(SizeOf(arguments[0]));
}

uint64_t TraverseFirstTwice(absl::Span<const Value> arguments, const Value&) {
  return RoundUp(static_cast<double>(SizeOf(arguments[0])) * 2 * 0.1);
}

uint64_t TraverseShorter(absl::Span<const Value> arguments, const Value&) {
  return TraversalCost(SmallerSize(arguments[0], arguments[1]));
}

uint64_t TraverseBoth(absl::Span<const Value> arguments, const Value&) {
  return TraversalCost(SizeOf(arguments[0]) + SizeOf(arguments[1]));
}

uint64_t DeepTraverseFirst(absl::Span<const Value> arguments, const Value&) {
  return DeepTraversalCost(arguments[0]);
}

uint64_t MatchRegex(absl::Span<const Value> arguments, const Value&) {
  return RegexCost(SizeOf(arguments[0]), SizeOf(arguments[1]));
}

}  // namespace berth::cel
