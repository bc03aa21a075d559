// SPDX-License-Identifier: Apache-2.0
// Which of a pod's requests a node must have room for, and how requests are signed.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_REQUESTS_H_
#define BERTH_PLUGINS_NODE_RESOURCES_REQUESTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/resource_filter.h"
#include "berth/incremental/sign.h"

namespace berth {

// Amounts above 0: cpu, memory, ephemeral-storage, then the others by name.
using Requests = NeededResources::Requests;

// What `pod` requests of resources that kube-scheduler accounts for, without those extended
// resources that are ignored by name or by group (what stands before the "/").
Requests RequestsToFit(const PodInfo& pod,
                       const absl::flat_hash_set<std::string>& ignored_resources = {},
                       const absl::flat_hash_set<std::string>& ignored_groups = {});

// Which of the requests devices stand for on a node that has none of the resource by itself; empty
// if it is none of them, as always with `classes` null.
std::vector<bool> BackedByDevices(const Requests& requests, const ExtendedResourceClasses* classes);
// Whether the node leaves a request to devices that `backed` says may stand for it. As
// shouldDelegateResourceToDRA.
inline bool IsLeftToDevices(const std::vector<bool>& backed, size_t request, int64_t allocatable) {
  return !backed.empty() && backed[request] && allocatable <= 0;
}

// What a node has of a resource, and what of it is requested. Devices count where claims get pods
// these for the resource. As kube-scheduler v1.35 resource_allocation.go.
struct ResourceUse {
  int64_t requested = 0, capacity = 0;
};
ResourceUse UseOf(ResourceId resource, const ResourceVector& requested, const NodeInfo& node,
                  const ExtendedResourceClasses* classes);

// Which class backs which extended resource, as of now; null where DynamicResources of the profile
// gets pods no devices for them.
const ExtendedResourceClasses* UpToDate(ExtendedResourceClasses* classes, const Handle& handle);

void SignResources(const ResourceVector& amounts, PodSignature& signature);

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_REQUESTS_H_
