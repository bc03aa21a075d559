// SPDX-License-Identifier: Apache-2.0
// The arithmetic of what a pod requests. As kube-scheduler v1.35 with component-helpers/resource,
// feature gates PodLevelResources and InPlacePodVerticalScaling on.
#ifndef BERTH_SRC_VALUES_POD_REQUESTS_H_
#define BERTH_SRC_VALUES_POD_REQUESTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/api/resources.h"
#include "berth/framework/pod_info.h"

namespace berth {

namespace api {
class PodStatus;
}

// What the accessors of PodInfo with these names say.
struct PodRequests {
  ResourceVector requests;
  ResourceVector nonzero_requests;
  ResourceVector nonzero_scoring_requests;
};

// Error: InvalidArgument that names the field of a quantity that does not parse.
absl::StatusOr<PodRequests> ComputePodRequests(const api::Pod& pod);

// All that ComputePodRequests() reads of the status of a pod that has a node, as a text: such pods
// of one shape with the same text request the same. Empty if the status says nothing of requests.
std::string ResizesOf(const api::PodStatus& status);

// The class in the pod's status, else the one its requests and limits make.
absl::StatusOr<QosClass> ComputeQosClass(const api::Pod& pod);

// Without the resources that a scheduler does not count: "storage", "gpu" …
ResourceVector SchedulableResources(const ResourceVector& amounts);

}  // namespace berth

#endif  // BERTH_SRC_VALUES_POD_REQUESTS_H_
