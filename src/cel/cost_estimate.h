// SPDX-License-Identifier: Apache-2.0
// What a selector of devices may cost at most: for this an API server refuses some.
#ifndef BERTH_SRC_CEL_COST_ESTIMATE_H_
#define BERTH_SRC_CEL_COST_ESTIMATE_H_

#include <cstdint>

#include "cel/expr.h"

namespace berth::cel {

// Of an expression that Check() has found correct, for devices as large as the API allows. The
// largest number if nobody knows. As cel-go v0.26 checker/cost.go and k8s.io/apiserver v0.35
// pkg/cel/library/cost.go.
uint64_t EstimateCost(const Expr& expr);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_COST_ESTIMATE_H_
