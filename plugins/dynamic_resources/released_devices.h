// SPDX-License-Identifier: Apache-2.0
// Devices that a search takes for free although claims have them.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_RELEASED_DEVICES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_RELEASED_DEVICES_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "berth/devices/device_id.h"

namespace berth {

// A device that a claim has for itself, or its share of one (DRAConsumableCapacity).
struct DeviceUse {
  DeviceId device;
  std::string share_id;  // empty: all of it

  friend bool operator==(const DeviceUse&, const DeviceUse&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const DeviceUse& use) {
    return H::combine(std::move(h), use.device, use.share_id);
  }
};

using ReleasedDevices = absl::flat_hash_set<DeviceUse>;

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_RELEASED_DEVICES_H_
