// Which cluster events the update of an object amounts to.
#pragma once

#include <vector>

#include "berth/framework/enqueue.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {

// kube-scheduler v1.35 framework/events.go PodSchedulingPropertiesChange: one event a property of
// the pod that changed; if none did, one with every update bit.
std::vector<ClusterEvent> PodChangeEvents(const PodInfo& old_pod, const PodInfo& new_pod);

// NodeSchedulingPropertiesChange: as above, but none if nothing that matters changed.
std::vector<ClusterEvent> NodeChangeEvents(const NodeSpec& old_node, const NodeSpec& new_node);

// The events that are not updates, with their labels.
ClusterEvent AssignedPodAdd();
ClusterEvent AssignedPodDelete();
ClusterEvent UnscheduledPodAdd();
ClusterEvent NodeAdd();
ClusterEvent NodeDelete();
ClusterEvent ForceActivate();
ClusterEvent UnschedulableTimeout();

}  // namespace berth
