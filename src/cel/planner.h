// SPDX-License-Identifier: Apache-2.0
// Makes nodes that can be evaluated of an expression that was checked.
#ifndef BERTH_SRC_CEL_PLANNER_H_
#define BERTH_SRC_CEL_PLANNER_H_

#include "absl/status/statusor.h"
#include "cel/environment.h"
#include "cel/expr.h"
#include "cel/node.h"

namespace berth::cel {

struct Plan {
  NodePtr root;
  size_t slots = 0;  // of a frame; the first are the variables of the environment, in their order
};

// Literal lists and maps, and conversions of literals, are evaluated here. Error: InvalidArgument
// if that fails, with the text of the failure alone.
absl::StatusOr<Plan> MakePlan(const Expr& expr, const Environment& environment);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_PLANNER_H_
