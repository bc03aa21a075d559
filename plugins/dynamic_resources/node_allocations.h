// SPDX-License-Identifier: Apache-2.0
// What the allocator says of nodes, remembered for pods whose claims ask for the same.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_NODE_ALLOCATIONS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_NODE_ALLOCATIONS_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/columns/node_table.h"
#include "berth/devices/device_allocator.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"
#include "plugins/dynamic_resources/nodes_by_devices.h"

namespace berth {

// An answer holds until the node, or who holds its devices, changes. Scheduling thread, but for
// what is const.
class NodeAllocations {
 public:
  // A search ends after `timeout`, counted in devices that are tried; 0: never.
  NodeAllocations(const ClusterDevices& devices, absl::Duration timeout, DeviceScoring scoring);

  using Answer = AllocationsByNode::Answer;
  // What is remembered for claims that ask for the same, and have the same planned for nominated
  // pods; the last few are.
  std::shared_ptr<AllocationsByNode> Of(const ClaimsOfPod& claims);
  // Whether the claims that have no devices yet get some on the node: as remembered, if it is. The
  // node is one with ClaimsOfPod::ToAllocateOn(), here and below.
  std::optional<Answer> Find(const ClaimsOfPod& claims, const NodeInfo& node) const;
  // The same, worked out and remembered if need be.
  absl::StatusOr<Answer> On(const ClaimsOfPod& claims, const NodeInfo& node) const;
  // Whether On() has an answer for every node, so no error on any; known at once, or found out with
  // few searches, which are spent. False may mean that there are too many different nodes, or that
  // the budget is spent. Scheduling thread.
  bool AnswerEverywhere(const ClaimsOfPod& claims, const NodeTable& nodes,
                        WorkBudget& budget) const;
  // The devices that the claims get on the node. Not remembered.
  absl::StatusOr<NodeAllocation> Allocate(const ClaimsOfPod& claims, const NodeInfo& node) const;
  // Spends what On() took for these claims since the last call.
  static void Spend(const ClaimsOfPod& claims, WorkBudget& budget);
  // If the `released` devices were free, within these limits; null: any. Not remembered.
  absl::StatusOr<NodeAllocation> With(const ReleasedDevices& released, const ClaimsOfPod& claims,
                                      const DeviceLimitsOfPod* limits_of_pod,
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
  static uint64_t ClassOf(const ClaimsOfPod& claims, const NodeInfo& node);
  // Null if no node is to be compared with others for the claims.
  std::shared_ptr<NodesByDevices> NodesByDevicesFor(const ClaimsOfPod& claims);

  struct Kept {
    std::string signature;
    std::shared_ptr<AllocationsByNode> allocations;
  };
  std::list<Kept> kept_;  // the last one used first
  absl::flat_hash_map<absl::string_view, std::list<Kept>::iterator> kept_of_;  // by signature
  std::vector<std::shared_ptr<NodesByDevices>> nodes_by_devices_;  // by what claims read
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_NODE_ALLOCATIONS_H_
