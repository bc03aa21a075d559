// SPDX-License-Identifier: Apache-2.0
// As the methods ConvertToType of cel-go common/types.
#include "cel/conversions.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "berth/api/time.h"
#include "cel/numbers.h"
#include "cel/utf8.h"

namespace berth::cel {
namespace {

Value Failure(const Value& value, absl::string_view type) {
  return Value::Error(
      absl::StrCat("type conversion error from '", value.type_name(), "' to '", type, "'"));
}

bool AllDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// Go's strconv: not a number has no sign.
bool IsNamedNumber(absl::string_view text) {
  if (absl::EqualsIgnoreCase(text, "nan")) return true;
  if (!absl::ConsumePrefix(&text, "+")) absl::ConsumePrefix(&text, "-");
  return absl::EqualsIgnoreCase(text, "inf") || absl::EqualsIgnoreCase(text, "infinity");
}

bool HasHexPrefix(absl::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return absl::StartsWithIgnoreCase(text, "0x");
}

// Go's strconv: an underscore stands behind a digit, or the prefix of a base, and before a digit.
bool UnderscoresSeparateDigits(absl::string_view text) {
  const bool is_hex = HasHexPrefix(text);
  const size_t prefix = is_hex ? absl::AsciiStrToLower(text).find('x') : absl::string_view::npos;
  const auto is_digit = [&](size_t at) {
    return at < text.size() &&
           (absl::ascii_isdigit(text[at]) || (is_hex && absl::ascii_isxdigit(text[at])));
  };
  for (size_t at = text.find('_'); at != absl::string_view::npos; at = text.find('_', at + 1)) {
    const bool is_behind_one = at > 0 && (is_digit(at - 1) || at - 1 == prefix);
    if (!is_behind_one || !is_digit(at + 1)) return false;
  }
  return true;
}

// How far east of UTC the clock was that shows `text`, which is a time: "…+02:00".
int OffsetOf(absl::string_view text) {
  if (text.size() < 6 || (text[text.size() - 6] != '+' && text[text.size() - 6] != '-')) return 0;
  const absl::string_view offset = text.substr(text.size() - 6);
  int hours = 0, minutes = 0;
  if (!absl::SimpleAtoi(offset.substr(1, 2), &hours)) return 0;
  if (!absl::SimpleAtoi(offset.substr(4, 2), &minutes)) return 0;
  const int seconds = (hours * 60 + minutes) * 60;
  return offset[0] == '-' ? -seconds : seconds;
}

}  // namespace

Value CheckTimestamp(absl::Time time, int offset_seconds) {
  constexpr int64_t kFirst = -62135596800;  // 0001-01-01T00:00:00Z
  constexpr int64_t kLast = 253402300799;   // 9999-12-31T23:59:59Z
  const int64_t seconds = absl::ToUnixSeconds(time);
  if (seconds < kFirst || seconds > kLast) return Value::Error("timestamp overflow");
  return Value::Timestamp(time, offset_seconds);
}

Value ToBool(const Value& value) {
  if (value.Is<bool>()) return value;
  if (value.IsString()) {
    for (const absl::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
      if (value.text() == yes) return Value::Bool(true);
    }
    for (const absl::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
      if (value.text() == no) return Value::Bool(false);
    }
  }
  return Failure(value, "bool");
}

Value ToInt(const Value& value) {
  constexpr absl::string_view kOverflow = "integer overflow";
  switch (value.kind()) {
    case Kind::kInt:
      return value;
    case Kind::kUint:
      if (value.Get<uint64_t>() > INT64_MAX) return Value::Error(kOverflow);
      return Value::Int(static_cast<int64_t>(value.Get<uint64_t>()));
    case Kind::kDouble: {
      const double d = value.Get<double>();
      // cel-go refuses the smallest int too.
      if (!(d > -9223372036854775808.0 && d < 9223372036854775808.0)) {
        return Value::Error(kOverflow);
      }
      return Value::Int(static_cast<int64_t>(d));
    }
    case Kind::kString: {
      int64_t i;
      const absl::string_view text = value.text();
      const bool has_sign = absl::StartsWith(text, "-") || absl::StartsWith(text, "+");
      if (AllDigits(text.substr(has_sign ? 1 : 0)) &&
          absl::SimpleAtoi(absl::StripPrefix(text, "+"), &i)) {
        return Value::Int(i);
      }
      break;
    }
    case Kind::kDuration:
      return Value::Int(value.Get<DurationValue>().nanoseconds);
    case Kind::kTimestamp:
      return Value::Int(absl::ToUnixSeconds(value.Get<TimestampValue>().time));
    default:
      break;
  }
  return Failure(value, "int");
}

Value ToUint(const Value& value) {
  constexpr absl::string_view kOverflow = "unsigned integer overflow";
  switch (value.kind()) {
    case Kind::kUint:
      return value;
    case Kind::kInt:
      if (value.Get<int64_t>() < 0) return Value::Error(kOverflow);
      return Value::Uint(static_cast<uint64_t>(value.Get<int64_t>()));
    case Kind::kDouble: {
      const double d = value.Get<double>();
      if (!(d >= 0 && d < 18446744073709551616.0)) return Value::Error(kOverflow);
      return Value::Uint(static_cast<uint64_t>(d));
    }
    case Kind::kString: {
      uint64_t u;
      if (AllDigits(value.text()) && absl::SimpleAtoi(value.text(), &u)) return Value::Uint(u);
      break;
    }
    default:
      break;
  }
  return Failure(value, "uint");
}

Value ToDouble(const Value& value) {
  switch (value.kind()) {
    case Kind::kDouble:
      return value;
    case Kind::kInt:
      return Value::Double(static_cast<double>(value.Get<int64_t>()));
    case Kind::kUint:
      return Value::Double(static_cast<double>(value.Get<uint64_t>()));
    case Kind::kString: {
      absl::string_view text = value.text();
      if (text.empty() || absl::ascii_isspace(text[0]) || absl::ascii_isspace(text.back())) break;
      std::string without_underscores;
      if (absl::StrContains(text, '_')) {
        if (!UnderscoresSeparateDigits(text)) break;
        text = without_underscores = absl::StrReplaceAll(text, {{"_", ""}});
      }
      double d;
      if (text.find_first_of("nN") != absl::string_view::npos && !IsNamedNumber(text)) break;
      if (HasHexPrefix(text) && text.find_first_of("pP") == absl::string_view::npos) break;
      if (!absl::SimpleAtod(text, &d)) break;
      // What is too large is no number; infinity has to be written out.
      if (std::isinf(d) && text.find_first_of("iI") == absl::string_view::npos) break;
      return Value::Double(d);
    }
    default:
      break;
  }
  return Failure(value, "double");
}

Value ToString(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
      return value;
    case Kind::kBytes:
      if (!IsValidUtf8(value.text())) {
        return Value::Error("invalid UTF-8 in bytes, cannot convert to string");
      }
      return Value::String(value.text());
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kType:
      return Value::String(ToDisplay(value));
    case Kind::kDouble:
      return Value::String(DoubleToString(value.Get<double>()));
    case Kind::kDuration: {
      const int64_t nanoseconds = value.Get<DurationValue>().nanoseconds;
      const int64_t whole = nanoseconds / 1'000'000'000;
      const double seconds =
          static_cast<double>(whole) + static_cast<double>(nanoseconds % 1'000'000'000) / 1e9;
      return Value::String(absl::StrCat(DoubleToDecimal(seconds), "s"));
    }
    case Kind::kTimestamp: {
      const auto& [time, offset] = value.Get<TimestampValue>();
      const absl::TimeZone zone = absl::FixedTimeZone(offset);
      return Value::String(absl::FormatTime(
          offset == 0 ? "%E4Y-%m-%d%ET%H:%M:%E*SZ" : "%E4Y-%m-%d%ET%H:%M:%E*S%Ez", time, zone));
    }
    default:
      return Failure(value, "string");
  }
}

Value ToBytes(const Value& value) {
  if (value.Is<BytesValue>()) return value;
  if (value.IsString()) return Value::Bytes(value.text());
  return Failure(value, "bytes");
}

Value ToDuration(const Value& value) {
  if (value.Is<DurationValue>()) return value;
  if (value.IsString()) {
    const absl::StatusOr<absl::Duration> duration = ParseDuration(value.text());
    if (duration.ok()) return Value::Duration(absl::ToInt64Nanoseconds(*duration));
  }
  return Failure(value, "google.protobuf.Duration");
}

Value ToTimestamp(const Value& value) {
  if (value.Is<TimestampValue>()) return value;
  if (value.Is<int64_t>()) return CheckTimestamp(absl::FromUnixSeconds(value.Get<int64_t>()), 0);
  if (value.IsString()) {
    const absl::StatusOr<absl::Time> time = ParseTime(value.text());
    if (time.ok()) return CheckTimestamp(*time, OffsetOf(value.text()));
  }
  return Failure(value, "google.protobuf.Timestamp");
}

}  // namespace berth::cel
