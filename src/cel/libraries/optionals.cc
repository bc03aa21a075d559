// SPDX-License-Identifier: Apache-2.0
// Optional values. `or` and `orValue` are nodes of their own, as are `.?` and `[?]`.
#include "cel/expr.h"
#include "cel/libraries/libraries.h"

namespace berth::cel {
namespace {

Value Unused(Budget&, Arguments) { return Value::NoSuchOverload(); }

// cel-go: false, 0, "", empty lists and maps, null, none, and the zero of times. The domains of a
// device are none of these.
bool IsZero(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !value.Get<bool>();
    case Kind::kInt:
      return value.Get<int64_t>() == 0;
    case Kind::kUint:
      return value.Get<uint64_t>() == 0;
    case Kind::kDouble:
      return value.Get<double>() == 0;
    case Kind::kString:
    case Kind::kBytes:
      return value.text().empty();
    case Kind::kDuration:
      return value.Get<DurationValue>().nanoseconds == 0;
    case Kind::kTimestamp:  // Go's zero time
      return value.Get<TimestampValue>().time == absl::FromUnixSeconds(-62135596800);
    case Kind::kList:
      return value.elements().empty();
    case Kind::kMap:
      return value.map().size() == 0 && value.map().fallback() == nullptr;
    default:
      return false;
  }
}

Value OfNonZero(Budget&, Arguments a) { return IsZero(a[0]) ? Value::None() : Value::Some(a[0]); }

Value ValueOf(Budget&, Arguments a) {
  if (a[0].optional() == nullptr) return Value::Error("optional.none() dereference");
  return Value(*a[0].optional());
}

Value Unwrap(Budget& budget, Arguments a) {
  if (!budget.AllowsElements(a[0].elements().size())) return Budget::Exceeded();
  std::vector<Value> values;
  for (const Value& element : a[0].elements()) {
    if (!element.IsOptional()) return Value::Error("value is not optional");
    if (element.optional() != nullptr) values.push_back(*element.optional());
  }
  return Value::MakeList(std::move(values));
}

Value First(Budget&, Arguments a) {
  return a[0].elements().empty() ? Value::None() : Value::Some(a[0].elements().front());
}
Value Last(Budget&, Arguments a) {
  return a[0].elements().empty() ? Value::None() : Value::Some(a[0].elements().back());
}

}  // namespace

void AddOptionals(Environment& environment) {
  const Type v = Type::Parameter(0), k = Type::Parameter(1);
  const Type optional = Type::Optional(v), list = Type::List(v), map = Type::Map(k, v);
  environment.AddType(optional);
  environment.AddFunction("optional.of", "optional_of", {v}, optional,
                          [](Budget&, Arguments a) { return Value::Some(a[0]); });
  environment.AddFunction("optional.ofNonZeroValue", "optional_ofNonZeroValue", {v}, optional,
                          OfNonZero);
  environment.AddFunction("optional.none", "optional_none", {}, optional,
                          [](Budget&, Arguments) { return Value::None(); });
  environment.AddFunction("optional.unwrap", "optional_unwrap", {Type::List(optional)}, list,
                          Unwrap);
  environment.AddMember("unwrapOpt", "optional_unwrapOpt", {Type::List(optional)}, list, Unwrap);
  environment.AddMember("value", "optional_value", {optional}, v, ValueOf);
  environment.AddMember(
      "hasValue", "optional_hasValue", {optional}, Type::Bool(),
      [](Budget&, Arguments a) { return Value::Bool(a[0].optional() != nullptr); });
  environment.AddMember("or", "optional_or_optional", {optional, optional}, optional, Unused);
  environment.AddMember("orValue", "optional_orValue_value", {optional, v}, v, Unused);
  environment.AddMember("first", "list_first", {list}, optional, First);
  environment.AddMember("last", "list_last", {list}, optional, Last);

  const auto add_index = [&](absl::string_view name, absl::string_view id, const Type& container,
                             const Type& key) {
    environment.AddOperator(name, id, {container, key}, optional, Unused);
  };
  environment.AddOperator(operators::kOptionalSelect, "select_optional_field",
                          {Type::Dyn(), Type::String()}, optional, Unused);
  add_index(operators::kOptionalIndex, "list_optindex_optional_int", list, Type::Int());
  add_index(operators::kOptionalIndex, "optional_list_optindex_optional_int", Type::Optional(list),
            Type::Int());
  add_index(operators::kOptionalIndex, "map_optindex_optional_value", map, k);
  add_index(operators::kOptionalIndex, "optional_map_optindex_optional_value", Type::Optional(map),
            k);
  add_index(operators::kIndex, "optional_list_index_int", Type::Optional(list), Type::Int());
  add_index(operators::kIndex, "optional_map_index_value", Type::Optional(map), k);
}

}  // namespace berth::cel
