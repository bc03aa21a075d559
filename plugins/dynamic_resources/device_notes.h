// SPDX-License-Identifier: Apache-2.0
// What an explanation says of the devices of a node.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_NOTES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_NOTES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "berth/extensions/explain.h"
#include "berth/framework/node_info.h"
#include "plugins/dynamic_resources/claim_verdicts.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"

namespace berth {

// By claim the devices that it has, or would get as `planned`; by request, if it would not get any,
// how many it could have, and which are out of the question, and why:
// "gpu.example.com/n0/gpu-0, gpu-1: selector #0: EXPRESSION".
std::vector<NodeNote> NotesOnDevices(const ClaimsOfPod& claims,
                                     absl::StatusOr<ClaimVerdict> verdict,
                                     absl::Span<const PlannedAllocation> planned,
                                     const ClusterDevices& devices, const NodeInfo& node);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_NOTES_H_
