// SPDX-License-Identifier: Apache-2.0
// cel-go ext/sets.go: lists as sets.
#include <algorithm>

#include "cel/cost.h"
#include "cel/equality.h"
#include "cel/libraries/libraries.h"

namespace berth::cel {
namespace {

bool HasAll(const Value& list, const Value& other, Budget& budget) {
  return std::all_of(other.elements().begin(), other.elements().end(), [&](const Value& element) {
    return Contains(list.elements(), element, budget);
  });
}

Value ContainsSet(Budget& budget, Arguments a) { return Value::Bool(HasAll(a[0], a[1], budget)); }

Value Equivalent(Budget& budget, Arguments a) {
  return Value::Bool(HasAll(a[0], a[1], budget) && HasAll(a[1], a[0], budget));
}

Value Intersects(Budget& budget, Arguments a) {
  const auto& elements = a[0].elements();
  return Value::Bool(std::any_of(elements.begin(), elements.end(), [&](const Value& element) {
    return Contains(a[1].elements(), element, budget);
  }));
}

uint64_t OnePass(absl::Span<const Value> a, const Value&) {
  return 1 + SizeOf(a[0]) * SizeOf(a[1]);
}
uint64_t TwoPasses(absl::Span<const Value> a, const Value&) {
  return 1 + 2 * SizeOf(a[0]) * SizeOf(a[1]);
}

}  // namespace

void AddSets(Environment& environment) {
  const Type list = Type::List(Type::Parameter(0));
  const auto add = [&](absl::string_view name, absl::string_view id, Implementation implementation,
                       CostFunction cost) {
    environment.AddFunction(name, id, {list, list}, Type::Bool(), std::move(implementation)).cost =
        cost;
  };
  add("sets.contains", "list_sets_contains_list", ContainsSet, OnePass);
  add("sets.equivalent", "list_sets_equivalent_list", Equivalent, TwoPasses);
  add("sets.intersects", "list_sets_intersects_list", Intersects, OnePass);
}

}  // namespace berth::cel
