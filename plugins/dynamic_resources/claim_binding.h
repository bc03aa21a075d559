// SPDX-License-Identifier: Apache-2.0
// From Reserve to the bound pod: what its claims are promised is written, waited for or given up.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_BINDING_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_BINDING_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "berth/api/object.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"

namespace berth {

// Threads: as the extension points that are named.
class ClaimBinding {
 public:
  // `binding_timeout`: absent without DRADeviceBindingConditions.
  ClaimBinding(Handle& handle, std::shared_ptr<ClusterDevices> devices,
               std::optional<absl::Duration> binding_timeout);

  // PreBind: makes the special claim, and writes to each claim what it gets and that the pod has it
  // reserved. Wait if there are binding conditions, then until IsReady().
  Status Write(ClaimsState& data, const PodInfo& pod);
  // PollPreBind: whether the binding conditions of all devices are true, and no failure condition
  // is. Wait if not yet.
  Status IsReady(const ClaimsState& data) const;
  // Unreserve: the pod has no part in the claims, of which it may have written some.
  void TakeBack(ClaimsState& data, const PodInfo& pod);

  // The claims in the cluster: the special one as Write() made it, if it did.
  static std::vector<Object> ClaimsInCluster(const ClaimsState& data);

 private:
  // Makes it, if it is not there yet, and writes what it gets.
  absl::Status WriteSpecial(ClaimsState& data, const PodInfo& pod, std::optional<absl::Time> now);

  Handle& handle_;
  const std::shared_ptr<ClusterDevices> devices_;
  const std::optional<absl::Duration> binding_timeout_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_BINDING_H_
