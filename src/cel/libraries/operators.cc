// SPDX-License-Identifier: Apache-2.0
// Operators, as cel-go common/stdlib/standard.go declares them.
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cel/cost.h"
#include "cel/equality.h"
#include "cel/expr.h"
#include "cel/libraries/libraries.h"
#include "cel/numbers.h"

namespace berth::cel {
namespace {

// For operators that nodes of their own evaluate.
Value Unused(Budget&, Arguments) { return Value::NoSuchOverload(); }

Value Concatenate(Budget& budget, Value& a, const Value& b) {
  const size_t size = a.elements().size() + b.elements().size();
  auto& list = std::get<ListPointer>(a.content());
  const bool is_ours = list.use_count() == 1;
  // A list that grows in place takes no copies.
  if (!budget.AllowsElements(size, is_ours ? b.elements().size() : size)) {
    return Budget::Exceeded();
  }
  if (!is_ours) list = std::make_shared<List>(*list);
  list->elements.insert(list->elements.end(), b.elements().begin(), b.elements().end());
  list->depth = std::max(list->depth, b.depth());
  return std::move(a);
}

Value Plus(Budget& budget, Arguments a) {
  if (a[0].IsList() && a[1].IsList()) return Concatenate(budget, a[0], a[1]);
  const bool is_text = a[0].IsString() || a[0].Is<BytesValue>();
  if (is_text && a[0].kind() == a[1].kind() &&
      !budget.AllowsBytes(a[0].text().size() + a[1].text().size())) {
    return Budget::Exceeded();
  }
  return Add(a[0], a[1]);
}

Value In(Budget& budget, Arguments a) {
  if (a[1].IsList()) return Value::Bool(Contains(a[1].elements(), a[0], budget));
  if (a[1].IsMap()) return Value::Bool(a[1].map().Find(a[0]) != nullptr);
  return Value::NoSuchOverload();
}

Value Not(Budget&, Arguments a) {
  return a[0].Is<bool>() ? Value::Bool(!a[0].Get<bool>()) : Value::NoSuchOverload();
}

// A comparison whose result `holds` tells from the order, -1, 0 or 1.
Implementation Relation(bool (*holds)(int)) {
  return [holds](Budget&, Arguments a) {
    if (const std::optional<int> order = Compare(a[0], a[1])) return Value::Bool(holds(*order));
    if (IsNumber(a[0]) && IsNumber(a[1])) return Value::Error("NaN values cannot be ordered");
    return Value::NoSuchOverload();
  };
}

void AddRelation(Environment& environment, absl::string_view name, absl::string_view id,
                 const Implementation& implementation) {
  const auto add = [&](absl::string_view types, const Type& a, const Type& b) -> Overload& {
    return environment.AddOperator(name, absl::StrCat(id, "_", types), {a, b}, Type::Bool(),
                                   implementation);
  };
  const struct {
    absl::string_view name;
    Type type;
  } kNumbers[] = {{"int64", Type::Int()}, {"uint64", Type::Uint()}, {"double", Type::Double()}};
  add("bool", Type::Bool(), Type::Bool());
  for (const auto& a : kNumbers) {
    for (const auto& b : kNumbers) add(absl::StrCat(a.name, "_", b.name), a.type, b.type);
  }
  add("string", Type::String(), Type::String()).cost = TraverseShorter;
  add("bytes", Type::Bytes(), Type::Bytes()).cost = TraverseShorter;
  add("timestamp", Type::Timestamp(), Type::Timestamp());
  add("duration", Type::Duration(), Type::Duration());
}

void AddArithmetic(Environment& environment) {
  const Type i = Type::Int(), u = Type::Uint(), d = Type::Double();
  const Type duration = Type::Duration(), timestamp = Type::Timestamp();
  const Type list = Type::List(Type::Parameter(0));
  const auto add = [&](absl::string_view name, absl::string_view id, const Type& a, const Type& b,
                       const Type& result, const Implementation& implementation) -> Overload& {
    return environment.AddOperator(name, id, {a, b}, result, implementation);
  };
  add(operators::kAdd, "add_bytes", Type::Bytes(), Type::Bytes(), Type::Bytes(), Plus).cost =
      TraverseBoth;
  add(operators::kAdd, "add_double", d, d, d, Plus);
  add(operators::kAdd, "add_duration_duration", duration, duration, duration, Plus);
  add(operators::kAdd, "add_duration_timestamp", duration, timestamp, timestamp, Plus);
  add(operators::kAdd, "add_timestamp_duration", timestamp, duration, timestamp, Plus);
  add(operators::kAdd, "add_int64", i, i, i, Plus);
  add(operators::kAdd, "add_list", list, list, list, Plus);
  add(operators::kAdd, "add_string", Type::String(), Type::String(), Type::String(), Plus).cost =
      TraverseBoth;
  add(operators::kAdd, "add_uint64", u, u, u, Plus);

  const Implementation minus = [](Budget&, Arguments a) { return Subtract(a[0], a[1]); };
  add("_-_", "subtract_double", d, d, d, minus);
  add("_-_", "subtract_duration_duration", duration, duration, duration, minus);
  add("_-_", "subtract_int64", i, i, i, minus);
  add("_-_", "subtract_timestamp_duration", timestamp, duration, timestamp, minus);
  add("_-_", "subtract_timestamp_timestamp", timestamp, timestamp, duration, minus);
  add("_-_", "subtract_uint64", u, u, u, minus);

  const Implementation times = [](Budget&, Arguments a) { return Multiply(a[0], a[1]); };
  const Implementation over = [](Budget&, Arguments a) { return Divide(a[0], a[1]); };
  const Implementation modulo = [](Budget&, Arguments a) { return Modulo(a[0], a[1]); };
  const Implementation negate = [](Budget&, Arguments a) { return Negate(a[0]); };
  add("_*_", "multiply_double", d, d, d, times);
  add("_*_", "multiply_int64", i, i, i, times);
  add("_*_", "multiply_uint64", u, u, u, times);
  add("_/_", "divide_double", d, d, d, over);
  add("_/_", "divide_int64", i, i, i, over);
  add("_/_", "divide_uint64", u, u, u, over);
  add("_%_", "modulo_int64", i, i, i, modulo);
  add("_%_", "modulo_uint64", u, u, u, modulo);
  environment.AddOperator(operators::kNegate, "negate_double", {d}, d, negate);
  environment.AddOperator(operators::kNegate, "negate_int64", {i}, i, negate);
}

void AddLogic(Environment& environment) {
  const Type boolean = Type::Bool(), a = Type::Parameter(0);
  environment.AddOperator(operators::kConditional, "conditional", {boolean, a, a}, a, Unused);
  environment.AddOperator(operators::kAnd, "logical_and", {boolean, boolean}, boolean, Unused);
  environment.AddOperator(operators::kOr, "logical_or", {boolean, boolean}, boolean, Unused);
  environment.AddOperator(operators::kNot, "logical_not", {boolean}, boolean, Not);
  environment.AddOperator(operators::kNotStrictlyFalse, "not_strictly_false", {boolean}, boolean,
                          Unused);
  environment.AddOperator(operators::kEqual, "equals", {a, a}, boolean, Unused);
  environment.AddOperator(operators::kNotEqual, "not_equals", {a, a}, boolean, Unused);
}

}  // namespace

void AddOperators(Environment& environment) {
  AddLogic(environment);
  AddArithmetic(environment);
  AddRelation(environment, "_<_", "less", Relation([](int order) { return order < 0; }));
  AddRelation(environment, "_<=_", "less_equals", Relation([](int order) { return order <= 0; }));
  AddRelation(environment, "_>_", "greater", Relation([](int order) { return order > 0; }));
  AddRelation(environment, "_>=_", "greater_equals",
              Relation([](int order) { return order >= 0; }));

  const Type a = Type::Parameter(0), b = Type::Parameter(1);
  const Type list = Type::List(a), map = Type::Map(a, b);
  environment.AddOperator(operators::kIndex, "index_list", {list, Type::Int()}, a, Unused);
  environment.AddOperator(operators::kIndex, "index_map", {map, a}, b, Unused);
  environment.AddOperator(operators::kIn, "in_list", {a, list}, Type::Bool(), In).cost =
      [](absl::Span<const Value> arguments, const Value&) { return SizeOf(arguments[1]); };
  environment.AddOperator(operators::kIn, "in_map", {a, map}, Type::Bool(), In);
}

}  // namespace berth::cel
