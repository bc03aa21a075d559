// SPDX-License-Identifier: Apache-2.0
// What feature gates say of devices and claims.
#ifndef BERTH_DEVICES_DEVICE_FEATURES_H_
#define BERTH_DEVICES_DEVICE_FEATURES_H_

#include <map>
#include <string>

#include "berth/api/quantity.h"

namespace berth {

// The feature gates of kube-scheduler v1.35 that change which devices a claim gets, and when it can
// use them, with their defaults there.
struct DeviceFeatures {
  bool admin_access = true;            // DRAAdminAccess
  bool prioritized_list = true;        // DRAPrioritizedList
  bool device_status = true;           // DRAResourceClaimDeviceStatus
  bool device_taints = false;          // DRADeviceTaints
  bool device_taint_rules = false;     // DRADeviceTaintRules, with DRADeviceTaints
  bool partitionable_devices = false;  // DRAPartitionableDevices
  bool consumable_capacity = false;    // DRAConsumableCapacity
  bool binding_conditions = false;     // DRADeviceBindingConditions
  bool extended_resources = false;     // DRAExtendedResource

  friend bool operator==(const DeviceFeatures&, const DeviceFeatures&) = default;
};

// Amounts of a device's capacity by name: what claims that share it have of it.
using ConsumedCapacity = std::map<std::string, Quantity>;

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_FEATURES_H_
