// SPDX-License-Identifier: Apache-2.0
// Whether a request tolerates the taints of a device.
#ifndef BERTH_SRC_DEVICES_TOLERATED_TAINTS_H_
#define BERTH_SRC_DEVICES_TOLERATED_TAINTS_H_

#include <algorithm>
#include <vector>

#include "berth/api/resource_v1.pb.h"
#include "berth/devices/claim_to_allocate.h"
#include "devices/offered_slice.h"

namespace berth {

// kube-scheduler v1.35 resourceclaim.ToleratesTaint.
inline bool Tolerates(const ToleratedTaint& tolerated, const api::DeviceTaint& taint) {
  if (!tolerated.effect.empty() && tolerated.effect != taint.effect()) return false;
  if (!tolerated.key.empty() && tolerated.key != taint.key()) return false;
  return !tolerated.value.has_value() || *tolerated.value == taint.value();
}

// The first taint that keeps the request off the device, or null.
inline const EffectiveTaint* FindUntolerated(const std::vector<ToleratedTaint>& tolerations,
                                             const OfferedDevice& device) {
  for (const EffectiveTaint& effective : device.taints) {
    const bool is_tolerated = std::any_of(
        tolerations.begin(), tolerations.end(),
        [&](const ToleratedTaint& tolerated) { return Tolerates(tolerated, *effective.taint); });
    if (!is_tolerated) return &effective;
  }
  return nullptr;
}

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_TOLERATED_TAINTS_H_
