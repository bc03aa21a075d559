// SPDX-License-Identifier: Apache-2.0
// The queueing hints of NodeResourcesFit.
#include "plugins/node_resources/fit_hints.h"

#include <algorithm>

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

absl::StatusOr<QueueingHint> FitHintAfterNodeChange(const PodInfo& pod,
                                                    const ObjectChange& change) {
  const NodeInfo& node = *change.new_node;
  const Requests requests = RequestsToFit(pod);
  const bool fits = node.allowed_pods() >= 1 &&
                    std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
                      return request.second <= node.allocatable().Get(request.first);
                    });
  if (!fits) return QueueingHint::kSkip;
  if (change.old_node == nullptr) return QueueingHint::kQueue;
  if (node.allowed_pods() > change.old_node->allowed_pods()) return QueueingHint::kQueue;
  return QueueIf(std::any_of(requests.begin(), requests.end(), [&](const auto& request) {
    return node.allocatable().Get(request.first) >
           change.old_node->allocatable().Get(request.first);
  }));
}

}  // namespace berth
