// SPDX-License-Identifier: Apache-2.0
// Field paths, field errors and YAML scalars as text.
#include "config/arguments/field_text.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace berth {
namespace {

// Takes the first step off `path` and goes there from `value`: ".name", "[3]" or "[key]".
Value Step(Value value, absl::string_view& path) {
  if (absl::ConsumePrefix(&path, "[")) {
    const size_t end = path.find(']');
    const absl::string_view key = path.substr(0, end);
    path = end == absl::string_view::npos ? "" : path.substr(end + 1);
    size_t index = 0;
    if (!value.IsSequence()) return value.Find(key);
    if (!absl::SimpleAtoi(key, &index) || index >= value.size()) return Value();
    return value.elements()[index];
  }
  absl::ConsumePrefix(&path, ".");
  const size_t end = std::min(path.find_first_of(".["), path.size());
  const Value next = value.Find(path.substr(0, end));
  path = path.substr(end);
  return next;
}

}  // namespace

std::string JoinPath(absl::string_view path, absl::string_view field) {
  const bool needs_dot = !path.empty() && !field.empty() && field[0] != '[';
  return absl::StrCat(path, needs_dot ? "." : "", field);
}

std::string ElementPath(absl::string_view path, size_t index) {
  return absl::StrCat(path, "[", index, "]");
}

std::string KeyPath(absl::string_view path, absl::string_view key) {
  return absl::StrCat(path, "[", key, "]");
}

Value Locate(Value root, absl::string_view path) {
  while (!path.empty()) {
    const Value next = Step(root, path);
    if (!next) break;
    root = next;
  }
  return root;
}

std::string InvalidValue(absl::string_view value, absl::string_view detail) {
  return absl::StrCat("Invalid value: ", YamlQuoted(value), ": ", detail);
}

std::string InvalidValue(double value, absl::string_view detail) {
  return absl::StrCat("Invalid value: ", NumberText(value), ": ", detail);
}

std::string RequiredValue(absl::string_view detail) {
  return absl::StrCat("Required value", detail.empty() ? "" : ": ", detail);
}

std::string DuplicateValue(absl::string_view value) {
  return absl::StrCat("Duplicate value: ", YamlQuoted(value));
}

std::string NumberText(double value) {
  for (int digits = 6; digits < 17; ++digits) {
    const std::string text = absl::StrFormat("%.*g", digits, value);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && back == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

std::string YamlQuoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", absl::string_view(&c, 1));
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

std::string YamlScalar(absl::string_view text) {
  // YAML 1.1 reads these, however capitalised, as something else than a string.
  static constexpr absl::string_view kWords[] = {"true", "false", "yes", "no", "on",
                                                 "off",  "null",  "y",   "n"};
  const bool plain =
      !text.empty() && absl::ascii_isalpha(text[0]) &&
      std::all_of(
          text.begin(), text.end(),
          [](unsigned char c) { return absl::ascii_isalnum(c) || absl::StrContains("-._/", c); }) &&
      std::none_of(std::begin(kWords), std::end(kWords),
                   [&](absl::string_view word) { return absl::EqualsIgnoreCase(word, text); });
  return plain ? std::string(text) : YamlQuoted(text);
}

}  // namespace berth
