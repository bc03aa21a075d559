// SPDX-License-Identifier: Apache-2.0
// Reading, arithmetic and canonical form of quantities.
#include "berth/api/quantity.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

using Format = Quantity::Format;
using absl::int128;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kNanosPerUnit = 1'000'000'000;
constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int kNanoDigits = 9;
constexpr int128 kMaxNanos = std::numeric_limits<int128>::max();
const int128 kMaxBinaryNanos = int128(kMaxInt64) * kNanosPerUnit;

// 10^n for 0 <= n <= 38.
int128 PowerOf10(int n) {
  int128 result = 1;
  while (n-- > 0) result *= 10;
  return result;
}

// The parts of a quantity's text, split as apimachinery parseQuantityString does: zeros before the
// number are dropped, and a text of zeros only is the number 0.
struct Parts {
  bool negative = false;
  absl::string_view whole, fraction, suffix;
};

bool IsSuffixLetter(char c) {
  return absl::string_view("eEinumkKMGTP").find(c) != absl::string_view::npos;
}

std::optional<Parts> Split(absl::string_view text) {
  Parts parts;
  size_t pos = 0;
  const auto skip = [&](auto predicate) {
    const size_t begin = pos;
    while (pos < text.size() && predicate(text[pos])) ++pos;
    return text.substr(begin, pos - begin);
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_sign = [](char c) { return c == '+' || c == '-'; };

  if (pos < text.size() && is_sign(text[pos])) parts.negative = text[pos++] == '-';
  skip([](char c) { return c == '0'; });
  parts.whole = skip(is_digit);
  if (pos < text.size() && text[pos] == '.') {
    ++pos;
    parts.fraction = skip(is_digit);
  }
  const size_t suffix_begin = pos;
  skip(IsSuffixLetter);
  if (pos < text.size() && is_sign(text[pos])) ++pos;
  skip(is_digit);
  if (pos < text.size()) return std::nullopt;
  parts.suffix = text.substr(suffix_begin);
  return parts;
}

struct Suffix {
  Format format;
  int64_t exponent;  // of 2 for kBinarySI, of 10 for the others
};

std::optional<Suffix> InterpretSuffix(absl::string_view text) {
  static constexpr struct {
    absl::string_view text;
    Suffix suffix;
  } kSuffixes[] = {
      {"", {Format::kDecimalSI, 0}},   {"m", {Format::kDecimalSI, -3}},
      {"Mi", {Format::kBinarySI, 20}}, {"Gi", {Format::kBinarySI, 30}},
      {"Ki", {Format::kBinarySI, 10}}, {"k", {Format::kDecimalSI, 3}},
      {"M", {Format::kDecimalSI, 6}},  {"G", {Format::kDecimalSI, 9}},
      {"T", {Format::kDecimalSI, 12}}, {"P", {Format::kDecimalSI, 15}},
      {"E", {Format::kDecimalSI, 18}}, {"Ti", {Format::kBinarySI, 40}},
      {"Pi", {Format::kBinarySI, 50}}, {"Ei", {Format::kBinarySI, 60}},
      {"n", {Format::kDecimalSI, -9}}, {"u", {Format::kDecimalSI, -6}},
  };
  for (const auto& known : kSuffixes) {
    if (known.text == text) return known.suffix;
  }
  if (text.size() > 1 && (text[0] == 'e' || text[0] == 'E')) {
    int64_t exponent;
    if (!absl::SimpleAtoi(text.substr(1), &exponent)) return std::nullopt;
    return Suffix{Format::kDecimalExponent, exponent};
  }
  return std::nullopt;
}

// digits * 10^exponent, a fraction rounded up, capped at kMaxNanos. `digits` has no zeros before.
int128 ScaleDigits(absl::string_view digits, int64_t exponent) {
  if (digits.empty()) return 0;
  const int64_t integer_digits = static_cast<int64_t>(digits.size()) + exponent;
  if (integer_digits > 38) return kMaxNanos;
  if (integer_digits < 0) return 1;
  const size_t kept = std::min<size_t>(digits.size(), integer_digits);
  int128 result = 0;
  for (const char c : digits.substr(0, kept)) result = result * 10 + (c - '0');
  if (exponent > 0) return result * PowerOf10(static_cast<int>(exponent));
  const bool rest = digits.substr(kept).find_first_not_of('0') != absl::string_view::npos;
  return result + (rest ? 1 : 0);
}

// The decimal digits of digits * 2^exponent.
std::string ShiftDigits(absl::string_view digits, int64_t exponent) {
  std::string result(digits.rbegin(), digits.rend());
  for (; exponent > 0; exponent -= 10) {  // binary suffixes are multiples of 1024
    int carry = 0;
    for (char& c : result) {
      carry += (c - '0') * 1024;
      c = static_cast<char>('0' + carry % 10);
      carry /= 10;
    }
    for (; carry > 0; carry /= 10) result.push_back(static_cast<char>('0' + carry % 10));
  }
  std::reverse(result.begin(), result.end());
  return result;
}

// Any length and any exponent.
int128 SlowNanos(const Parts& parts, const Suffix& suffix) {
  std::string digits = absl::StrCat(parts.whole, parts.fraction);
  digits.erase(0, digits.find_first_not_of('0'));  // npos: all of them
  const int64_t fraction_digits = static_cast<int64_t>(parts.fraction.size());
  if (suffix.format == Format::kBinarySI) {
    return ScaleDigits(ShiftDigits(digits, suffix.exponent), kNanoDigits - fraction_digits);
  }
  const int64_t exponent = std::clamp<int64_t>(suffix.exponent, -1'000'000'000, 1'000'000'000);
  return ScaleDigits(digits, exponent - fraction_digits + kNanoDigits);
}

// Few digits and a usual exponent, without an allocation.
std::optional<int128> FastNanos(const Parts& parts, const Suffix& suffix) {
  const int digits = static_cast<int>(parts.whole.size() + parts.fraction.size());
  if (digits > 18) return std::nullopt;
  int64_t mantissa = 0;
  for (const char c : parts.whole) mantissa = mantissa * 10 + (c - '0');
  for (const char c : parts.fraction) mantissa = mantissa * 10 + (c - '0');
  if (suffix.format == Format::kBinarySI) {
    if (!parts.fraction.empty()) return std::nullopt;
    const int128 whole = int128(mantissa) << static_cast<int>(suffix.exponent);
    return whole > kMaxInt64 ? kMaxBinaryNanos : whole * kNanosPerUnit;
  }
  if (suffix.exponent < -100 || suffix.exponent > 100) return std::nullopt;
  const int64_t exponent =
      suffix.exponent - static_cast<int64_t>(parts.fraction.size()) + kNanoDigits;
  if (exponent < 0 || exponent > 19) return std::nullopt;
  return int128(mantissa) * PowerOf10(static_cast<int>(exponent));
}

// nanos / unit, rounded away from zero, within int64.
int64_t DivideRoundingUp(int128 nanos, int64_t unit) {
  const int128 quotient = nanos / unit;
  const int128 rest = nanos % unit;
  const int128 rounded = quotient + (rest > 0 ? 1 : rest < 0 ? -1 : 0);
  if (rounded > kMaxInt64) return kMaxInt64;
  if (rounded < kMinInt64) return kMinInt64;
  return static_cast<int64_t>(rounded);
}

int128 SaturatingAdd(int128 a, int128 b) {
  if (b > 0 && a > kMaxNanos - b) return kMaxNanos;
  if (b < 0 && a < -kMaxNanos - b) return -kMaxNanos;
  return a + b;
}

std::string Decimal(int128 n) {
  if (n < 0) return absl::StrCat("-", Decimal(-n));
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(n % 10)));
    n /= 10;
  } while (n != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

absl::StatusOr<Quantity> Quantity::Parse(absl::string_view text) {
  const std::optional<Parts> parts = text.empty() ? std::nullopt : Split(text);
  if (!parts) {
    return absl::InvalidArgumentError(
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  const std::optional<Suffix> suffix = InterpretSuffix(parts->suffix);
  if (!suffix) return absl::InvalidArgumentError("unable to parse quantity's suffix");

  const std::optional<int128> fast = FastNanos(*parts, *suffix);
  int128 nanos = fast ? *fast : SlowNanos(*parts, *suffix);
  Format format = suffix->format;
  if (format == Format::kBinarySI) {
    // quantity.go: "This avoids rounding and hopefully confusion, too."
    if (nanos > 0 && nanos < kNanosPerUnit) format = Format::kDecimalSI;
    nanos = std::min(nanos, kMaxBinaryNanos);
  }
  return Quantity(parts->negative ? -nanos : nanos, format);
}

Quantity Quantity::FromValue(int64_t value, Format format) {
  return Quantity(int128(value) * kNanosPerUnit, format);
}

Quantity Quantity::FromMilliValue(int64_t milli_value, Format format) {
  return Quantity(int128(milli_value) * kNanosPerMilli, format);
}

int64_t Quantity::Value() const { return DivideRoundingUp(nanos_, kNanosPerUnit); }
int64_t Quantity::MilliValue() const { return DivideRoundingUp(nanos_, kNanosPerMilli); }
double Quantity::AsDouble() const { return static_cast<double>(nanos_) / kNanosPerUnit; }

void Quantity::Add(const Quantity& other) {
  if (IsZero()) format_ = other.format_;
  nanos_ = SaturatingAdd(nanos_, other.nanos_);
}

void Quantity::Subtract(const Quantity& other) {
  if (IsZero()) format_ = other.format_;
  nanos_ = SaturatingAdd(nanos_, -other.nanos_);
}

int Quantity::Compare(const Quantity& other) const {
  return nanos_ < other.nanos_ ? -1 : nanos_ > other.nanos_ ? 1 : 0;
}

// quantity.go CanonicalizeBytes: a binary quantity between -1024 and 1024, or with a fraction, is
// written in decimal.
std::string Quantity::ToString() const {
  if (IsZero()) return "0";
  const int128 kibi = int128(1024) * kNanosPerUnit;
  if (format_ == Format::kBinarySI && nanos_ % kNanosPerUnit == 0 &&
      (nanos_ <= -kibi || nanos_ >= kibi)) {
    static constexpr absl::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    int128 mantissa = nanos_ / kNanosPerUnit;
    int power = 0;
    while (power < 6 && mantissa % 1024 == 0) {
      mantissa /= 1024;
      ++power;
    }
    return absl::StrCat(Decimal(mantissa), kSuffixes[power]);
  }
  const bool exponent_form = format_ == Format::kDecimalExponent;
  int128 mantissa = nanos_;
  int exponent = -kNanoDigits;
  while (mantissa % 1000 == 0 && (exponent_form || exponent < 18)) {
    mantissa /= 1000;
    exponent += 3;
  }
  if (exponent == 0) return Decimal(mantissa);
  if (exponent_form) return absl::StrCat(Decimal(mantissa), "e", exponent);
  static constexpr absl::string_view kSuffixes[] = {"n", "u", "m", "",  "k",
                                                    "M", "G", "T", "P", "E"};
  return absl::StrCat(Decimal(mantissa), kSuffixes[(exponent + kNanoDigits) / 3]);
}

std::ostream& operator<<(std::ostream& out, const Quantity& q) { return out << q.ToString(); }

}  // namespace berth
