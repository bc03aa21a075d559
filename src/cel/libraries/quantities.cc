// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/quantity.go
#include "cel/libraries/quantities.h"

#include <memory>

#include "absl/status/statusor.h"
#include "cel/cost.h"
#include "cel/libraries/libraries.h"

namespace berth::cel {
namespace {

const Quantity& Of(const Value& value) { return value.As<QuantityValue>()->quantity(); }

Value Parse(Budget&, Arguments a) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(a[0].text());
  return quantity.ok() ? QuantityValue::Make(*quantity) : Value::Error(quantity.status().message());
}

// Whether AsInt64 of upstream gives a value: a whole number, within int64.
bool IsInteger(const Quantity& quantity) {
  const Quantity whole = Quantity::FromValue(quantity.Value());
  return whole == quantity;
}

Value AsInteger(Budget&, Arguments a) {
  if (!IsInteger(Of(a[0]))) return Value::Error("cannot convert value to integer");
  return Value::Int(Of(a[0]).Value());
}

Value Sum(const Quantity& a, const Quantity& b) {
  Quantity sum = a;
  sum.Add(b);
  return QuantityValue::Make(sum);
}

Value Difference(const Quantity& a, const Quantity& b) {
  Quantity difference = a;
  difference.Subtract(b);
  return QuantityValue::Make(difference);
}

Quantity FromInt(const Value& value) {
  return Quantity::FromValue(value.Get<int64_t>(), Quantity::Format::kDecimalExponent);
}

}  // namespace

Value QuantityValue::Make(const Quantity& quantity) {
  return Value(Value::Content(OpaquePointer(std::make_shared<const QuantityValue>(quantity))));
}

std::optional<bool> QuantityValue::Equals(const Opaque& other) const {
  const auto* quantity = dynamic_cast<const QuantityValue*>(&other);
  if (quantity == nullptr) return std::nullopt;
  return quantity_ == quantity->quantity_;
}

void AddQuantities(Environment& environment) {
  const Type quantity = Type::Struct(QuantityValue::kTypeName), i = Type::Int();
  const auto add = [&](absl::string_view name, absl::string_view id, std::vector<Type> parameters,
                       const Type& result, Implementation implementation) {
    environment.AddMember(name, id, std::move(parameters), result, std::move(implementation));
  };
  environment.AddType(quantity);
  environment.AddFunction("quantity", "string_to_quantity", {Type::String()}, quantity, Parse);
  environment.AddFunction(
      "isQuantity", "is_quantity_string", {Type::String()}, Type::Bool(),
      [](Budget&, Arguments a) { return Value::Bool(Quantity::Parse(a[0].text()).ok()); });
  environment.AddFunction("sign", "quantity_sign", {quantity}, i, [](Budget&, Arguments a) {
    return Value::Int(Of(a[0]).Compare(Quantity()));
  });
  add("isGreaterThan", "quantity_is_greater_than", {quantity, quantity}, Type::Bool(),
      [](Budget&, Arguments a) { return Value::Bool(Of(a[0]).Compare(Of(a[1])) > 0); });
  add("isLessThan", "quantity_is_less_than", {quantity, quantity}, Type::Bool(),
      [](Budget&, Arguments a) { return Value::Bool(Of(a[0]).Compare(Of(a[1])) < 0); });
  add("compareTo", "quantity_compare_to", {quantity, quantity}, i,
      [](Budget&, Arguments a) { return Value::Int(Of(a[0]).Compare(Of(a[1]))); });
  add("asApproximateFloat", "quantity_get_float", {quantity}, Type::Double(),
      [](Budget&, Arguments a) { return Value::Double(Of(a[0]).AsDouble()); });
  add("asInteger", "quantity_get_int", {quantity}, i, AsInteger);
  add("isInteger", "quantity_is_integer", {quantity}, Type::Bool(),
      [](Budget&, Arguments a) { return Value::Bool(IsInteger(Of(a[0]))); });
  add("add", "quantity_add", {quantity, quantity}, quantity,
      [](Budget&, Arguments a) { return Sum(Of(a[0]), Of(a[1])); });
  add("add", "quantity_add_int", {quantity, i}, quantity,
      [](Budget&, Arguments a) { return Sum(Of(a[0]), FromInt(a[1])); });
  add("sub", "quantity_sub", {quantity, quantity}, quantity,
      [](Budget&, Arguments a) { return Difference(Of(a[0]), Of(a[1])); });
  add("sub", "quantity_sub_int", {quantity, i}, quantity,
      [](Budget&, Arguments a) { return Difference(Of(a[0]), FromInt(a[1])); });
  environment.SetCost("quantity", TraverseFirst);
  environment.SetCost("isQuantity", TraverseFirst);
}

}  // namespace berth::cel
