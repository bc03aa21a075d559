// SPDX-License-Identifier: Apache-2.0
// The devices that a pod's ResourceClaims ask for, as amounts of resources.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_

#include "absl/strings/string_view.h"
#include "berth/api/resources.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"

namespace berth {

// CLASS before it is a resource, as quotas of Kubernetes spell it: devices by class.
inline constexpr absl::string_view kDevicesOfClass = ".deviceclass.resource.k8s.io/devices";

// Whether the resource counts devices of a class.
bool CountsClaimedDevices(ResourceId resource);

struct ClaimedDevices {
  ResourceVector resources;
  bool is_complete = true;  // else a claim is not there (yet), and counts nothing
};
// Each claim that the pod refers to, once, whichever other pods refer to it.
ClaimedDevices DevicesClaimedBy(const PodInfo& pod, const ObjectStore& objects);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_
