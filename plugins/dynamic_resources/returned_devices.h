// SPDX-License-Identifier: Apache-2.0
// Devices that claims give back because their pods go: in a dry run, and after an eviction.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_RETURNED_DEVICES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_RETURNED_DEVICES_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"
#include "plugins/dynamic_resources/released_devices.h"

namespace berth {

// In a dry run: brings data.released up to date with the claims of `changed`, of which
// data.gone_pods says by now whether it is gone. The pod's own claims are not released. Returns
// whether the cluster says of each claim of `changed` that it has devices for it, and for no pod
// that is still there: until that is written, none are released.
bool UpdateReleased(ClaimsState& data, const PodInfo& changed, const ClusterDevices& devices,
                    const Handle& handle);

// A claim that no pod uses any more, and what it has of devices.
struct ReturnedClaim {
  std::string uid;
  std::vector<DeviceUse> devices;
};
// The claims of which no user runs on any node. Those whose users are in `gone` are not among them.
// Reads all claims and all pods.
std::vector<ReturnedClaim> ClaimsOnTheirWayBack(
    absl::Span<const std::shared_ptr<const PodInfo>> gone, const ClusterDevices& devices,
    const Handle& handle);

// Of the pod's claims those of which no user runs on any node: uids.
absl::flat_hash_set<std::string> OwnClaimsOnTheirWayBack(const ClaimsOfPod& of_pod,
                                                         const Handle& handle);

// A claim whose users have all gone, or are being deleted.
struct LeavingClaim {
  const Object* claim = nullptr;  // until claims change
  std::vector<DeviceUse> devices;
  // Of the users that are still there:
  int32_t highest_priority = std::numeric_limits<int32_t>::min();
  absl::Time latest_deletion = absl::InfinitePast();
  std::vector<Symbol> nodes;
};
// Reads all claims and all pods.
std::vector<LeavingClaim> ClaimsOfLeavingPods(const ClusterDevices& devices, const Handle& handle);

// What the claims have of which no user runs any more on any node where the claim can be used, as
// far as `node` is one of these. Their controller is about to take the allocations away. Reads all
// claims.
ReleasedDevices DevicesOnTheirWayBack(const NodeInfo& node, const ClusterDevices& devices,
                                      const Handle& handle);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_RETURNED_DEVICES_H_
