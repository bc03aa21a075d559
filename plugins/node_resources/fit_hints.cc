// SPDX-License-Identifier: Apache-2.0
// The queueing hints of NodeResourcesFit.
#include "plugins/node_resources/fit_hints.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "plugins/node_resources/requests.h"

namespace berth {
absl::StatusOr<QueueingHint> FitHintAfterPodChange(const PodInfo& pod, const ObjectChange& change) {
  if (change.new_pod == nullptr) {
    return QueueIf(!change.old_pod->node_name().empty() ||
                   !change.old_pod->nominated_node_name().empty());
  }
  if (change.new_pod->uid() == pod.uid()) return QueueingHint::kQueue;
  if (change.new_pod->node_name().empty()) return QueueingHint::kSkip;
  const Requests requests = RequestsToFit(pod);
  return QueueIf(std::any_of(requests.begin(), requests.end(), [&](const auto& request) {
    return change.old_pod->requests().Get(request.first) >
           change.new_pod->requests().Get(request.first);
  }));
}

absl::StatusOr<QueueingHint> FitHintAfterNodeChange(const PodInfo& pod, const ObjectChange& change,
                                                    const ExtendedResourceClasses* classes) {
  const NodeInfo& node = *change.new_node;
  const Requests requests = RequestsToFit(pod);
  const std::vector<bool> backed = BackedByDevices(requests, classes);
  bool fits = node.allowed_pods() >= 1, has_devices = false;
  for (size_t i = 0; i < requests.size(); ++i) {
    const int64_t allocatable = node.allocatable().Get(requests[i].first);
    if (IsLeftToDevices(backed, i, allocatable)) {
      has_devices = true;
    } else if (requests[i].second > allocatable) {
      fits = false;
    }
  }
  if (!fits) return QueueingHint::kSkip;
  if (change.old_node == nullptr) return QueueingHint::kQueue;
  if (node.allowed_pods() > change.old_node->allowed_pods()) return QueueingHint::kQueue;
  if (has_devices) return QueueingHint::kQueue;
  return QueueIf(std::any_of(requests.begin(), requests.end(), [&](const auto& request) {
    return node.allocatable().Get(request.first) >
           change.old_node->allocatable().Get(request.first);
  }));
}

absl::StatusOr<QueueingHint> FitHintAfterClassChange(const PodInfo& pod,
                                                     const ObjectChange& change) {
  const auto& now = change.new_object->As<api::DeviceClass>();
  const std::string& resource = now.spec().extended_resource_name();
  const auto is_requested = [&](absl::string_view name) {
    return pod.requests().Get(ResourceIdOf(name)) > 0;
  };
  if (change.old_object != nullptr) {
    const auto& before = change.old_object->As<api::DeviceClass>();
    if (before.spec().extended_resource_name() == resource) return QueueingHint::kSkip;
  } else if (is_requested(absl::StrCat(kDeviceClassResourcePrefix, now.metadata().name()))) {
    return QueueingHint::kQueue;
  }
  return QueueIf(!resource.empty() && is_requested(resource));
}

}  // namespace berth
