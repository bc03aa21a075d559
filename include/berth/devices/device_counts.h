// SPDX-License-Identifier: Apache-2.0
// Devices by number: those that a claim asks for, and those that it has, for quotas; those of a
// class that a node has, for scores.
#ifndef BERTH_DEVICES_DEVICE_COUNTS_H_
#define BERTH_DEVICES_DEVICE_COUNTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"
#include "berth/api/symbol.h"
#include "berth/devices/device_id.h"

namespace berth {

namespace api {
class DeviceClass;
class DeviceSubRequest;
class ExactDeviceRequest;
class ResourceClaim;
class ResourceClaimSpec;
}  // namespace api

class DeviceInventory;

// The devices that a request, or an alternative of one, asks for: 32 for all; 1 if it says nothing.
int64_t CountOf(const api::ExactDeviceRequest& request);
int64_t CountOf(const api::DeviceSubRequest& request);

// By class the devices that the claim asks for, as kube-controller-manager v1.35 counts them for
// the quota CLASS.deviceclass.resource.k8s.io/devices: of a prioritised list the most that an
// alternative asks for, of each class; 32 where all are asked for. Unlike there, admin access does
// not count: it takes the devices from no claim.
std::map<std::string, int64_t> CountRequestedDevices(const api::ResourceClaimSpec& claim);

// By class the devices that the claim has, as far as they `count`. Admin access does not.
std::map<std::string, int64_t> CountAllocatedDevices(
    const api::ResourceClaim& claim, absl::FunctionRef<bool(const DeviceId&)> counts);

// The devices of a class that a node can use, and those of them that `is_taken`. As kube-scheduler
// v1.35 noderesources calculateDRAResourceTotals, but only of each pool's newest generation. None
// if a selector fails. Threads: any, while nothing sets what the inventory has.
struct DevicesOfClass {
  int64_t all = 0, taken = 0;
  bool any_is_shared = false;  // some may be given several times: there is no saying how often
};
DevicesOfClass CountDevicesOfClass(const api::DeviceClass& device_class, DeviceInventory& inventory,
                                   Symbol node_name, const LabelSet& node_labels,
                                   absl::FunctionRef<bool(const DeviceId&)> is_taken);

// For each of several lists of selectors, how many devices that a node can use may match all of the
// list, of those that `is_free`; and how many may match some list: so many numbers, and one more.
// A bound: a device counts where a selector fails, and as very many where claims share it. False if
// nothing can be said of the node. Threads: as above.
bool CountMatchingDevices(absl::Span<const std::vector<std::string>> lists,
                          DeviceInventory& inventory, Symbol node_name, const LabelSet& node_labels,
                          absl::FunctionRef<bool(const DeviceId&)> is_free,
                          absl::Span<int64_t> counts);

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_COUNTS_H_
