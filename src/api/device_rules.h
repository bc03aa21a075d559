// SPDX-License-Identifier: Apache-2.0
// What an API server refuses of claims, classes and slices of devices, and of pods that refer to
// claims: where a scheduler would have to guess what is meant.
#ifndef BERTH_SRC_API_DEVICE_RULES_H_
#define BERTH_SRC_API_DEVICE_RULES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {

// Adds what is wrong with a DeviceClass, ResourceClaim, ResourceClaimTemplate or ResourceSlice of
// resource.k8s.io in `version` ("v1beta1"), with the taint of a DeviceTaintRule, or with a Pod;
// nothing for other kinds. Each with the place of its field. What an API server refuses is an
// error, or a warning in an object that one has stored, unless no version of the API has it.
void CheckDeviceRules(Kind kind, absl::string_view version, Value object, Problems& problems);

// The same for the spec of a pod, at `path` of `object`: "spec.template.spec".
void CheckClaimReferences(Value pod_spec, const std::string& path, Value object,
                          Problems& problems);

// Where what is only checked later stands in a DeviceClass, ResourceClaim or ResourceClaimTemplate:
// expressions of selectors and adminAccess, by the field in resource.k8s.io/v1:
// "spec.devices.requests[0].exactly.selectors[0].cel.expression".
std::map<std::string, SourceLocation> PlacesOfDeviceFields(Kind kind, Value object);

}  // namespace berth

#endif  // BERTH_SRC_API_DEVICE_RULES_H_
