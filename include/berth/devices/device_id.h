// SPDX-License-Identifier: Apache-2.0
// The name of a device: unique in the cluster.
#ifndef BERTH_DEVICES_DEVICE_ID_H_
#define BERTH_DEVICES_DEVICE_ID_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "berth/api/symbol.h"

namespace berth {

// A driver names its pools, a pool its devices.
struct DeviceId {
  Symbol driver, pool, device;

  static DeviceId Of(absl::string_view driver, absl::string_view pool, absl::string_view device) {
    return {Symbol::Intern(driver), Symbol::Intern(pool), Symbol::Intern(device)};
  }
  std::string ToString() const;  // "driver/pool/device"

  friend bool operator==(const DeviceId&, const DeviceId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const DeviceId& id) {
    return H::combine(std::move(h), id.driver, id.pool, id.device);
  }
};

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_ID_H_
