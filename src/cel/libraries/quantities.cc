// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/quantity.go
#include "cel/libraries/quantities.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cel/cost.h"
#include "cel/libraries/libraries.h"

namespace berth::cel {
namespace {

const QuantityValue& ValueOf(const Value& value) { return *value.As<QuantityValue>(); }
const Quantity& Of(const Value& value) { return ValueOf(value).quantity(); }

// apimachinery resource.ParseQuantity, of a text that can be parsed: what its fast path reads.
std::optional<ScaledInteger> ScaledOf(absl::string_view text) {
  const auto take_digits = [&text] {
    const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const absl::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    return digits;
  };
  const bool is_negative = absl::ConsumePrefix(&text, "-");
  if (!is_negative) absl::ConsumePrefix(&text, "+");
  while (absl::ConsumePrefix(&text, "0")) {
  }
  std::string digits(take_digits());
  if (digits.empty()) digits = "0";
  const absl::string_view fraction = absl::ConsumePrefix(&text, ".") ? take_digits() : "";
  absl::StrAppend(&digits, fraction);
  const absl::string_view suffix = text;
  int64_t factor = 1, scale = 0;
  if (absl::EndsWith(suffix, "i")) {
    const int power = 1 + static_cast<int>(absl::string_view("KMGTPE").find(suffix[0]));
    if (!fraction.empty() || static_cast<int>(digits.size()) > 14 - 3 * power) return std::nullopt;
    factor = int64_t{1} << (10 * power);
  } else if (suffix.size() > 1) {
    if (!absl::SimpleAtoi(suffix.substr(1), &scale)) return std::nullopt;
  } else if (!suffix.empty()) {
    scale = 3 * (static_cast<int64_t>(absl::string_view("num kMGTPE").find(suffix[0])) - 3);
  }
  constexpr size_t kMostDigits = 18;
  scale -= static_cast<int64_t>(fraction.size());
  if (digits.size() > kMostDigits || scale < -9 || scale > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(digits, &value)) return std::nullopt;
  if (__builtin_mul_overflow(value, is_negative ? -factor : factor, &value)) return std::nullopt;
  return ScaledInteger{value, static_cast<int>(scale)};
}

// value * 10^scale
std::optional<int64_t> TimesPowerOf10(int64_t value, int scale) {
  for (; scale > 0 && value != 0; --scale) {
    if (__builtin_mul_overflow(value, int64_t{10}, &value)) return std::nullopt;
  }
  return value;
}

Value Parse(Budget&, Arguments a) {
  absl::StatusOr<Value> quantity = QuantityValue::Parse(a[0].text());
  return quantity.ok() ? *std::move(quantity) : Value::Error(quantity.status().message());
}

std::optional<int64_t> IntegerOf(const Value& value) {
  const std::optional<ScaledInteger> scaled = ValueOf(value).scaled();
  return scaled.has_value() ? scaled->AsInt() : std::nullopt;
}

Value AsInteger(Budget&, Arguments a) {
  const std::optional<int64_t> integer = IntegerOf(a[0]);
  return integer.has_value() ? Value::Int(*integer)
                             : Value::Error("cannot convert value to integer");
}

std::optional<ScaledInteger> ScaledSum(const std::optional<ScaledInteger>& a,
                                       const std::optional<ScaledInteger>& b) {
  return a.has_value() && b.has_value() ? a->Plus(*b) : std::nullopt;
}

Value Sum(const QuantityValue& a, const QuantityValue& b) {
  Quantity sum = a.quantity();
  sum.Add(b.quantity());
  return QuantityValue::Make(sum, ScaledSum(a.scaled(), b.scaled()));
}

// Upstream's least integer stays negative when its sign is changed.
Value Difference(const QuantityValue& a, const QuantityValue& b) {
  std::optional<ScaledInteger> negated = b.scaled();
  const bool stays = negated.has_value() && negated->value == std::numeric_limits<int64_t>::min();
  if (negated.has_value() && !stays) negated->value = -negated->value;
  const std::optional<ScaledInteger> scaled = ScaledSum(a.scaled(), negated);
  Quantity difference = a.quantity();
  if (stays && scaled.has_value()) {
    difference.Add(b.quantity());
  } else {
    difference.Subtract(b.quantity());
  }
  return QuantityValue::Make(difference, scaled);
}

QuantityValue FromInt(const Value& value) {
  const auto i = value.Get<int64_t>();
  return {Quantity::FromValue(i, Quantity::Format::kDecimalExponent), ScaledInteger{i, 0}};
}

}  // namespace

Value QuantityValue::Make(const Quantity& quantity) {
  return Value(Value::Content(OpaquePointer(std::make_shared<const QuantityValue>(quantity))));
}

Value QuantityValue::Make(const Quantity& quantity, std::optional<ScaledInteger> scaled) {
  return Value(
      Value::Content(OpaquePointer(std::make_shared<const QuantityValue>(quantity, scaled))));
}

absl::StatusOr<Value> QuantityValue::Parse(absl::string_view text) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
  if (!quantity.ok()) return quantity.status();
  return Make(*quantity, ScaledOf(text));
}

std::optional<ScaledInteger> QuantityValue::scaled() const {
  return is_canonical_ ? ScaledOf(quantity_.ToString()) : scaled_;
}

std::optional<int64_t> ScaledInteger::AsInt() const {
  return scale < 0 ? std::nullopt : TimesPowerOf10(value, scale);
}

std::optional<ScaledInteger> ScaledInteger::Plus(const ScaledInteger& other) const {
  if (other.value == 0) return *this;
  if (value == 0) return other;
  const int common = std::min(scale, other.scale);
  const std::optional<int64_t> a = TimesPowerOf10(value, scale - common);
  const std::optional<int64_t> b = TimesPowerOf10(other.value, other.scale - common);
  int64_t sum = 0;
  if (!a.has_value() || !b.has_value() || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return ScaledInteger{sum, common};
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
      [](Budget&, Arguments a) { return Value::Bool(IntegerOf(a[0]).has_value()); });
  add("add", "quantity_add", {quantity, quantity}, quantity,
      [](Budget&, Arguments a) { return Sum(ValueOf(a[0]), ValueOf(a[1])); });
  add("add", "quantity_add_int", {quantity, i}, quantity,
      [](Budget&, Arguments a) { return Sum(ValueOf(a[0]), FromInt(a[1])); });
  add("sub", "quantity_sub", {quantity, quantity}, quantity,
      [](Budget&, Arguments a) { return Difference(ValueOf(a[0]), ValueOf(a[1])); });
  add("sub", "quantity_sub_int", {quantity, i}, quantity,
      [](Budget&, Arguments a) { return Difference(ValueOf(a[0]), FromInt(a[1])); });
  environment.SetCost("quantity", TraverseFirst);
  environment.SetCost("isQuantity", TraverseFirst);
}

}  // namespace berth::cel
