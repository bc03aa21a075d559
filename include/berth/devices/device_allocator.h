// SPDX-License-Identifier: Apache-2.0
// Chooses the devices of a node for the claims of a pod.
#ifndef BERTH_DEVICES_DEVICE_ALLOCATOR_H_
#define BERTH_DEVICES_DEVICE_ALLOCATOR_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"
#include "berth/api/symbol.h"
#include "berth/devices/claim_to_allocate.h"
#include "berth/devices/device_id.h"
#include "berth/devices/device_inventory.h"
#include "berth/devices/device_scoring.h"

namespace berth {

namespace api {
class AllocationResult;
class DeviceClass;
}  // namespace api

// resource.k8s.io AllocationResultsMaxSize.
inline constexpr int kMaxDevicesOfClaim = 32;

struct OfferedDevice;

// A device for a requirement of a claim.
struct PickedDevice {
  int request = 0;      // position in ClaimToAllocate::requests
  int alternative = 0;  // position in ClaimedRequest::alternatives
  const OfferedDevice* device = nullptr;
  ConsumedCapacity consumed;  // of a device that claims share
};

// What the claims of a pod would get on a node.
struct NodeAllocation {
  enum class Outcome {
    kAllocated,
    kImpossible,
    kOverLimits,    // impossible within AllocationRequest::limits, and possible without
    kInvalidPools,  // impossible, and a pool of the node is invalid
    kOutOfSteps,    // not found in the steps that there were
  };
  Outcome outcome = Outcome::kImpossible;
  Symbol node_name;
  // For each claim its devices in the order of its requests, if allocated.
  std::vector<std::vector<PickedDevice>> picked;
  // Which alternative of each request of each claim was taken.
  std::vector<std::vector<int>> alternatives;
  std::vector<std::shared_ptr<const OfferedSlice>> slices;  // keep what `picked` points to
  int64_t steps = 0;                                        // that the search took
  // By AllocationRequest::scoring, if allocated: a node with a higher one is better for the same
  // claims. In parts of kScoreOfUnit.
  int64_t score = 0;
};

// How much may be taken of devices that somebody counts, as a quota does.
struct DeviceLimit {
  // What the device counts as if a request for that class takes it.
  std::function<int64_t(const DeviceId&, const api::DeviceClass&)> amount_of;
  int64_t left = 0;  // for all claims together
};

struct AllocationRequest {
  const DeviceInventory& inventory;
  absl::Span<const ClaimToAllocate> claims;
  // Whether a claim holds the device already.
  absl::FunctionRef<bool(const DeviceId&)> is_held;
  // What claims have of a device that they share; absent: none has a share. A device without
  // capacities can be shared, too: nothing of it is consumed then.
  std::function<std::optional<ConsumedCapacity>(const DeviceId&)> consumed = nullptr;
  // How many devices may be tried; those of one request count each time that they are looked at.
  int64_t max_steps = std::numeric_limits<int64_t>::max();
  DeviceScoring scoring = DeviceScoring::kFirstFit;
  // Whether to take a solution; if not, the search goes on to the next one. Absent: the first.
  std::function<bool(const NodeAllocation&)> accept = nullptr;
  // With admin access nothing is counted.
  absl::Span<const DeviceLimit> limits = {};
};

// The first solution of a depth-first search: claims in order, their requests in order,
// alternatives in order, devices by driver, pool, slice and place in the slice. As kube-scheduler
// v1.35 dynamic-resource-allocation/structured/internal/stable with default feature gates, in the
// order of pools and slices of v1.36; where DeviceInventory::features() has more, as
// internal/experimental: with binding conditions, devices that have some come last. An error, with
// its text, is of a claim or class and ends the attempt.
//
// The devices of a request with a count are taken in rising order: a choice in another order is the
// same choice. Upstream tries them all, and finds the same first one.
//
// With another scoring the devices of a request with a count are tried in the order of their rank,
// which is found again after each that is taken. So the same claims can be allocated; which devices
// they get is the first solution in that order.
absl::StatusOr<NodeAllocation> AllocateDevices(const AllocationRequest& request, Symbol node_name,
                                               const LabelSet& node_labels);

// What is written to the status of claim `index`, with configuration and node selector. An error if
// the node selector of a slice is not one that an API server lets through.
absl::StatusOr<std::shared_ptr<const api::AllocationResult>> AllocationResultOf(
    const NodeAllocation& allocation, absl::Span<const ClaimToAllocate> claims, int index);

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_ALLOCATOR_H_
