// SPDX-License-Identifier: Apache-2.0
// Kubernetes' rules for label keys and values, with its messages.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "berth/api/labels.h"

namespace berth {
namespace {

// [A-Za-z0-9] at both ends, [-A-Za-z0-9_.] between, at least one character.
bool IsName(absl::string_view text) {
  return !text.empty() && absl::ascii_isalnum(text.front()) && absl::ascii_isalnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

// Lower-case labels of [a-z0-9] and, inside, '-', joined by dots.
bool IsSubdomain(absl::string_view text) {
  const auto is_edge = [](unsigned char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c);
  };
  for (const absl::string_view label : absl::StrSplit(text, '.')) {
    if (label.empty() || !is_edge(label.front()) || !is_edge(label.back())) return false;
    if (!std::all_of(label.begin(), label.end(),
                     [&](unsigned char c) { return is_edge(c) || c == '-'; })) {
      return false;
    }
  }
  return true;
}

constexpr absl::string_view kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation "
    "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr absl::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr absl::string_view kValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

}  // namespace

std::string CheckLabelKey(absl::string_view text) {
  std::vector<std::string> errors;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() > 2) {
    return absl::StrCat("a valid label key ", kNameRule,
                        " with an optional DNS subdomain prefix and '/' (e.g. "
                        "'example.com/MyName')");
  }
  if (parts.size() == 2) {
    if (parts[0].empty()) {
      errors.push_back("prefix part must be non-empty");
    } else {
      if (parts[0].size() > 253) errors.push_back("prefix part must be no more than 253 bytes");
      if (!IsSubdomain(parts[0])) errors.push_back(absl::StrCat("prefix part ", kSubdomainRule));
    }
  }
  const absl::string_view name = parts.back();
  if (name.empty()) errors.push_back("name part must be non-empty");
  if (name.size() > 63) errors.push_back("name part must be no more than 63 bytes");
  if (!IsName(name)) errors.push_back(absl::StrCat("name part ", kNameRule));
  return absl::StrJoin(errors, "; ");
}

std::string CheckLabelValue(absl::string_view text) {
  std::vector<absl::string_view> errors;
  if (text.size() > 63) errors.push_back("must be no more than 63 bytes");
  if (!text.empty() && !IsName(text)) errors.push_back(kValueRule);
  return absl::StrJoin(errors, "; ");
}

}  // namespace berth
