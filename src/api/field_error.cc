// SPDX-License-Identifier: Apache-2.0
// Texts of validation errors: see field_error.h.
#include "api/field_error.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {

std::string ChildPath(absl::string_view path, absl::string_view name) {
  return path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
}

std::string IndexPath(absl::string_view path, size_t index) {
  return absl::StrCat(path, "[", index, "]");
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(text), "\"");
}

std::string InvalidValue(absl::string_view path, absl::string_view value,
                         absl::string_view detail) {
  return absl::StrCat(path, ": Invalid value: ", value, ": ", detail);
}

std::string UnsupportedValue(absl::string_view path, absl::string_view value,
                             const std::vector<absl::string_view>& supported) {
  return absl::StrCat(path, ": Unsupported value: ", Quoted(value), ": supported values: \"",
                      absl::StrJoin(supported, "\", \""), "\"");
}

std::string Aggregate(const std::vector<std::string>& errors) {
  std::vector<std::string> distinct;
  for (const std::string& error : errors) {
    if (std::find(distinct.begin(), distinct.end(), error) == distinct.end()) {
      distinct.push_back(error);
    }
  }
  if (distinct.size() == 1) return distinct.front();
  return absl::StrCat("[", absl::StrJoin(distinct, ", "), "]");
}

std::optional<SelectorOperator> ParseSelectorOperator(absl::string_view text) {
  if (text == "In") return SelectorOperator::kIn;
  if (text == "NotIn") return SelectorOperator::kNotIn;
  if (text == "Exists") return SelectorOperator::kExists;
  if (text == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  if (text == "Gt") return SelectorOperator::kGreaterThan;
  if (text == "Lt") return SelectorOperator::kLessThan;
  return std::nullopt;
}

}  // namespace berth
