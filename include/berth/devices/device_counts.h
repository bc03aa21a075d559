// SPDX-License-Identifier: Apache-2.0
// Devices by number, for quotas: those that a claim asks for, and those that it has.
#ifndef BERTH_DEVICES_DEVICE_COUNTS_H_
#define BERTH_DEVICES_DEVICE_COUNTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace berth {

namespace api {
class AllocationResult;
class ResourceClaimSpec;
}  // namespace api

class DeviceInventory;

// By class the devices that the claim asks for, as kube-controller-manager v1.35 counts them for
// the quota CLASS.deviceclass.resource.k8s.io/devices: of a prioritised list the most that an
// alternative asks for, of each class; 32 where all are asked for.
std::map<std::string, int64_t> CountRequestedDevices(const api::ResourceClaimSpec& claim);

// By value of the attribute ("domain/name") the devices that the allocation has, as text ("true",
// "4", "1.0.0"); those without it, or that no slice offers any more, under "". Admin access does
// not count.
std::map<std::string, int64_t> CountAllocatedDevices(const api::AllocationResult& allocation,
                                                     absl::string_view attribute,
                                                     const DeviceInventory& inventory);

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_COUNTS_H_
