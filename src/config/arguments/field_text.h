// SPDX-License-Identifier: Apache-2.0
// Texts about fields: paths, the wording of the Kubernetes API's field errors, and YAML scalars.
#ifndef BERTH_SRC_CONFIG_ARGUMENTS_FIELD_TEXT_H_
#define BERTH_SRC_CONFIG_ARGUMENTS_FIELD_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/value.h"

namespace berth {

// "plugins" + "score" is "plugins.score"; "enabled" + "[1]" is "enabled[1]".
std::string JoinPath(absl::string_view path, absl::string_view field);
std::string ElementPath(absl::string_view path, size_t index);       // "enabled[1]"
std::string KeyPath(absl::string_view path, absl::string_view key);  // "resources[cpu]"

// The value at `path` below `root`, or the nearest one above it that is there.
Value Locate(Value root, absl::string_view path);

// As apimachinery field.Error prints its body.
std::string InvalidValue(absl::string_view value, absl::string_view detail);
std::string InvalidValue(double value, absl::string_view detail);
std::string RequiredValue(absl::string_view detail);
std::string DuplicateValue(absl::string_view value);

std::string NumberText(double value);  // "5", "0.25": the shortest text that reads back the same

// A string as a YAML flow scalar: quoted unless it reads back as the same string without.
std::string YamlScalar(absl::string_view text);
std::string YamlQuoted(absl::string_view text);  // always quoted

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_ARGUMENTS_FIELD_TEXT_H_
