// SPDX-License-Identifier: Apache-2.0
// Values of a configuration, written as lines of YAML.
#ifndef BERTH_SRC_CONFIG_YAML_LINES_H_
#define BERTH_SRC_CONFIG_YAML_LINES_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/value.h"

namespace berth {

using Lines = std::vector<std::string>;

void Indent(Lines& lines, int by);

std::string Scalar(Value value);

// A map or a sequence in blocks. `drop`: of a map, keys that are left out at the top.
Lines Block(Value value, const std::set<absl::string_view>& drop = {});

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_YAML_LINES_H_
