// SPDX-License-Identifier: Apache-2.0
// What an explanation says of the devices of a node.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_NOTES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_NOTES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "berth/extensions/explain.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"
#include "plugins/dynamic_resources/claim_verdicts.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"

namespace berth {

class NodeTable;

// By claim the devices that it has, or would get as `planned`; by request, if it would not get any,
// how many it could have, and which are out of the question, and why:
// "gpu.example.com/n0/gpu-0, gpu-1: selector #0: EXPRESSION".
std::vector<NodeNote> NotesOnDevices(const ClaimsOfPod& claims,
                                     absl::StatusOr<ClaimVerdict> verdict,
                                     absl::Span<const PlannedAllocation> planned,
                                     const ClusterDevices& devices, const NodeInfo& node);

// What keeps devices of nodes from claims that they would match, or might.
struct DevicesOutOfReach {
  std::vector<std::string> gates;  // feature gates that are off
  std::vector<std::string> pools;  // "d/p is incomplete: it has 1 of 2 slices of generation 3"
};

// Of the first nodes.
DevicesOutOfReach WhyOutOfReach(const ClaimsOfPod& claims, const ClusterDevices& devices,
                                const NodeTable& nodes, const ObjectStore& objects);

// For profiles without DRAExtendedResource: resources that the node does not have, and for which
// devices of a class would stand.
std::vector<NodeNote> NotesOnExtendedResources(const PodInfo& pod, const NodeInfo& node,
                                               const ObjectStore& objects);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_NOTES_H_
