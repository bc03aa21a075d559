// SPDX-License-Identifier: Apache-2.0
// The special claim that gets a pod the devices that stand for its extended resources:
// DRAExtendedResource.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_EXTENDED_RESOURCE_CLAIM_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_EXTENDED_RESOURCE_CLAIM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/object.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/resources.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/sign.h"

namespace berth {

namespace api {
class PodExtendedResourceClaimStatus;
class PodSpec;
}  // namespace api

// Its name until the cluster gives it one. No claim can have that.
inline constexpr char kSpecialClaimName[] = "<extended-resources>";

// An extended resource that a pod requests.
struct ExtendedResource {
  ResourceId id;
  std::shared_ptr<const api::DeviceClass> device_class;  // that backs it, or null
};

// By name; empty if no class backs one of them.
std::vector<ExtendedResource> ExtendedResourcesOf(const PodInfo& pod,
                                                  const ExtendedResourceClasses& classes);

// Whether the pod requests a resource that devices might stand for.
bool RequestsDeviceResources(const PodInfo& pod);

// Adds what the claims below are made of.
void SignExtendedResources(const PodInfo& pod, PodSignature& signature);

// The claim before it is known for which node: without requests. It is one of its kind for the pod.
Object MakeSpecialClaim(const PodInfo& pod);
bool IsInMemory(const Object& claim);  // the cluster has none of that name
// Of a claim in the cluster: the uid of the pod that it is the special claim of, or "".
absl::string_view SpecialClaimOwner(const api::ResourceClaim& claim);

// Which of the resources a node leaves to devices, since it has none of them by itself; absent if
// the node has neither. As kube-scheduler v1.35 dynamicresources filterExtendedResources.
std::optional<std::vector<bool>> LeftToDevices(const std::vector<ExtendedResource>& resources,
                                               const NodeInfo& node);

// The claim's requests for those of `resources` that are `left`, and which container each is for,
// without the claim's name. As createRequestsAndMappings: devices of init containers are those of
// later containers as far as there are enough.
struct SpecialRequests {
  std::shared_ptr<const api::ResourceClaim> claim;
  std::shared_ptr<const api::PodExtendedResourceClaimStatus> mappings;
  // Why no claim can ask for that, on whatever node; empty for most.
  std::string problem;
};
SpecialRequests MakeSpecialRequests(const api::PodSpec& pod,
                                    const std::vector<ExtendedResource>& resources,
                                    const std::vector<bool>& left, const Object& claim);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_EXTENDED_RESOURCE_CLAIM_H_
