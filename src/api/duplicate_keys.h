// SPDX-License-Identifier: Apache-2.0
// Keys that stand in a map twice: an error wherever Berth reads a map, as in the strict decoding of
// an API server.
#ifndef BERTH_SRC_API_DUPLICATE_KEYS_H_
#define BERTH_SRC_API_DUPLICATE_KEYS_H_

#include "absl/functional/function_ref.h"
#include "berth/api/value.h"

namespace berth {

// Visits each item of `map` whose key stands in it before, with the place of the first. Of a value
// that is no map: none.
void ForEachDuplicateKey(
    Value map, absl::FunctionRef<void(const Value::Item& item, SourceLocation first)> visit);

}  // namespace berth

#endif  // BERTH_SRC_API_DUPLICATE_KEYS_H_
