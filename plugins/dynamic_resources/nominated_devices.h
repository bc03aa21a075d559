// SPDX-License-Identifier: Apache-2.0
// Devices that nominated pods are about to take: for pods of equal or lower priority they are
// taken.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_NOMINATED_DEVICES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_NOMINATED_DEVICES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/gone_in_plan.h"
#include "plugins/dynamic_resources/claim_reader.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"
#include "plugins/dynamic_resources/node_allocations.h"

namespace berth {

// Handle::Shared<NominatedDevices>(), one for all profiles. A node's resources are counted for pods
// that are nominated to it, on that node; their devices count on all nodes. For pods of profiles
// with preemptForDevices: each has a plan, what its claims get on its nominated node once claims
// have lost their devices of which all users leave. It stands as long as the nomination does, and
// the devices can be had. Scheduling thread.
class NominatedDevices {
 public:
  // Pods of that profile have plans.
  void Enable(absl::string_view profile) { profiles_.emplace(profile); }

  // Plans for the pods that are nominated now. None are made while a gang makes its own.
  struct Tools {
    Handle& handle;
    ClusterDevices& devices;
    const ClaimReader& reader;
    const NodeAllocations& allocations;
    const DeviceLimits& limits;
  };
  void Update(const Tools& tools);

  // What the pod, which has these claims, cannot have: planned for others of its priority or a
  // higher one. Null if nothing. With the plans of the last Update().
  std::shared_ptr<const NominatedUses> For(const PodInfo& pod,
                                           absl::Span<const PodClaim> claims) const;

  // The pod is about to have `allocations`. If its plan had others, they are free for pods that
  // wait, and the next change of its claims tells these.
  void Took(const PodInfo& pod, absl::Span<const ClusterDevices::Allocation> allocations,
            const ClusterDevices& devices);
  // The pod found no node: its plan is made anew if it stays nominated.
  void Forget(const PodInfo& pod);
  // Whether a claim of that uid, or of a pod of that uid, had a plan with other devices than it
  // got.
  bool LeftSome(absl::string_view uid) const { return left_some_.contains(uid); }

 private:
  using UsedDevice = ClusterDevices::UsedDevice;
  struct PlannedClaim {
    std::string uid, key;
    std::vector<UsedDevice> devices;
  };
  struct FreedClaim {
    std::string uid, key;
    absl::flat_hash_set<std::string> users;  // uids
  };
  struct Plan {
    std::string pod_uid, pod_key;
    int32_t priority = 0;
    Symbol node;
    bool is_found = false;  // else it gets nothing, until something changes on the node
    uint64_t version = 0;   // of the node's devices, when it was made or last seen to stand
    std::vector<PlannedClaim> claims;
    absl::flat_hash_set<DeviceId> awaited;  // held by others, who leave:
    std::vector<FreedClaim> freed;
  };
  struct Nominated {
    const PodInfo* pod;
    Symbol node;
  };
  class Maker;

  // Ends plans of pods that are not nominated any more.
  void DropEnded(const Tools& tools);
  void NoteChanged();
  static const Object* FindClaim(const Tools& tools, const std::string& key);
  // Whether what it plans for can still be had. Notes which devices have come free.
  static bool Stands(Plan& plan, const Tools& tools);
  static std::vector<Nominated> NominatedPods(const Tools& tools,
                                              const absl::flat_hash_set<std::string>& profiles);
  static std::shared_ptr<const NominatedUses> UsesOf(absl::Span<const Plan> plans,
                                                     const PodInfo& pod,
                                                     absl::Span<const PodClaim> claims);

  absl::flat_hash_set<std::string> profiles_;
  std::vector<Plan> plans_;  // the highest priority first
  uint64_t nominations_ = 0, devices_ = 0, claims_ = 0;
  bool frees_claims_ = false;
  // For pods that have no part in the plans, by priority.
  mutable std::map<int32_t, std::shared_ptr<const NominatedUses>> for_others_;
  absl::flat_hash_set<std::string> planned_;    // uids of pods and claims with plans
  absl::flat_hash_set<std::string> left_some_;  // uids of claims and pods
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_NOMINATED_DEVICES_H_
