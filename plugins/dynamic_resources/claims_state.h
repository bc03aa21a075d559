// SPDX-License-Identifier: Apache-2.0
// What DynamicResources knows of a pod in one attempt.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIMS_STATE_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIMS_STATE_H_

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/api/node_selector.h"
#include "berth/api/packed_pod.h"
#include "berth/api/symbol.h"
#include "berth/devices/claim_to_allocate.h"
#include "berth/devices/device_allocator.h"
#include "berth/devices/device_features.h"
#include "berth/devices/device_id.h"
#include "berth/devices/device_limits.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/mutex.h"
#include "plugins/dynamic_resources/extended_resource_claim.h"
#include "plugins/dynamic_resources/nodes_by_devices.h"
#include "plugins/dynamic_resources/pod_claims.h"
#include "plugins/dynamic_resources/released_devices.h"

namespace berth {

// Devices, and shares of devices, that are planned for nominated pods.
struct NominatedUses {
  absl::flat_hash_map<DeviceId, std::string> devices;  // to the pod's key
  absl::flat_hash_map<DeviceId, ConsumedCapacity> shares;
  // By uid: claims that are to lose their devices for that, so that nobody may join them.
  absl::flat_hash_map<std::string, std::string> freed_claims;  // to the pod's key
  std::string text;                                            // the same for the same
};

// What the allocator said of nodes, for pods whose claims ask for the same: so an attempt that
// yields goes on where it was, and a pod may find what was found for the one before it. Errors name
// a claim and are not kept.
struct AllocationsByNode {
  struct Answer {
    NodeAllocation::Outcome outcome;
    int64_t score;  // ScoreOfAllocation()
  };
  struct OnNode {
    uint64_t version;  // ClusterDevices::NodeVersion()
    std::shared_ptr<const NodeSpec> node;
    Answer answer;
  };

  // `nodes`: null if no node is like another one for these claims.
  explicit AllocationsByNode(std::shared_ptr<NodesByDevices> nodes)
      : nodes_by_devices(std::move(nodes)) {}

  const std::shared_ptr<NodesByDevices> nodes_by_devices;
  Mutex mutex;
  absl::flat_hash_map<uint64_t, Answer> of_class ABSL_GUARDED_BY(mutex);
  // For nodes that are in no class.
  absl::flat_hash_map<Symbol, OnNode> on_node ABSL_GUARDED_BY(mutex);
  // Of the attempt's WorkBudget: what the allocations took that were worked out since an attempt
  // spent it last.
  int64_t unspent_steps ABSL_GUARDED_BY(mutex) = 0;
  // How many nodes were left when an attempt yielded: the next one must leave fewer.
  int left_at_last_yield = std::numeric_limits<int>::max();
};

// Claims that are to be allocated.
struct ClaimsToAllocate {
  std::vector<ClaimToAllocate> claims;
  std::vector<int> positions;  // of these in ClaimsOfPod::claims
  // Of the special claim, if it is among them: which containers its requests are for.
  std::shared_ptr<const api::PodExtendedResourceClaimStatus> mappings;
  // Of the special claim: why no claim can ask for what it asks for. Then it is not to be
  // allocated.
  std::string problem;
};

// The special claim of a pod: the last of its claims. What it asks for depends on what the node has
// by itself.
class SpecialClaim {
 public:
  using Parse = std::function<ClaimToAllocate(std::shared_ptr<const api::ResourceClaim>)>;
  // `pod` may be gone later.
  SpecialClaim(const PodInfo& pod, std::vector<ExtendedResource> resources, Object claim,
               int position, Parse parse)
      : pod_(pod.packed()),
        resources_(std::move(resources)),
        claim_(std::move(claim)),
        position_(position),
        parse_(std::move(parse)) {}
  // The same, for other `others`.
  SpecialClaim(const SpecialClaim& other)
      : pod_(other.pod_),
        resources_(other.resources_),
        claim_(other.claim_),
        position_(other.position_),
        parse_(other.parse_) {}
  SpecialClaim& operator=(const SpecialClaim&) = delete;

  int position() const { return position_; }  // in ClaimsOfPod::claims
  // It is left over from an attempt that failed, and in the way of this one.
  bool is_stale() const { return !IsInMemory(claim_); }
  // What is to be allocated on the node: `others`, and what stands for the extended resources that
  // the node does not have by itself. Null if the node has a resource neither way. Valid as long as
  // this and `others`. Threads: any.
  const ClaimsToAllocate* On(const NodeInfo& node, const ClaimsToAllocate& others) const;

 private:
  const std::shared_ptr<const PackedPod> pod_;
  const std::vector<ExtendedResource> resources_;
  const Object claim_;
  const int position_;
  const Parse parse_;
  mutable Mutex mutex_;
  // By which resources are left to devices.
  mutable std::map<std::vector<bool>, ClaimsToAllocate> made_ ABSL_GUARDED_BY(mutex_);
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
  // By claim: whether it would lose its devices if the pods that use it were evicted, and some do;
  // with preemptForDevices. False if one of them may not be evicted for the pod.
  std::vector<bool> may_be_freed;
  // By claim: why its devices will not be of use (WhyLost()); empty for most.
  std::vector<std::string> lost;
  bool has_lost = false;                        // any
  ClaimsToAllocate to_allocate;                 // without the special one
  std::shared_ptr<const SpecialClaim> special;  // null for most

  bool is_special(size_t claim) const {
    return special != nullptr && static_cast<size_t>(special->position()) == claim;
  }
  // Whether there may be something to allocate on a node.
  bool may_allocate() const { return !to_allocate.claims.empty() || special != nullptr; }
  // See SpecialClaim::On().
  const ClaimsToAllocate* ToAllocateOn(const NodeInfo& node) const {
    return special == nullptr || special->is_stale() ? &to_allocate
                                                     : special->On(node, to_allocate);
  }

  // What its claims may be given; null for most: anything.
  std::shared_ptr<const DeviceLimitsOfPod> limits;
  // What the pod cannot have besides, since it is planned for nominated pods; null for most.
  std::shared_ptr<const NominatedUses> nominated;
  // Whether a claim of the pod is to lose its devices for a nominated pod.
  bool IsFreedForOthers(size_t claim) const {
    return nominated != nullptr && nominated->freed_claims.contains(claims[claim].object.uid());
  }
  bool AnyFreedForOthers() const {
    if (nominated == nullptr || nominated->freed_claims.empty()) return false;
    for (size_t i = 0; i < claims.size(); ++i) {
      if (IsFreedForOthers(i)) return true;
    }
    return false;
  }
  std::shared_ptr<AllocationsByNode> allocations;
  std::string asked;  // the same text for pods whose claims ask for the same
  // Whether members of the pod's gang may get other devices, so that it has some: GangDevices.
  bool may_exchange = false;
};

struct ClaimsState : StateData {
  std::shared_ptr<const ClaimsOfPod> pod;
  // For a dry run, or a gang's plan: the pods that are taken to be gone, and the devices, or shares
  // of devices, of claims that no other pod uses.
  absl::flat_hash_set<std::string> gone_pods;  // uids
  bool in_dry_run = false;                     // some are gone for this state alone
  bool are_others_gone = false;                // the same of pods that may have no devices
  ReleasedDevices released;
  // The same of the pod's own claims: what they have, and the pod as if they had nothing, or null.
  // Counts on nodes that cannot use what they have.
  ReleasedDevices released_by_own;
  std::shared_ptr<const ClaimsOfPod> without_own;
  std::shared_ptr<const DeviceLimitsOfPod> limits;  // as `pod` has them, or now that some are gone
  // Whether members of the gang may get others. A plan has one state for each node where a member
  // goes; dry runs have many, and each search may be long.
  bool may_exchange() const { return pod->may_exchange && !in_dry_run; }
  // Whether it is as without the dry run, or plan.
  bool is_as_found() const {
    return released.empty() && without_own == nullptr && limits == pod->limits;
  }
  // From Reserve on, by claim: what it gets, perhaps with others; null if it has an allocation
  // already.
  std::vector<std::shared_ptr<const api::AllocationResult>> allocations;
  // What was allocated on the node; part of `pod`, or null.
  const ClaimsToAllocate* reserved = nullptr;
  // Whether PreBind reserved the claim for the pod, or had begun to.
  std::vector<bool> written;
  // The special claim, if PreBind made it.
  std::optional<Object> created;
  absl::Time bind_deadline;  // if PreBind waits for binding conditions

  std::unique_ptr<StateData> Clone() const override { return std::make_unique<ClaimsState>(*this); }
};

inline constexpr StateKey<ClaimsState> kClaimsState{"DynamicResources"};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIMS_STATE_H_
