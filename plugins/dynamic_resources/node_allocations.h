// SPDX-License-Identifier: Apache-2.0
// What the allocator says of nodes, remembered for pods whose claims ask for the same.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_NODE_ALLOCATIONS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_NODE_ALLOCATIONS_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/devices/device_allocator.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"

namespace berth {

// An answer holds until the node, or who holds its devices, changes. Scheduling thread, but for
// what is const.
class NodeAllocations {
 public:
  // A search ends after `timeout`, counted in devices that are tried; 0: never.
  NodeAllocations(const ClusterDevices& devices, absl::Duration timeout, DeviceScoring scoring);

  using Answer = std::shared_ptr<const absl::StatusOr<NodeAllocation>>;
  // What is remembered for claims of that signature; the last few are.
  std::shared_ptr<AllocationsByNode> Of(const std::string& signature);
  // What the claims get on the node that have no devices yet: as remembered, or null. The node is
  // one with ClaimsOfPod::ToAllocateOn(), here and below.
  Answer Find(const ClaimsOfPod& claims, const NodeInfo& node) const;
  // The same, worked out and remembered if need be.
  Answer On(const ClaimsOfPod& claims, const NodeInfo& node) const;
  // Spends what On() took for these claims since the last call.
  static void Spend(const ClaimsOfPod& claims, WorkBudget& budget);
  // If the `released` devices were free. Not remembered.
  absl::StatusOr<NodeAllocation> With(const ReleasedDevices& released, const ClaimsOfPod& claims,
                                      const NodeInfo& node) const;
  // Whether the device is planned for a nominated pod, so that the pod cannot have it.
  static bool IsNominated(const ClaimsOfPod& claims, const DeviceId& device);
  // What claims have of a device that they share, without the shares in `released`, and what is
  // planned for nominated pods.
  static std::optional<ConsumedCapacity> Consumed(const ClusterDevices& devices,
                                                  const ClaimsOfPod& claims, const DeviceId& device,
                                                  const ReleasedDevices* released = nullptr);
  // Whether an attempt is to yield that has so many nodes left to filter. What it found stays
  // remembered, so the next one goes on where it was.
  static bool Yields(const ClaimsOfPod& claims, const CycleState& state, int left);

 private:
  const ClusterDevices& devices_;
  const int64_t max_steps_;
  const DeviceScoring scoring_;
  // By signature, the last one used first.
  std::list<std::pair<std::string, std::shared_ptr<AllocationsByNode>>> kept_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_NODE_ALLOCATIONS_H_
