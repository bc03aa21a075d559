// SPDX-License-Identifier: Apache-2.0
// Implementation of gang_scheduling.h.
#include "plugins/coscheduling/gang_scheduling.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> GangScheduling::Create(const PluginArgs&, Handle& handle) {
  return std::unique_ptr<Plugin>(new GangScheduling(handle));
}

// kube-scheduler v1.35 gangscheduling.go permitTimeoutDuration.
Status GangScheduling::Permit(CycleState&, const PodInfo& pod, absl::string_view,
                              absl::Duration& timeout) {
  return GroupApis::Permit(pod, absl::Minutes(5), timeout);
}

}  // namespace berth
