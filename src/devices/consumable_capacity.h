// SPDX-License-Identifier: Apache-2.0
// What a request takes of the capacity of a device that several claims share.
#ifndef BERTH_SRC_DEVICES_CONSUMABLE_CAPACITY_H_
#define BERTH_SRC_DEVICES_CONSUMABLE_CAPACITY_H_

#include <optional>

#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_features.h"

namespace berth {

// What `requested` comes to for each capacity of the device: rounded up as the capacity's policy
// says; the policy's default, or all of it, where nothing is requested. Absent if the policy allows
// no such amount, or the device has no such capacity. As kube-scheduler v1.35
// consumable_capacity.go.
std::optional<ConsumedCapacity> ConsumptionOf(const ConsumedCapacity& requested,
                                              const api::SliceDevice& device);

// Whether the device has as much beside what is consumed.
bool HasLeft(const api::SliceDevice& device, const ConsumedCapacity& consumed,
             const ConsumedCapacity& more);

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_CONSUMABLE_CAPACITY_H_
