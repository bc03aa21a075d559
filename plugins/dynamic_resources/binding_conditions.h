// SPDX-License-Identifier: Apache-2.0
// Devices that a driver has to prepare before their pod is bound: DRADeviceBindingConditions.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_BINDING_CONDITIONS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_BINDING_CONDITIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {

// Whether a device of the allocation has any.
bool HasBindingConditions(const api::AllocationResult& allocation);

// Whether all binding conditions of the claim's devices are true: at once, if there are none, and
// never without an allocation. An error, with its text, if a failure condition is true. As
// kube-scheduler v1.35 dynamicresources isClaimReadyForBinding.
absl::StatusOr<bool> IsReadyForBinding(const api::ResourceClaim& claim);

// "A of d.x/pool/gpu-0 is true": what IsReadyForBinding() waits for, of all devices. Empty if
// nothing.
std::string AwaitedConditions(const api::ResourceClaim& claim);

// Whether the claim has binding conditions, and was allocated more than `timeout` ago. As
// isClaimTimeout.
bool IsBindingOverdue(const api::ResourceClaim& claim, absl::Duration timeout, absl::Time now);

// Why the devices that the claim has will not be of use: they failed, or were not ready in time.
// Empty otherwise.
std::string WhyLost(const api::ResourceClaim& claim, absl::Duration timeout, absl::Time now);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_BINDING_CONDITIONS_H_
