// SPDX-License-Identifier: Apache-2.0
// What an API server refuses of the policy by which requests take a capacity of a device.
#ifndef BERTH_SRC_API_CAPACITY_POLICY_RULES_H_
#define BERTH_SRC_API_CAPACITY_POLICY_RULES_H_

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "berth/api/value.h"

namespace berth {

// Calls `refuse` with each field at fault of capacity.requestPolicy, which is there, and what is
// wrong with it, from the policy on: ".default: is missing". Amounts that are
// none, or negative, are for the reader of the field to refuse.
void CheckCapacityPolicy(Value capacity,
                         absl::FunctionRef<void(Value field, absl::string_view message)> refuse);

}  // namespace berth

#endif  // BERTH_SRC_API_CAPACITY_POLICY_RULES_H_
