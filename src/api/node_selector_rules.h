// SPDX-License-Identifier: Apache-2.0
// What an API server refuses of the selector of nodes of a slice, or of a device.
#ifndef BERTH_SRC_API_NODE_SELECTOR_RULES_H_
#define BERTH_SRC_API_NODE_SELECTOR_RULES_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "berth/api/value.h"

namespace berth {

enum class SelectorFault {
  kRefused,  // by an API server
  kInVain,   // an API server takes it; it selects no node, or fails the pod that is scheduled
};

// Calls `tell` for each fault of the requirements of the terms, at `path`, with the field: "values"
// that do not go with the operator, keys and values that are none of labels or of fields of nodes.
// Operators that are none, and a key or operator that is missing, are for the reader of the field.
void CheckNodeSelectorTerms(
    Value terms, const std::string& path,
    absl::FunctionRef<void(SelectorFault, Value field, std::string message)> tell);

}  // namespace berth

#endif  // BERTH_SRC_API_NODE_SELECTOR_RULES_H_
