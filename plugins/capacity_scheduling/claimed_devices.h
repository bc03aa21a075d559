// SPDX-License-Identifier: Apache-2.0
// The devices that a pod's ResourceClaims ask for, as amounts of resources.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_

#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"
#include "berth/quota/quota_devices.h"

namespace berth {

struct ClaimedDevices {
  PodAmounts amounts;
  bool is_complete = true;  // else a claim is not there (yet), and counts nothing
};
// Each claim that the pod refers to, once, whichever other pods refer to it. By lines with
// attributes only with the `devices` that they see: then a claim without devices is not complete.
ClaimedDevices DevicesClaimedBy(const PodInfo& pod, const ObjectStore& objects,
                                const QuotaDevices& devices = {});

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_
