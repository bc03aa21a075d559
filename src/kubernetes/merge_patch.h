// SPDX-License-Identifier: Apache-2.0
// JSON merge patches (RFC 7396).
#ifndef BERTH_SRC_KUBERNETES_MERGE_PATCH_H_
#define BERTH_SRC_KUBERNETES_MERGE_PATCH_H_

#include "api/json.h"
#include "berth/api/value.h"

namespace berth {

// Writes the patch that makes the map `after` of the map `before`: keys that are gone as null, maps
// key by key, everything else whole. Writes {} if they are the same.
void WriteMergePatch(Value before, Value after, JsonWriter& out);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_MERGE_PATCH_H_
