// SPDX-License-Identifier: Apache-2.0
// Times and durations: see time.h.
#include "berth/api/time.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "berth/api/meta_v1.pb.h"

namespace berth {
namespace {

absl::Status NotADuration(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a duration such as \"1h30m\" or \"500ms\""));
}

template <typename Message>
absl::Time FromSecondsAndNanos(const Message& time) {
  if (!time.has_seconds() && !time.has_nanos()) return absl::InfinitePast();
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

// The nanoseconds of a unit at the front of `text`, which it takes off.
std::optional<int64_t> ConsumeUnit(absl::string_view& text) {
  static constexpr struct {
    absl::string_view name;
    int64_t nanos;
  } kUnits[] = {
      {"ns", 1},         {"us", 1'000},        {"\u00b5s", 1'000},    {"\u03bcs", 1'000},
      {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
  };
  for (const auto& unit : kUnits) {
    if (!absl::StartsWith(text, unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return unit.nanos;
  }
  return std::nullopt;
}

// A fraction of at most nine significant places without the zeros after them: ".5", "".
std::string Fraction(int64_t numerator, int64_t denominator) {
  std::string digits;
  for (; numerator != 0; numerator %= denominator) {
    numerator *= 10;
    digits.push_back(static_cast<char>('0' + numerator / denominator));
  }
  return digits.empty() ? digits : "." + digits;
}

}  // namespace

absl::StatusOr<absl::Time> ParseTime(absl::string_view text) {
  absl::Time time;
  std::string error;
  // ParseTime skips spaces and takes "infinite-past"; RFC 3339 begins with a digit, and its T and Z
  // are capitals here as in Go.
  const bool plausible = text.size() >= 20 && absl::ascii_isdigit(text.front()) &&
                         text[10] == 'T' && (text.back() == 'Z' || text[text.size() - 3] == ':');
  const bool valid = plausible && absl::ParseTime(absl::RFC3339_full, text, &time, &error);
  // An offset may lead out of the years that have four digits.
  const auto year_of = [](absl::Time t) {
    return absl::ToCivilYear(t, absl::UTCTimeZone()).year();
  };
  if (!valid || year_of(time) < 0 || year_of(time) > 9999) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not a time such as \"2026-01-02T03:04:05Z\""));
  }
  return time;
}

std::string TimeToString(absl::Time time) {
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string MicroTimeToString(absl::Time time) {
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

absl::Time ToTime(const api::Time& time) { return FromSecondsAndNanos(time); }
absl::Time ToTime(const api::MicroTime& time) { return FromSecondsAndNanos(time); }

void SetTime(absl::Time time, api::Time* message) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  message->set_seconds(seconds);
  message->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
}

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  absl::string_view rest = text;
  const bool negative = absl::StartsWith(rest, "-");
  if (negative || absl::StartsWith(rest, "+")) rest.remove_prefix(1);
  if (rest == "0") return absl::ZeroDuration();
  if (rest.empty()) return NotADuration(text);

  const auto take_digits = [&rest] {
    size_t n = 0;
    while (n < rest.size() && absl::ascii_isdigit(rest[n])) ++n;
    const absl::string_view digits = rest.substr(0, n);
    rest.remove_prefix(n);
    return digits;
  };
  absl::int128 nanos = 0;
  while (!rest.empty()) {
    const absl::string_view whole = take_digits();
    absl::string_view fraction;
    if (absl::StartsWith(rest, ".")) {
      rest.remove_prefix(1);
      fraction = take_digits();
    }
    uint64_t number = 0;
    const bool has_number = !whole.empty() || !fraction.empty();
    if (!has_number || (!whole.empty() && !absl::SimpleAtoi(whole, &number))) {
      return NotADuration(text);
    }
    const std::optional<int64_t> unit = ConsumeUnit(rest);
    if (!unit) return NotADuration(text);
    nanos += absl::int128(number) * *unit;
    int64_t scale = *unit;
    absl::int128 part = 0;
    absl::int128 divisor = 1;
    for (const char c : fraction.substr(0, 18)) {
      part = part * 10 + (c - '0');
      divisor *= 10;
    }
    nanos += part * scale / divisor;
    if (nanos > std::numeric_limits<int64_t>::max()) return NotADuration(text);
  }
  return absl::Nanoseconds(static_cast<int64_t>(negative ? -nanos : nanos));
}

// Go's time.Duration.String: below a second in the largest unit of ns, µs, ms; else hours, minutes
// and seconds.
std::string DurationToString(absl::Duration duration) {
  if (duration < absl::ZeroDuration()) return absl::StrCat("-", DurationToString(-duration));
  const int64_t nanos = absl::ToInt64Nanoseconds(duration);
  if (nanos == 0) return "0s";
  if (nanos < 1'000) return absl::StrCat(nanos, "ns");
  if (nanos < 1'000'000)
    return absl::StrCat(nanos / 1'000, Fraction(nanos % 1'000, 1'000), "\u00b5s");
  if (nanos < 1'000'000'000) {
    return absl::StrCat(nanos / 1'000'000, Fraction(nanos % 1'000'000, 1'000'000), "ms");
  }
  const int64_t seconds = nanos / 1'000'000'000;
  std::string text =
      absl::StrCat(seconds % 60, Fraction(nanos % 1'000'000'000, 1'000'000'000), "s");
  if (seconds >= 60) text = absl::StrCat(seconds / 60 % 60, "m", text);
  if (seconds >= 3600) text = absl::StrCat(seconds / 3600, "h", text);
  return text;
}

}  // namespace berth
