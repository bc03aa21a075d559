// SPDX-License-Identifier: Apache-2.0
// Implementation of device_counts.h.
#include "berth/devices/device_counts.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_allocator.h"
#include "berth/devices/device_inventory.h"

namespace berth {
namespace {

// api/resource/v1 AllocationMode: an API server sets it, and the count, where they are left out.
template <class Request>
int64_t CountOf(const Request& request) {
  if (request.allocation_mode() == "All") return kMaxDevicesOfClaim;
  return request.count() == 0 ? 1 : request.count();
}

}  // namespace

std::map<std::string, int64_t> CountRequestedDevices(const api::ResourceClaimSpec& claim) {
  std::map<std::string, int64_t> counts;
  for (const api::DeviceRequest& request : claim.devices().requests()) {
    if (request.first_available().empty()) {
      counts[request.exactly().device_class_name()] += CountOf(request.exactly());
      continue;
    }
    std::map<std::string, int64_t> most;
    for (const api::DeviceSubRequest& sub : request.first_available()) {
      int64_t& count = most[sub.device_class_name()];
      count = std::max(count, CountOf(sub));
    }
    for (const auto& [device_class, count] : most) counts[device_class] += count;
  }
  return counts;
}

std::map<std::string, int64_t> CountAllocatedDevices(const api::AllocationResult& allocation,
                                                     absl::string_view attribute,
                                                     const DeviceInventory& inventory) {
  std::map<std::string, int64_t> counts;
  for (const api::DeviceRequestAllocationResult& result : allocation.devices().results()) {
    if (result.admin_access()) continue;
    const DeviceId device = DeviceId::Of(result.driver(), result.pool(), result.device());
    ++counts[inventory.AttributeOf(device, attribute).value_or("")];
  }
  return counts;
}

}  // namespace berth
