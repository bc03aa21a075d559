// SPDX-License-Identifier: Apache-2.0
// What DynamicResources knows of a pod in one attempt.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIMS_STATE_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIMS_STATE_H_

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/api/node_selector.h"
#include "berth/api/symbol.h"
#include "berth/devices/claim_to_allocate.h"
#include "berth/devices/device_allocator.h"
#include "berth/framework/cycle_state.h"
#include "berth/mutex.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {

// What the allocator said of nodes, for pods whose claims ask for the same: so an attempt that
// yields goes on where it was, and a pod may find what was found for the one before it. Errors name
// a claim and are not kept.
struct AllocationsByNode {
  struct OnNode {
    uint64_t version;  // ClusterDevices::NodeVersion()
    std::shared_ptr<const NodeSpec> node;
    std::shared_ptr<const absl::StatusOr<NodeAllocation>> allocation;
  };
  Mutex mutex;
  absl::flat_hash_map<Symbol, OnNode> on_node ABSL_GUARDED_BY(mutex);
  // How many nodes were left when an attempt yielded: the next one must leave fewer.
  int left_at_last_yield = std::numeric_limits<int>::max();
};

// The claims as PreFilter found them, and what the allocator said of each node that was filtered
// since. Shared by the copies of a state: evictions free no devices.
struct ClaimsOfPod {
  std::vector<PodClaim> claims;
  // By claim: what other pods are about to give it; null for most.
  std::vector<std::shared_ptr<const api::AllocationResult>> in_flight;
  // By claim: where an allocated one, or one in flight, can be used; absent if everywhere, or if it
  // is to be allocated.
  std::vector<std::optional<NodeSelector>> available_on;
  // By claim: why its devices will not be of use (WhyLost()); empty for most.
  std::vector<std::string> lost;
  bool has_lost = false;  // any
  std::vector<ClaimToAllocate> to_allocate;
  std::vector<int> positions;  // of these in `claims`

  std::shared_ptr<AllocationsByNode> allocations;
};

struct ClaimsState : StateData {
  std::shared_ptr<const ClaimsOfPod> pod;
  // For a dry run: the pods that are taken to be gone, and the devices of claims that nobody else
  // uses.
  absl::flat_hash_set<std::string> gone_pods;  // uids
  absl::flat_hash_set<DeviceId> released;
  // From Reserve on, by claim: what it gets, perhaps with others; null if it has an allocation
  // already.
  std::vector<std::shared_ptr<const api::AllocationResult>> allocations;
  // Whether PreBind reserved the claim for the pod, or had begun to.
  std::vector<bool> written;
  absl::Time bind_deadline;  // if PreBind waits for binding conditions

  std::unique_ptr<StateData> Clone() const override { return std::make_unique<ClaimsState>(*this); }
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIMS_STATE_H_
