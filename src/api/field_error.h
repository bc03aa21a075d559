// SPDX-License-Identifier: Apache-2.0
// Texts of validation errors in the form of apimachinery's field package.
#ifndef BERTH_SRC_API_FIELD_ERROR_H_
#define BERTH_SRC_API_FIELD_ERROR_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/labels.h"

namespace berth {

std::string ChildPath(absl::string_view path, absl::string_view name);  // "a.name"
std::string IndexPath(absl::string_view path, size_t index);            // "a[0]"
std::string Quoted(absl::string_view text);                             // as Go's %q

// `path: Invalid value: value: detail`. `value` is already in its printed form.
std::string InvalidValue(absl::string_view path, absl::string_view value, absl::string_view detail);
// `path: Unsupported value: "value": supported values: "a", "b"`.
std::string UnsupportedValue(absl::string_view path, absl::string_view value,
                             const std::vector<absl::string_view>& supported);

// One error as it is, several distinct ones as "[a, b]".
std::string Aggregate(const std::vector<std::string>& errors);

// "In", "NotIn" … "Gt", "Lt".
std::optional<SelectorOperator> ParseSelectorOperator(absl::string_view text);

}  // namespace berth

#endif  // BERTH_SRC_API_FIELD_ERROR_H_
