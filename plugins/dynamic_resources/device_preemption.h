// SPDX-License-Identifier: Apache-2.0
// Pods that are evicted for their devices: what a dry run frees, and the wait until it is free.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_PREEMPTION_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_PREEMPTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/postfilter.h"
#include "berth/handle/gone_in_plan.h"
#include "berth/incremental/sign.h"
#include "plugins/dynamic_resources/claim_reader.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"
#include "plugins/dynamic_resources/noted_preemptors.h"
#include "plugins/dynamic_resources/returned_devices.h"

namespace berth {

// With preemptForDevices; otherwise nothing here does anything. A claim that only pods use which
// are gone gives its devices back. What is promised to pods that are on their way stays promised.
// Threads: as AddPod and RemovePod for these, the scheduling thread for the rest.
class DevicePreemption {
 public:
  // All outlive this.
  DevicePreemption(Handle& handle, const ClusterDevices& devices, const ClaimReader& reader,
                   bool is_enabled);

  // --- Dry runs ---

  // An attempt for the pod begins.
  void Begin(const CycleState& state, const PodInfo& pod);
  // The pods are gone that the plan of a gang evicts; and of claims that no pod uses any more the
  // devices are back.
  void RemoveGoneInPlan(const CycleState& state, const PodInfo& preemptor, ClaimsState& data) const;
  void SignGoneInPlan(PodSignature& signature) const;
  void Remove(const CycleState& state, const PodInfo& preemptor, const PodInfo& pod,
              ClaimsState& data) const;
  void Add(const PodInfo& pod, ClaimsState& data) const;

  // --- After an eviction ---

  // Whether a preemptor, which the plugin of that name rejects on its nominated node, fits there
  // once claims have lost their devices of which no user is left. Their controller takes some time.
  // For a minute: then others are to be evicted.
  bool Waits(const CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
             Symbol plugin);

  // --- While claims are written ---

  bool AwaitsWrites(const PodInfo& pod) const { return is_enabled_ && awaiting_writes_->Has(pod); }
  // A pod may give no device back when it is evicted in a dry run, and yet do so later. If it is on
  // its way to its node, what its claims get is promised, and not written. If others have its claim
  // reserved, they may leave it: or have left, and the controller of claims has not said so yet. A
  // preemptor that meets such a pod is noted until it is tried again: what is written to a claim
  // wakes it. Null unless enabled.
  std::shared_ptr<const NotedPreemptors> awaiting_writes() const { return awaiting_writes_; }

 private:
  // The pod is gone, as far as the preemptor's attempt goes.
  void Release(const CycleState& state, const PodInfo& preemptor, const PodInfo& pod,
               ClaimsState& data) const;
  // The pod's own claims that only pods use which are gone for this dry run have no devices.
  void UpdateWithoutOwn(ClaimsState& data) const;
  // The claims with these uids have none.
  void SetWithoutOwn(const absl::flat_hash_set<std::string>& freed, ClaimsState& data) const;
  // Claims that count as free in the plan that a gang is making. Found once for a plan. Each counts
  // for a minute: then it is taken for lost.
  const std::vector<ReturnedClaim>& ReturnedInPlan() const;

  Handle& handle_;
  const ClusterDevices& devices_;
  const ClaimReader& reader_;
  const bool is_enabled_;
  const std::shared_ptr<const GoneInPlan> gone_in_plan_;
  const std::shared_ptr<NotedPreemptors> awaiting_writes_;
  absl::flat_hash_map<std::string, absl::Time> waits_since_;  // by uid
  mutable uint64_t plan_ = 0;                                 // of which this was found:
  mutable std::vector<ReturnedClaim> returned_;
  mutable absl::flat_hash_map<std::string, absl::Time> returned_since_;  // by claim
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_PREEMPTION_H_
