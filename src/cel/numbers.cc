// SPDX-License-Identifier: Apache-2.0
#include "cel/numbers.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cel/conversions.h"

namespace berth::cel {
namespace {

constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();

Value IntOverflow() { return Value::Error("integer overflow"); }
Value UintOverflow() { return Value::Error("unsigned integer overflow"); }

Value IntOr(bool overflow, int64_t i) { return overflow ? IntOverflow() : Value::Int(i); }
Value UintOr(bool overflow, uint64_t u) { return overflow ? UintOverflow() : Value::Uint(u); }

int64_t Nanoseconds(const Value& duration) { return duration.Get<DurationValue>().nanoseconds; }

// A time that many nanoseconds later.
Value Shift(const Value& timestamp, absl::int128 nanoseconds) {
  const TimestampValue& from = timestamp.Get<TimestampValue>();
  const absl::Duration by = absl::Seconds(static_cast<int64_t>(nanoseconds / 1'000'000'000)) +
                            absl::Nanoseconds(static_cast<int64_t>(nanoseconds % 1'000'000'000));
  return CheckTimestamp(from.time + by, from.offset_seconds);
}

Value Difference(const Value& a, const Value& b) {
  const absl::Duration between = a.Get<TimestampValue>().time - b.Get<TimestampValue>().time;
  if (between > absl::Nanoseconds(INT64_MAX) || between < absl::Nanoseconds(kMinInt64)) {
    return IntOverflow();
  }
  return Value::Duration(absl::ToInt64Nanoseconds(between));
}

// Shortest digits that read back as `d`, "d.ddde±xx", of a finite number.
std::string Scientific(double d) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), d, std::chars_format::scientific);
  return std::string(buffer, end.ptr);
}

}  // namespace

Value Add(const Value& a, const Value& b) {
  const bool same = a.kind() == b.kind();
  switch (a.kind()) {
    case Kind::kInt: {
      int64_t sum;
      if (!same) break;
      const bool overflow = __builtin_add_overflow(a.Get<int64_t>(), b.Get<int64_t>(), &sum);
      return IntOr(overflow, sum);
    }
    case Kind::kUint: {
      uint64_t sum;
      if (!same) break;
      const bool overflow = __builtin_add_overflow(a.Get<uint64_t>(), b.Get<uint64_t>(), &sum);
      return UintOr(overflow, sum);
    }
    case Kind::kDouble:
      if (same) return Value::Double(a.Get<double>() + b.Get<double>());
      break;
    case Kind::kString:
      if (same) return Value::String(absl::StrCat(a.text(), b.text()));
      break;
    case Kind::kBytes:
      if (same) return Value::Bytes(absl::StrCat(a.text(), b.text()));
      break;
    case Kind::kDuration: {
      int64_t sum;
      if (b.kind() == Kind::kTimestamp) return Shift(b, Nanoseconds(a));
      if (!same) break;
      if (__builtin_add_overflow(Nanoseconds(a), Nanoseconds(b), &sum)) return IntOverflow();
      return Value::Duration(sum);
    }
    case Kind::kTimestamp:
      if (b.kind() == Kind::kDuration) return Shift(a, Nanoseconds(b));
      break;
    default:
      break;
  }
  return Value::NoSuchOverload();
}

Value Subtract(const Value& a, const Value& b) {
  if (a.kind() == Kind::kTimestamp && b.kind() == Kind::kDuration) {
    return Shift(a, -absl::int128(Nanoseconds(b)));
  }
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  switch (a.kind()) {
    case Kind::kInt: {
      int64_t difference;
      const bool overflow = __builtin_sub_overflow(a.Get<int64_t>(), b.Get<int64_t>(), &difference);
      return IntOr(overflow, difference);
    }
    case Kind::kUint: {
      uint64_t difference;
      const bool overflow =
          __builtin_sub_overflow(a.Get<uint64_t>(), b.Get<uint64_t>(), &difference);
      return UintOr(overflow, difference);
    }
    case Kind::kDouble:
      return Value::Double(a.Get<double>() - b.Get<double>());
    case Kind::kDuration: {
      int64_t difference;
      if (__builtin_sub_overflow(Nanoseconds(a), Nanoseconds(b), &difference)) {
        return IntOverflow();
      }
      return Value::Duration(difference);
    }
    case Kind::kTimestamp:
      return Difference(a, b);
    default:
      return Value::NoSuchOverload();
  }
}

Value Multiply(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  switch (a.kind()) {
    case Kind::kInt: {
      int64_t product;
      const bool overflow = __builtin_mul_overflow(a.Get<int64_t>(), b.Get<int64_t>(), &product);
      return IntOr(overflow, product);
    }
    case Kind::kUint: {
      uint64_t product;
      const bool overflow = __builtin_mul_overflow(a.Get<uint64_t>(), b.Get<uint64_t>(), &product);
      return UintOr(overflow, product);
    }
    case Kind::kDouble:
      return Value::Double(a.Get<double>() * b.Get<double>());
    default:
      return Value::NoSuchOverload();
  }
}

Value Divide(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  switch (a.kind()) {
    case Kind::kInt:
      if (b.Get<int64_t>() == 0) return Value::Error("division by zero");
      if (a.Get<int64_t>() == kMinInt64 && b.Get<int64_t>() == -1) return IntOverflow();
      return Value::Int(a.Get<int64_t>() / b.Get<int64_t>());
    case Kind::kUint:
      if (b.Get<uint64_t>() == 0) return Value::Error("division by zero");
      return Value::Uint(a.Get<uint64_t>() / b.Get<uint64_t>());
    case Kind::kDouble: {
      const double x = a.Get<double>(), y = b.Get<double>();
      if (y != 0) return Value::Double(x / y);
      // As IEEE 754 has it; C++ leaves it open.
      if (x == 0 || std::isnan(x)) return Value::Double(std::numeric_limits<double>::quiet_NaN());
      const double infinity = std::numeric_limits<double>::infinity();
      return Value::Double(std::signbit(x) == std::signbit(y) ? infinity : -infinity);
    }
    default:
      return Value::NoSuchOverload();
  }
}

Value Modulo(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  if (a.kind() == Kind::kInt) {
    if (b.Get<int64_t>() == 0) return Value::Error("modulus by zero");
    if (a.Get<int64_t>() == kMinInt64 && b.Get<int64_t>() == -1) return IntOverflow();
    return Value::Int(a.Get<int64_t>() % b.Get<int64_t>());
  }
  if (a.kind() == Kind::kUint) {
    if (b.Get<uint64_t>() == 0) return Value::Error("modulus by zero");
    return Value::Uint(a.Get<uint64_t>() % b.Get<uint64_t>());
  }
  return Value::NoSuchOverload();
}

Value Negate(const Value& a) {
  if (a.kind() == Kind::kDouble) return Value::Double(-a.Get<double>());
  if (a.kind() == Kind::kInt || a.kind() == Kind::kDuration) {
    const int64_t i = a.kind() == Kind::kInt ? a.Get<int64_t>() : Nanoseconds(a);
    if (i == kMinInt64) return IntOverflow();
    return a.kind() == Kind::kInt ? Value::Int(-i) : Value::Duration(-i);
  }
  return Value::NoSuchOverload();
}

// strconv.FormatFloat: an exponent is written if it is below -4 or, as for %g with the fewest
// digits, 6 or more.
std::string DoubleToString(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "+Inf" : "-Inf";
  std::string text = Scientific(d);
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(),
                  exponent);
  return exponent < -4 || exponent >= 6 ? text : DoubleToDecimal(d);
}

std::string DoubleToDecimal(double d) {
  char buffer[400];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), d, std::chars_format::fixed);
  return std::string(buffer, end.ptr);
}

}  // namespace berth::cel
