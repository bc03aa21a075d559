// SPDX-License-Identifier: Apache-2.0
// cel-go ext/strings.go, version 2. Positions count characters.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cel/cost.h"
#include "cel/format_string.h"
#include "cel/libraries/libraries.h"
#include "cel/quoting.h"
#include "cel/utf8.h"

namespace berth::cel {
namespace {

using Runes = std::vector<char32_t>;

Value OutOfRange(int64_t index) {
  return Value::Error(absl::StrCat("index out of range: ", index));
}

std::string ToText(Runes::const_iterator begin, Runes::const_iterator end) {
  std::string text;
  for (; begin != end; ++begin) AppendRune(*begin, &text);
  return text;
}

Value CharAt(Budget& budget, Arguments a) {
  if (!budget.WorkOnRunes(a[0].text().size())) return Budget::Exceeded();
  const Runes runes = DecodeRunes(a[0].text());
  const int64_t index = a[1].Get<int64_t>(), size = static_cast<int64_t>(runes.size());
  if (index < 0 || index > size) return OutOfRange(index);
  if (index == size) return Value::String("");
  return Value::String(ToText(runes.begin() + index, runes.begin() + index + 1));
}

Value IndexOf(Budget& budget, Arguments a) {
  const int64_t offset = a.size() == 3 ? a[2].Get<int64_t>() : 0;
  if (a[1].text().empty()) return Value::Int(offset);
  if (offset < 0) return OutOfRange(offset);
  if (!budget.WorkOnRunes(a[0].text().size() + a[1].text().size())) return Budget::Exceeded();
  const Runes runes = DecodeRunes(a[0].text()), part = DecodeRunes(a[1].text());
  if (!budget.WorkOnSearch(runes.size(), part.size())) return Budget::Exceeded();
  if (offset >= static_cast<int64_t>(runes.size())) return Value::Int(-1);
  const auto found = std::search(runes.begin() + offset, runes.end(), part.begin(), part.end());
  return Value::Int(found == runes.end() ? -1 : found - runes.begin());
}

Value LastIndexOf(Budget& budget, Arguments a) {
  if (!budget.WorkOnRunes(a[0].text().size() + a[1].text().size())) return Budget::Exceeded();
  const Runes runes = DecodeRunes(a[0].text()), part = DecodeRunes(a[1].text());
  if (!budget.WorkOnSearch(runes.size(), part.size())) return Budget::Exceeded();
  const int64_t size = static_cast<int64_t>(runes.size());
  const int64_t part_size = static_cast<int64_t>(part.size());
  int64_t offset = size - 1;
  if (a.size() == 3) {
    offset = a[2].Get<int64_t>();
    if (part.empty()) return Value::Int(offset);
    if (offset < 0) return OutOfRange(offset);
    if (offset >= size) return Value::Int(-1);
  } else if (part.empty()) {
    return Value::Int(size);
  }
  if (part_size > size) return Value::Int(-1);
  for (int64_t at = std::min(offset, size - part_size); at >= 0; --at) {
    if (std::equal(part.begin(), part.end(), runes.begin() + at)) return Value::Int(at);
  }
  return Value::Int(-1);
}

Value LowerAscii(Budget&, Arguments a) { return Value::String(absl::AsciiStrToLower(a[0].text())); }
Value UpperAscii(Budget&, Arguments a) { return Value::String(absl::AsciiStrToUpper(a[0].text())); }

// strings.Replace: the empty string is found before every character and at the end.
Value Replace(Budget& budget, Arguments a) {
  const absl::string_view text = a[0].text(), from = a[1].text(), to = a[2].text();
  int64_t left = a.size() == 4 ? a[3].Get<int64_t>() : -1;
  if (!budget.WorkOnSearch(text.size(), from.size())) return Budget::Exceeded();
  std::string result;
  size_t at = 0;
  while (left != 0 && at <= text.size()) {
    const size_t found = text.find(from, at);
    if (found == absl::string_view::npos) break;
    absl::StrAppend(&result, text.substr(at, found - at), to);
    at = found + from.size();
    if (from.empty()) {
      const size_t width = at < text.size() ? DecodeRune(text.substr(at)).width : 1;
      absl::StrAppend(&result, text.substr(std::min(at, text.size()), width));
      at += width;
    }
    if (!budget.WorkOnBytes(to.size()) || result.size() > Budget::kMostBytes) break;
    --left;
  }
  if (at < text.size()) absl::StrAppend(&result, text.substr(at));
  if (!budget.AllowsBytes(result.size())) return Budget::Exceeded();
  return Value::String(result);
}

// strings.SplitN: the empty separator splits between characters; a limit leaves the rest as the
// last part.
Value Split(Budget& budget, Arguments a) {
  absl::string_view text = a[0].text();
  const absl::string_view separator = a[1].text();
  const int64_t limit = a.size() == 3 ? a[2].Get<int64_t>() : -1;
  if (!budget.WorkOnSearch(text.size(), separator.size())) return Budget::Exceeded();
  std::vector<Value> parts;
  if (limit == 0) return Value::MakeList({});
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit - 1) {
    size_t width;
    if (separator.empty()) {
      if (text.empty()) return Value::MakeList(std::move(parts));
      width = DecodeRune(text).width;
      if (width == text.size()) break;
    } else {
      width = text.find(separator);
      if (width == absl::string_view::npos) break;
    }
    parts.push_back(Value::String(text.substr(0, width)));
    text.remove_prefix(width + separator.size());
    if (parts.size() > Budget::kMostElements) break;
  }
  if (!separator.empty() || !text.empty()) parts.push_back(Value::String(text));
  if (!budget.AllowsElements(parts.size())) return Budget::Exceeded();
  return Value::MakeList(std::move(parts));
}

Value Substring(Budget& budget, Arguments a) {
  if (!budget.WorkOnRunes(a[0].text().size())) return Budget::Exceeded();
  const Runes runes = DecodeRunes(a[0].text());
  const int64_t size = static_cast<int64_t>(runes.size());
  const int64_t begin = a[1].Get<int64_t>();
  const int64_t end = a.size() == 3 ? a[2].Get<int64_t>() : size;
  if (a.size() == 3 && begin > end) {
    return Value::Error(absl::StrCat("invalid substring range. start: ", begin, ", end: ", end));
  }
  if (begin < 0 || begin > size) return OutOfRange(begin);
  if (end < 0 || end > size) return OutOfRange(end);
  return Value::String(ToText(runes.begin() + begin, runes.begin() + end));
}

// unicode.IsSpace
bool IsSpace(char32_t rune) {
  return (rune >= 0x09 && rune <= 0x0D) || rune == 0x20 || rune == 0x85 || rune == 0xA0 ||
         rune == 0x1680 || (rune >= 0x2000 && rune <= 0x200A) || rune == 0x2028 || rune == 0x2029 ||
         rune == 0x202F || rune == 0x205F || rune == 0x3000;
}

Value Trim(Budget& budget, Arguments a) {
  if (!budget.WorkOnRunes(a[0].text().size())) return Budget::Exceeded();
  const Runes runes = DecodeRunes(a[0].text());
  const auto begin = std::find_if_not(runes.begin(), runes.end(), IsSpace);
  const auto end = std::find_if_not(runes.rbegin(), std::make_reverse_iterator(begin), IsSpace);
  return Value::String(ToText(begin, end.base()));
}

Value Join(Budget& budget, Arguments a) {
  const absl::string_view separator = a.size() == 2 ? a[1].text() : "";
  std::string result;
  bool first = true;
  for (const Value& element : a[0].elements()) {
    if (!element.IsString()) {
      return Value::Error(absl::StrCat("join: invalid input: ", ToDisplay(element)));
    }
    absl::StrAppend(&result, first ? "" : separator, element.text());
    first = false;
    if (!budget.WorkOnBytes(separator.size() + element.text().size()) ||
        result.size() > Budget::kMostBytes) {
      break;
    }
  }
  if (!budget.AllowsBytes(result.size())) return Budget::Exceeded();
  return Value::String(result);
}

Value FormatText(Budget& budget, Arguments a) {
  const absl::StatusOr<std::string> text = Format(a[0].text(), a[1].elements(), budget);
  return text.ok() ? Value::String(*text) : Value::Error(text.status().message());
}

uint64_t JoinCost(absl::Span<const Value>, const Value& result) {
  return TraverseFirstTwice({&result, 1}, result);
}

}  // namespace

void AddStrings(Environment& environment) {
  const Type s = Type::String(), i = Type::Int(), list = Type::List(s);
  const auto add = [&](absl::string_view name, absl::string_view id, std::vector<Type> parameters,
                       const Type& result, Implementation implementation) -> Overload& {
    return environment.AddMember(name, id, std::move(parameters), result,
                                 std::move(implementation));
  };
  add("charAt", "string_char_at_int", {s, i}, s, CharAt);
  add("indexOf", "string_index_of_string", {s, s}, i, IndexOf);
  add("indexOf", "string_index_of_string_int", {s, s, i}, i, IndexOf);
  add("lastIndexOf", "string_last_index_of_string", {s, s}, i, LastIndexOf);
  add("lastIndexOf", "string_last_index_of_string_int", {s, s, i}, i, LastIndexOf);
  add("lowerAscii", "string_lower_ascii", {s}, s, LowerAscii);
  add("upperAscii", "string_upper_ascii", {s}, s, UpperAscii);
  add("replace", "string_replace_string_string", {s, s, s}, s, Replace);
  add("replace", "string_replace_string_string_int", {s, s, s, i}, s, Replace);
  add("split", "string_split_string", {s, s}, list, Split);
  add("split", "string_split_string_int", {s, s, i}, list, Split);
  add("substring", "string_substring_int", {s, i}, s, Substring);
  add("substring", "string_substring_int_int", {s, i, i}, s, Substring);
  add("trim", "string_trim", {s}, s, Trim);
  add("join", "list_join", {list}, s, Join);
  add("join", "list_join_string", {list, s}, s, Join);
  add("format", "string_format", {s, Type::List(Type::Dyn())}, s, FormatText).cost = TraverseFirst;
  environment
      .AddFunction(
          "strings.quote", "strings_quote", {s}, s,
          [](Budget&, Arguments a) { return Value::String(QuoteForExpression(a[0].text())); })
      .cost = TraverseFirst;

  for (const absl::string_view name : {"lowerAscii", "upperAscii", "substring", "trim"}) {
    environment.SetCost(name, TraverseFirst);
  }
  environment.SetCost("indexOf", DeepTraverseFirst);
  environment.SetCost("lastIndexOf", DeepTraverseFirst);
  environment.SetCost("replace", TraverseFirstTwice);
  environment.SetCost("split", TraverseFirstTwice);
  environment.SetCost("join", JoinCost);
}

}  // namespace berth::cel
