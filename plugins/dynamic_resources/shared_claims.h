// SPDX-License-Identifier: Apache-2.0
// Claims with devices that several nodes can use, so that pods of other nodes keep a pod from them.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_SHARED_CLAIMS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_SHARED_CLAIMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "berth/api/object.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/preemption/held_elsewhere.h"
#include "plugins/dynamic_resources/cluster_devices.h"

namespace berth {

// For preemption over several nodes. Scheduling thread.
class SharedClaims {
 public:
  // `handle` outlives this.
  SharedClaims(Handle& handle, std::shared_ptr<const ClusterDevices> devices)
      : handle_(handle), devices_(std::move(devices)) {}

  // The claims, with their users, that nobody is about to join. All of their users are pods that
  // run. The pod's own count if there are nodes that cannot use what they have: those could, if the
  // claims were allocated anew. Reads all pods, if there are such claims.
  std::vector<SharedHolding> For(const CycleState& state, const PodInfo& pod);
  // Whether the pod is a user of a claim with devices that several nodes can use.
  bool HasUser(const PodInfo& pod);

 private:
  struct Claim {
    Object object;
    bool on_all_nodes = false;
    std::vector<Symbol> on_nodes;
  };
  // Found again when a claim or a slice has changed.
  const std::vector<Claim>& Claims();
  // Those that the pod is kept from, and its own that are elsewhere.
  std::vector<Claim> InTheWayOf(const ClaimsOfPod& pod);

  Handle& handle_;
  const std::shared_ptr<const ClusterDevices> devices_;
  std::optional<std::pair<uint64_t, uint64_t>> read_at_;  // versions of claims and of slices
  std::vector<Claim> claims_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_SHARED_CLAIMS_H_
