// SPDX-License-Identifier: Apache-2.0
// The devices of a gang while it is being placed: what a member was given is exchanged for others
// where that lets the next one in.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_GANG_DEVICES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_GANG_DEVICES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/devices/device_allocator.h"
#include "berth/devices/device_id.h"
#include "berth/framework/node_info.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"

namespace berth {

// Which node each member goes to, and in which order they are tried, the engine searches; with the
// nodes fixed, this searches the devices of all members together. Scheduling thread, but for what
// is const.
class GangDevices {
 public:
  using Allocations = std::vector<std::pair<std::string, ClusterDevices::Allocation>>;  // by uid

  // `devices` outlives this.
  explicit GangDevices(ClusterDevices& devices) : devices_(devices) {}

  // --- The members that are reserved ---

  // A pod of the group has its turn: what is known of another group is forgotten.
  void Begin(absl::string_view group);
  // The pod was promised devices on the node. `asked`: what its claims ask for, the same text for
  // the same; `reserved`, part of `claims`: those that were allocated there, or null.
  void Add(const std::string& pod_uid, Symbol node, std::string asked,
           std::shared_ptr<const ClaimsOfPod> claims, const ClaimsToAllocate* reserved);
  void Remove(absl::string_view pod_uid);
  // What is promised is about to be written, and stays.
  void End() { Begin(""); }

  bool has_members() const { return !members_.empty(); }

  // --- The next member ---

  // Whether a pod of the group whose claims ask for `asked` may find devices by an exchange. Not if
  // all of them ask for a number of devices of one sort, of one node each: then which ones does not
  // matter. `joins`: some claim of the pod is promised devices already.
  bool MayExchange(absl::string_view group, absl::string_view asked, bool joins) const;

  // Devices of the members' claims and for those of the pod on `node`, so that all have some;
  // absent if there are none, or if they are not found in max_steps. By the uids of claims: what
  // `to_allocate`, which is part of `claims`, gets, and what others get instead of what they have.
  struct Exchange {
    NodeAllocation own;
    Allocations others;
  };
  struct Place {
    const ClaimsOfPod& claims;
    const ClaimsToAllocate& to_allocate;
    const NodeInfo& node;
    const NodeTable& nodes;
    const ReleasedDevices& released;  // that count as free, in a plan
    DeviceScoring scoring = DeviceScoring::kFirstFit;
  };
  std::optional<Exchange> Find(const Place& place) const;

  // Why members may have devices for which no exchange was found; empty if they have none then.
  std::string WhyNotAllTried() const;

 private:
  struct Member {
    std::string pod_uid;
    Symbol node;
    std::string asked;
    std::shared_ptr<const ClaimsOfPod> claims;
    const ClaimsToAllocate* reserved;
  };
  class Search;

  bool IsSimple(const Member& member) const;

  ClusterDevices& devices_;
  std::string group_;
  std::vector<Member> members_;
  mutable std::atomic<bool> was_out_of_steps_ = false;  // some search for the group
  bool is_simple_ = true;  // all members ask for the same number of devices of one node
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_GANG_DEVICES_H_
