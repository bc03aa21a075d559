// SPDX-License-Identifier: Apache-2.0
// What Kubernetes refuses of an expression that has types.
#ifndef BERTH_SRC_CEL_VALIDATORS_H_
#define BERTH_SRC_CEL_VALIDATORS_H_

#include "cel/expr.h"
#include "cel/source.h"

namespace berth::cel {

// As apiserver pkg/cel/environment/base.go has it done: literal durations, timestamps and regular
// expressions that are none, lists and maps of mixed types, literal format strings that do not fit
// what they format. Requires that the checker found no problems.
void Validate(const Expr& expr, Problems& problems);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_VALIDATORS_H_
