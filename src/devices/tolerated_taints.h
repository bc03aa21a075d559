// SPDX-License-Identifier: Apache-2.0
// Whether a request tolerates the taints of a device.
#ifndef BERTH_SRC_DEVICES_TOLERATED_TAINTS_H_
#define BERTH_SRC_DEVICES_TOLERATED_TAINTS_H_

#include <algorithm>
#include <vector>

#include "berth/api/resource_v1.pb.h"
#include "berth/devices/claim_to_allocate.h"

namespace berth {

// kube-scheduler v1.35 resourceclaim.ToleratesTaint.
inline bool Tolerates(const ToleratedTaint& tolerated, const api::DeviceTaint& taint) {
  if (!tolerated.effect.empty() && tolerated.effect != taint.effect()) return false;
  if (!tolerated.key.empty() && tolerated.key != taint.key()) return false;
  return !tolerated.value.has_value() || *tolerated.value == taint.value();
}

// The first taint that keeps the request off the device, or null. Effects other than NoSchedule and
// NoExecute do not.
inline const api::DeviceTaint* FindUntolerated(const std::vector<ToleratedTaint>& tolerations,
                                               const api::SliceDevice& device) {
  for (const api::DeviceTaint& taint : device.taints()) {
    if (taint.effect() != "NoSchedule" && taint.effect() != "NoExecute") continue;
    const bool is_tolerated =
        std::any_of(tolerations.begin(), tolerations.end(),
                    [&](const ToleratedTaint& tolerated) { return Tolerates(tolerated, taint); });
    if (!is_tolerated) return &taint;
  }
  return nullptr;
}

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_TOLERATED_TAINTS_H_
