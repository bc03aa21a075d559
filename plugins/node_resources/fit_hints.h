// SPDX-License-Identifier: Apache-2.0
// Which changes of the cluster may make room for a pod that NodeResourcesFit rejected.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H_
#define BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H_

#include "absl/status/statusor.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/pod_info.h"

namespace berth {

// QueueingHintFns. As kube-scheduler v1.35 noderesources fit.go, isSchedulableAfter….

// An assigned or nominated pod went; the pod itself, or an assigned pod in a resource that `pod`
// requests, was scaled down.
absl::StatusOr<QueueingHint> FitHintAfterPodChange(const PodInfo& pod, const ObjectChange& change);
// The pod would fit on the node if it were empty, and the node is new or has more of what the pod
// requests. Resources that the arguments ignore are not ignored here, as upstream.
// What devices may stand for, by `classes` unless that is null, an empty node has.
absl::StatusOr<QueueingHint> FitHintAfterNodeChange(
    const PodInfo& pod, const ObjectChange& change,
    const ExtendedResourceClasses* classes = nullptr);
// The class is new, or has another extended resource, and backs one that the pod requests.
absl::StatusOr<QueueingHint> FitHintAfterClassChange(const PodInfo& pod,
                                                     const ObjectChange& change);

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H_
