// SPDX-License-Identifier: Apache-2.0
#include "cel/format_string.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cel/conversions.h"
#include "cel/numbers.h"
#include "cel/quoting.h"

namespace berth::cel {
namespace {

constexpr int kDefaultPrecision = 6;
constexpr int kMostPrecision = 255;

absl::Status Invalid(absl::string_view text) { return absl::InvalidArgumentError(text); }

absl::Status Unparsable(absl::string_view why) {
  return Invalid(absl::StrCat("could not parse formatting clause: ", why));
}

// Reads the clause that `rest` begins with, behind its %.
absl::StatusOr<FormatClause> ReadClause(absl::string_view rest, size_t* width) {
  FormatClause clause;
  size_t at = 0;
  if (rest[at] == '.') {
    const size_t begin = ++at;
    while (at < rest.size() && absl::ascii_isdigit(rest[at])) ++at;
    if (at == rest.size()) {
      return Unparsable("error while parsing precision: could not find end of precision specifier");
    }
    int precision;
    const absl::string_view digits = rest.substr(begin, at - begin);
    if (!absl::SimpleAtoi(digits, &precision) || precision > kMostPrecision) {
      return Unparsable(absl::StrCat(
          "error while parsing precision: error while converting precision to integer: ", digits));
    }
    clause.precision = precision;
  }
  clause.letter = rest[at];
  if (absl::string_view("sdfebxXo").find(clause.letter) == absl::string_view::npos) {
    return Unparsable(absl::StrCat("unrecognized formatting clause \"", rest.substr(at, 1), "\""));
  }
  *width = at + 1;
  return clause;
}

// Commas between groups of three digits before the point: %f follows the locale en_US.
std::string Grouped(std::string number) {
  const size_t begin = number[0] == '-' ? 1 : 0;
  size_t at = std::min(number.find('.'), number.size());
  while (at > begin + 3) {
    at -= 3;
    number.insert(at, 1, ',');
  }
  return number;
}

// As golang.org/x/text/message prints: 1,234.50 and 1.5×10⁰³.
std::string FormatDouble(char letter, int precision, double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "∞" : "-∞";
  if (d == 0) d = 0;  // no sign
  if (letter == 'f') return Grouped(absl::StrFormat("%.*f", precision, d));
  const std::string text = absl::StrFormat("%.*e", precision, d);
  const size_t e = text.find('e');
  static constexpr absl::string_view kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result = absl::StrCat(text.substr(0, e), "×10", text[e + 1] == '-' ? "⁻" : "");
  for (const char digit : text.substr(e + 2)) absl::StrAppend(&result, kRaised[digit - '0']);
  return result;
}

std::string InBase(uint64_t magnitude, bool negative, int base) {
  std::string digits;
  do {
    digits.push_back("0123456789abcdef"[magnitude % static_cast<uint64_t>(base)]);
    magnitude /= static_cast<uint64_t>(base);
  } while (magnitude != 0);
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string InBase(const Value& value, int base) {
  if (value.Is<bool>()) return value.Get<bool>() ? "1" : "0";
  if (value.Is<uint64_t>()) return InBase(value.Get<uint64_t>(), false, base);
  const int64_t i = value.Get<int64_t>();
  return InBase(i < 0 ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i), i < 0, base);
}

class Formatter {
 public:
  explicit Formatter(Budget& budget) : budget_(budget) {}

  absl::StatusOr<std::string> Clause(const FormatClause& clause, const Value& value) {
    const int precision = clause.precision.value_or(kDefaultPrecision);
    const bool is_named_double =
        value.IsString() &&
        (value.text() == "NaN" || value.text() == "Infinity" || value.text() == "-Infinity");
    if ((clause.letter == 'f' || clause.letter == 'e') && is_named_double) {
      return FormatDouble(clause.letter, precision, ToDouble(value).Get<double>());
    }
    absl::Status fits = CheckClause(clause.letter, value.kind(), value.type_name());
    if (!fits.ok()) return fits;
    switch (clause.letter) {
      case 's':
        return String(value);
      case 'd':
        return ToDisplay(value);
      case 'f':
      case 'e':
        return FormatDouble(clause.letter, precision, value.Get<double>());
      case 'b':
        return InBase(value, 2);
      case 'o':
        return InBase(value, 8);
      default:
        return Hex(value, clause.letter == 'X');
    }
  }

 private:
  static std::string Hex(const Value& value, bool upper) {
    const bool is_text = value.IsString() || value.Is<BytesValue>();
    std::string hex = is_text ? absl::BytesToHexString(value.text()) : InBase(value, 16);
    if (upper) absl::AsciiStrToUpper(&hex);
    return hex;
  }

  // What %s makes of a value that stands alone.
  absl::StatusOr<std::string> String(const Value& value) {
    constexpr uint64_t kSteps = 20;  // texts are made and put together
    if (!budget_.Work(kSteps)) return Invalid(Budget::Exceeded().text());
    if (value.IsList()) return FormatList(value.elements());
    if (value.IsMap()) return FormatMap(value.map());
    if (value.Is<NullValue>()) return "null";
    const Value text = ToString(value);
    if (text.IsError()) return Invalid(text.text());
    return std::string(text.text());
  }

  // And of one that is part of another.
  absl::StatusOr<std::string> Part(const Value& value) {
    absl::StatusOr<std::string> text =
        value.Is<double>() ? absl::StrFormat("%.6f", value.Get<double>()) : String(value);
    if (!text.ok()) return text;
    switch (value.kind()) {
      case Kind::kString:
        return Quote(*text);
      case Kind::kBytes:
        return absl::StrCat("b", Quote(*text));
      case Kind::kTimestamp:
        return absl::StrCat("timestamp(", Quote(*text), ")");
      case Kind::kDuration:
        return absl::StrCat("duration(", Quote(*text), ")");
      case Kind::kDouble:
        if (std::isnan(value.Get<double>())) return std::string("\"NaN\"");
        if (!std::isinf(value.Get<double>())) return text;
        return std::string(value.Get<double>() > 0 ? "\"+Inf\"" : "\"-Inf\"");
      case Kind::kOpaque:
        return Invalid(absl::StrCat("no formatting function for ", value.type_name()));
      default:
        return text;
    }
  }

  absl::StatusOr<std::string> FormatList(const std::vector<Value>& elements) {
    std::string result = "[";
    for (const Value& element : elements) {
      absl::StatusOr<std::string> text = Part(element);
      if (!text.ok()) return text;
      absl::StrAppend(&result, result.size() == 1 ? "" : ", ", *text);
      if (!budget_.AllowsBytes(result.size())) return Invalid(Budget::Exceeded().text());
    }
    return result + "]";
  }

  absl::StatusOr<std::string> FormatMap(const Map& map) {
    std::vector<std::pair<std::string, std::string>> entries;
    size_t size = 0;
    for (const Map::Entry& entry : map.entries()) {
      if (entry.key.Is<double>())
        return Invalid("no formatting function for map key of type double");
      absl::StatusOr<std::string> key = Part(entry.key);
      if (!key.ok()) return key;
      absl::StatusOr<std::string> value = Part(entry.value);
      if (!value.ok()) return value;
      size += key->size() + value->size();
      if (!budget_.AllowsBytes(size)) return Invalid(Budget::Exceeded().text());
      entries.emplace_back(*std::move(key), *std::move(value));
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return absl::StrCat("{", absl::StrJoin(entries, ", ", absl::PairFormatter(":")), "}");
  }

  Budget& budget_;
};

}  // namespace

absl::Status ReadFormat(absl::string_view format, size_t arguments,
                        const std::function<void(absl::string_view)>& text,
                        const std::function<absl::Status(const FormatClause&)>& clause) {
  size_t argument = 0;
  for (size_t at = 0; at < format.size();) {
    const size_t mark = std::min(format.find('%', at), format.size());
    if (mark > at) text(format.substr(at, mark - at));
    at = mark;
    if (at == format.size()) break;
    if (format.substr(at, 2) == "%%") {
      text("%");
      at += 2;
      continue;
    }
    if (argument >= arguments) {
      return Invalid(absl::StrCat("index ", argument, " out of range"));
    }
    if (at + 1 == format.size()) return Invalid("unexpected end of string");
    size_t width = 0;
    absl::StatusOr<FormatClause> read = ReadClause(format.substr(at + 1), &width);
    if (!read.ok()) return read.status();
    read->argument = argument++;
    const absl::Status status = clause(*read);
    if (!status.ok()) {
      return Invalid(absl::StrCat("error during formatting: ", status.message()));
    }
    at += 1 + width;
  }
  return absl::OkStatus();
}

absl::Status CheckClause(char letter, Kind kind, absl::string_view type_name) {
  const bool is_integer = kind == Kind::kInt || kind == Kind::kUint;
  const bool is_text = kind == Kind::kString || kind == Kind::kBytes;
  bool fits = false;
  absl::string_view complaint;
  switch (letter) {
    case 's':
      fits = kind >= Kind::kNull && kind <= Kind::kType;
      complaint =
          "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
          "types, "
          "durations, and timestamps, was given ";
      break;
    case 'd':
      fits = is_integer;
      complaint = "decimal clause can only be used on integers, was given ";
      break;
    case 'f':
      fits = kind == Kind::kDouble;
      complaint = "fixed-point clause can only be used on doubles, was given ";
      break;
    case 'e':
      fits = kind == Kind::kDouble;
      complaint = "scientific clause can only be used on doubles, was given ";
      break;
    case 'b':
      fits = is_integer || kind == Kind::kBool;
      complaint = "only integers and bools can be formatted as binary, was given ";
      break;
    case 'o':
      fits = is_integer;
      complaint = "octal clause can only be used on integers, was given ";
      break;
    default:
      fits = is_integer || is_text;
      complaint = "only integers, byte buffers, and strings can be formatted as hex, was given ";
  }
  return fits ? absl::OkStatus() : Invalid(absl::StrCat(complaint, type_name));
}

absl::StatusOr<std::string> Format(absl::string_view format, const std::vector<Value>& arguments,
                                   Budget& budget) {
  std::string result;
  Formatter formatter(budget);
  absl::Status status = ReadFormat(
      format, arguments.size(), [&](absl::string_view text) { absl::StrAppend(&result, text); },
      [&](const FormatClause& clause) {
        const absl::StatusOr<std::string> text =
            formatter.Clause(clause, arguments[clause.argument]);
        if (!text.ok()) return text.status();
        absl::StrAppend(&result, *text);
        return budget.AllowsBytes(result.size()) ? absl::OkStatus()
                                                 : Invalid(Budget::Exceeded().text());
      });
  if (!status.ok()) return status;
  return result;
}

}  // namespace berth::cel
