// SPDX-License-Identifier: Apache-2.0
// Which parts of its variables an expression may read.
#ifndef BERTH_SRC_CEL_PATHS_READ_H_
#define BERTH_SRC_CEL_PATHS_READ_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cel/expr.h"

namespace berth::cel {

// Fields and constant keys, from a variable on. Empty: all of it.
using PathRead = std::vector<std::string>;

// The parts of `variable` that the checked expression may read, as far down as they are constant:
// device.attributes["d"].model is {"attributes", "d", "model"}, and cel.bind(d, device, …) is {}.
// The value of the expression depends on nothing else of the variable.
std::vector<PathRead> PathsRead(const Expr& expr, absl::string_view variable);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_PATHS_READ_H_
