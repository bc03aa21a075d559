// SPDX-License-Identifier: Apache-2.0
// What an API server refuses of a ResourceSlice.
#ifndef BERTH_SRC_API_SLICE_RULES_H_
#define BERTH_SRC_API_SLICE_RULES_H_

#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {

// Adds what is wrong with the slice, read as `version` of resource.k8s.io ("v1beta1"), each with
// the place of its field. What an API server refuses is an error, or a warning if one has stored
// the slice; what it takes and what means nothing is a warning.
void CheckResourceSlice(absl::string_view version, Value slice, Problems& problems);

// The same of the taint of a device, at `path`, as DeviceTaintRules have it, too.
void CheckDeviceTaint(Value taint, const std::string& path, bool is_stored, Problems& problems);

}  // namespace berth

#endif  // BERTH_SRC_API_SLICE_RULES_H_
