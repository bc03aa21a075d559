// SPDX-License-Identifier: Apache-2.0
// Gives every node of an expression its type, and names and calls what they mean.
#ifndef BERTH_SRC_CEL_CHECKER_H_
#define BERTH_SRC_CEL_CHECKER_H_

#include "cel/environment.h"
#include "cel/expr.h"
#include "cel/source.h"

namespace berth::cel {

// Sets the members of `expr` that expr.h leaves to the checker. What does not fit is added to
// `problems`. `environment` outlives `expr`.
void Check(Expr& expr, const Environment& environment, Problems& problems);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_CHECKER_H_
