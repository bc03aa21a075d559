// SPDX-License-Identifier: Apache-2.0
// Pods that are evicted for their devices: what a dry run frees, and the wait until it is free.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_PREEMPTION_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_PREEMPTION_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
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

  // The pods are gone that the plan of a gang evicts.
  void RemoveGoneInPlan(ClaimsState& data) const;
  void SignGoneInPlan(PodSignature& signature) const;
  void Remove(const PodInfo& pod, ClaimsState& data) const;
  void Add(const PodInfo& pod, ClaimsState& data) const;

  // --- After an eviction ---

  // Whether a preemptor, which the plugin of that name rejects on its nominated node, fits there
  // once claims have lost their devices of which no user is left. Their controller takes some time.
  // For a minute: then others are to be evicted.
  bool Waits(const CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
             Symbol plugin);

 private:
  Handle& handle_;
  const ClusterDevices& devices_;
  const ClaimReader& reader_;
  const bool is_enabled_;
  const std::shared_ptr<const GoneInPlan> gone_in_plan_;
  absl::flat_hash_map<std::string, absl::Time> waits_since_;  // by uid
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_PREEMPTION_H_
