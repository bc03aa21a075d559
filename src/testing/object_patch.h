// SPDX-License-Identifier: Apache-2.0
// Changing some fields of an object of a cluster, as a JSON merge patch does.
#ifndef BERTH_SRC_TESTING_OBJECT_PATCH_H_
#define BERTH_SRC_TESTING_OBJECT_PATCH_H_

#include "absl/status/statusor.h"
#include "berth/api/object.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth::testing {

// Reports what of `patch`, fields of an object of that kind, is not a field or has a wrong type.
void CheckPatch(Kind kind, Value patch, Problems& problems);

// RFC 7386: maps are merged, null removes a field, everything else, lists too, replaces what was
// there. Error: InvalidArgument if the result is no object of the kind, or another one.
absl::StatusOr<Object> PatchObject(const Object& object, Value patch);

}  // namespace berth::testing

#endif  // BERTH_SRC_TESTING_OBJECT_PATCH_H_
