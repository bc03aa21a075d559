// SPDX-License-Identifier: Apache-2.0
#include "cel/value.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace berth::cel {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

std::shared_ptr<const std::string> Share(absl::string_view text) {
  return std::make_shared<const std::string>(text);
}

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

Value TooDeep() { return Value::Error("value is nested too deeply"); }

// As cel-go, which compares as doubles: numbers near 2^63 and 2^64 round to these.
std::optional<int> CompareIntDouble(int64_t i, double d) {
  if (std::isnan(d)) return std::nullopt;
  if (d > kTwoTo63) return -1;
  if (d < -kTwoTo63) return 1;
  return Order(static_cast<double>(i), d);
}

std::optional<int> CompareUintDouble(uint64_t u, double d) {
  if (std::isnan(d)) return std::nullopt;
  if (d > kTwoTo64) return -1;
  if (d < 0) return 1;
  return Order(static_cast<double>(u), d);
}

int CompareIntUint(int64_t i, uint64_t u) {
  return i < 0 ? -1 : Order(static_cast<uint64_t>(i), u);
}

std::optional<int> Negated(std::optional<int> order) {
  if (order) order = -*order;
  return order;
}

}  // namespace

Value Value::String(absl::string_view text) { return Value(Content(Share(text))); }
Value Value::Bytes(absl::string_view text) { return Value(BytesValue{Share(text)}); }
Value Value::TypeNamed(absl::string_view name) { return Value(TypeValue{Share(name)}); }
Value Value::Error(absl::string_view text) { return Value(ErrorValue{Share(text)}); }

Value Value::MakeList(std::vector<Value> elements) {
  int depth = 0;
  for (const Value& element : elements) depth = std::max(depth, element.depth());
  if (depth >= kMaxValueDepth) return TooDeep();
  return Value(Content(std::make_shared<List>(List{std::move(elements), depth + 1})));
}

Value Value::MakeMap(Map map) {
  if (map.depth() > kMaxValueDepth) return TooDeep();
  return Value(Content(std::make_shared<Map>(std::move(map))));
}

Value Value::Some(Value value) {
  if (value.depth() >= kMaxValueDepth) return TooDeep();
  return Value(OptionalValue{std::make_shared<const Value>(std::move(value))});
}

Kind Value::kind() const {
  static constexpr Kind kKinds[] = {Kind::kNull,      Kind::kBool,   Kind::kInt,   Kind::kUint,
                                    Kind::kDouble,    Kind::kString, Kind::kBytes, Kind::kDuration,
                                    Kind::kTimestamp, Kind::kList,   Kind::kMap,   Kind::kType,
                                    Kind::kOpaque,    Kind::kOpaque, Kind::kError};
  return kKinds[content_.index()];
}

absl::string_view Value::text() const {
  if (Is<BytesValue>()) return *Get<BytesValue>().text;
  if (Is<TypeValue>()) return *Get<TypeValue>().name;
  if (Is<ErrorValue>()) return *Get<ErrorValue>().text;
  return *Get<std::shared_ptr<const std::string>>();
}

absl::string_view Value::type_name() const {
  if (Is<OpaquePointer>()) return Get<OpaquePointer>()->type_name();
  if (IsOptional()) return "optional_type";
  if (IsList()) return "list";
  if (IsMap()) return "map";
  if (Is<TypeValue>()) return "type";
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> result;
    for (int i = 0; i <= static_cast<int>(Kind::kTimestamp); ++i) {
      result.push_back(Type::Simple(static_cast<Kind>(i)).name());
    }
    return result;
  }());
  return names[static_cast<size_t>(kind())];
}

int Value::depth() const {
  if (IsList()) return Get<ListPointer>()->depth;
  if (IsMap()) return map().depth();
  if (IsOptional()) return optional() ? optional()->depth() + 1 : 1;
  return 0;
}

std::optional<Map::Key> Map::KeyOf(const Value& value) {
  if (value.IsString()) return Key(std::string(value.text()));
  if (value.Is<bool>()) return Key(value.Get<bool>());
  if (value.Is<int64_t>()) return Key(value.Get<int64_t>());
  if (value.Is<uint64_t>()) {
    const uint64_t u = value.Get<uint64_t>();
    if (u <= INT64_MAX) return Key(static_cast<int64_t>(u));
    return Key(u);
  }
  if (value.Is<double>()) {
    const double d = value.Get<double>();
    if (d == std::trunc(d) && d >= -kTwoTo63 && d < kTwoTo63) return Key(static_cast<int64_t>(d));
    if (d == std::trunc(d) && d >= 0 && d < kTwoTo64) return Key(static_cast<uint64_t>(d));
    return Key(d);
  }
  if (value.Is<NullValue>()) return Key(std::monostate());
  const auto which = [](const void* one) { return reinterpret_cast<intptr_t>(one); };
  OtherKey other{value.kind()};
  if (value.Is<DurationValue>()) {
    other.first = value.Get<DurationValue>().nanoseconds;
  } else if (value.Is<TimestampValue>()) {
    const auto& timestamp = value.Get<TimestampValue>();
    other.text = absl::FormatTime(absl::RFC3339_full, timestamp.time, absl::UTCTimeZone());
    other.first = timestamp.offset_seconds;
  } else if (value.Is<TypeValue>()) {
    other.text = *value.Get<TypeValue>().name;
  } else if (value.IsList()) {
    other.first = which(value.Get<ListPointer>().get());
  } else if (value.IsMap()) {
    other.first = which(&value.map());
  } else {
    return std::nullopt;
  }
  return Key(std::move(other));
}

bool Map::Set(const Value& key, Value value) {
  std::optional<Key> k = KeyOf(key);
  if (!k) return false;
  depth_ = std::max(depth_, value.depth() + 1);
  const auto [found, is_new] = index_.try_emplace(*std::move(k), entries_.size());
  if (is_new) {
    entries_.push_back({key, std::move(value)});
  } else {
    entries_[found->second].value = std::move(value);
  }
  return true;
}

const Value* Map::Find(const Value& key) const {
  const std::optional<Key> k = KeyOf(key);
  if (!k) return nullptr;
  const auto found = index_.find(*k);
  return found == index_.end() ? nullptr : &entries_[found->second].value;
}

void Map::set_fallback(Value fallback) {
  fallback_ = std::make_shared<const Value>(std::move(fallback));
}

bool IsNumber(const Value& value) {
  return value.Is<int64_t>() || value.Is<uint64_t>() || value.Is<double>();
}

std::optional<int> CompareNumbers(const Value& a, const Value& b) {
  if (a.Is<int64_t>()) {
    const int64_t i = a.Get<int64_t>();
    if (b.Is<int64_t>()) return Order(i, b.Get<int64_t>());
    if (b.Is<uint64_t>()) return CompareIntUint(i, b.Get<uint64_t>());
    return CompareIntDouble(i, b.Get<double>());
  }
  if (a.Is<uint64_t>()) {
    const uint64_t u = a.Get<uint64_t>();
    if (b.Is<uint64_t>()) return Order(u, b.Get<uint64_t>());
    if (b.Is<int64_t>()) return -CompareIntUint(b.Get<int64_t>(), u);
    return CompareUintDouble(u, b.Get<double>());
  }
  if (!b.Is<double>()) return Negated(CompareNumbers(b, a));
  const double x = a.Get<double>(), y = b.Get<double>();
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return Order(x, y);
}

bool HasOrder(const Value& value) {
  const Kind kind = value.kind();
  return kind >= Kind::kBool && kind <= Kind::kTimestamp;
}

std::optional<int> Compare(const Value& a, const Value& b) {
  if (IsNumber(a) && IsNumber(b)) return CompareNumbers(a, b);
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case Kind::kBool:
      return Order(a.Get<bool>(), b.Get<bool>());
    case Kind::kString:
    case Kind::kBytes:
      return Order(a.text(), b.text());
    case Kind::kDuration:
      return Order(a.Get<DurationValue>().nanoseconds, b.Get<DurationValue>().nanoseconds);
    case Kind::kTimestamp:
      return Order(a.Get<TimestampValue>().time, b.Get<TimestampValue>().time);
    default:
      return std::nullopt;
  }
}

std::string ToDisplay(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return std::string(value.text());
    case Kind::kBool:
      return value.Get<bool>() ? "true" : "false";
    case Kind::kInt:
      return absl::StrCat(value.Get<int64_t>());
    case Kind::kUint:
      return absl::StrCat(value.Get<uint64_t>());
    case Kind::kDouble:
      return absl::StrCat(value.Get<double>());
    default:
      return std::string(value.type_name());
  }
}

}  // namespace berth::cel
