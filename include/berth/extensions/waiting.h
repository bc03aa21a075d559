// SPDX-License-Identifier: Apache-2.0
// Why a pod or group is still waiting: one dominant reason that programs can read, with its
// numbers.
#ifndef BERTH_EXTENSIONS_WAITING_H_
#define BERTH_EXTENSIONS_WAITING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

class NodeTable;

// docs/explained_waiting.md says what each one means and which numbers it has.
enum class WaitingReason : uint8_t {
  kNotTried,               // its turn has not come yet; `blocking_pod`: that is before it
  kBackoff,                // tried again when its backoff is over
  kGated,                  // held back before the queue: scheduling gates
  kWaitingForMembers,      // too few pods of the group are there
  kGroupNotFound,          // the group's definition is missing
  kGangFragmented,         // enough of a resource is free, but not in the pieces the group needs
  kInsufficientResources,  // too little of a resource is free on the nodes
  kNoNodes,                // there is no node at all
  kAffinity,               // selectors, node affinity, pod affinity and anti-affinity
  kTaints,                 // taints that are not tolerated, nodes that are cordoned
  kTopology,               // spread constraints, required domains
  kPorts,                  // host ports that are taken
  kVolumes,                // claims and volumes
  kDevices,                // claims of devices
  kQuotaMax,               // the quota's own limit is reached
  kWaitingForQuota,        // what others use has to come back first
  kQuotaMisconfigured,     // no pod like it can ever be admitted
  kReserved,               // the nodes that are left are reserved for a group, from `until` on
  kWaitingForVictims,      // pods that were evicted for it have not gone yet
  kMinRuntime,             // pods that may not be evicted yet
  kWaitingForPermit,       // placed; a Permit plugin holds it back
  kBinding,                // placed; being bound
  kBindingFailed,          // the cluster refused the binding; tried again after a backoff
  kPluginError,            // a plugin failed; tried again after a backoff
  kUnknownProfile,         // no profile has its schedulerName
  kRejected,               // a plugin refused it and says no more than its message
};

// "GANG_FRAGMENTED".
absl::string_view WaitingReasonName(WaitingReason reason);

// The reason with what is known about it. Numbers that do not apply are 0, names are empty.
struct WaitingFor {
  WaitingReason reason = WaitingReason::kNotTried;
  std::string plugin;  // that rejected, gates or holds it
  // That plugin's own words: "Insufficient cpu".
  std::string detail;

  // --- Nodes, as of the last attempt ---
  int nodes = 0;            // that there were
  int rejecting_nodes = 0;  // of these, rejected for `detail`
  struct PluginNodes {
    std::string plugin;
    int nodes = 0;
  };
  // How many nodes each plugin was the first to reject, in the profile's order.
  std::vector<PluginNodes> nodes_by_plugin;

  // --- An amount that is short; milli-CPU, bytes or plain counts. "pods": places for pods ---
  std::string resource;
  int64_t needed = 0;     // by this pod, or by `blocking_pod`
  int64_t most_free = 0;  // on one of the nodes that are rejected for it
  // On all nodes that nothing else rules out; for a group with what its own pods would take.
  int64_t all_free = 0;
  std::string quota;  // the quota whose bound it is, empty for what all have together
  int64_t quota_used = 0, quota_limit = 0;

  // --- A group ---
  int members_needed = 0;     // at once, besides those that run; kWaitingForMembers: in all
  int members_running = 0;    // already
  int members_placeable = 0;  // how many of them are there, or would find a place
  std::string blocking_pod;   // "namespace/name" of the member that did not; see kNotTried

  // The nodes that no other pod may use beyond `reserved_from`; empty without a reservation.
  std::vector<std::string> reserved_nodes;
  absl::Time reserved_from = absl::InfiniteFuture();

  // Why the pod is not placed with the gang that a mark of it names: the mark is of a kind that
  // no plugin here reads, or no plugin of its profile forms groups. Empty for other pods.
  std::string alone;

  // --- Preemption ---
  std::string node;  // where the pod is nominated
  int victims = 0;   // that have not gone yet

  // When something happens by itself at the latest: a backoff or a wait ends.
  absl::Time until = absl::InfiniteFuture();
  // The events that may help, in kube-scheduler's words: "Node/Add", "AssignedPod/Delete".
  std::vector<std::string> next_events;

  // One sentence for people: "Insufficient nvidia.com/gpu on 40 of 48 nodes; needs 8, most free on
  // a node is 4".
  std::string ToString() const;
};

// Optional, for plugins that can reject: what a rejection means. Without it the reason is
// kRejected.
class WaitingExplainer {
 public:
  virtual ~WaitingExplainer() = default;

  // Sets the reason and the numbers that the plugin knows; `waiting` has plugin, detail and node
  // counts. `rejection` is one of this plugin's; for Wait in PreBind say "bound when" what.
  // `nodes` hold what the failed attempt had placed. With reason and `resource` set to
  // kInsufficientResources and its name, the engine fills in most_free and all_free. Called only
  // after a failure, or on request.
  virtual void ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable& nodes,
                              WaitingFor& waiting) const = 0;
};

// For plugins all of whose rejections have one reason.
template <WaitingReason kReason>
class ExplainsWaitingAs : public WaitingExplainer {
 public:
  void ExplainWaiting(const PodInfo&, const Status&, const NodeTable&,
                      WaitingFor& waiting) const override {
    waiting.reason = kReason;
  }
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_WAITING_H_
