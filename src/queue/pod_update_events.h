// SPDX-License-Identifier: Apache-2.0
// Which cluster events the update of a pod amounts to.
#ifndef BERTH_SRC_QUEUE_POD_UPDATE_EVENTS_H_
#define BERTH_SRC_QUEUE_POD_UPDATE_EVENTS_H_

#include "absl/container/inlined_vector.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/pod_info.h"

namespace berth {

// The events of one change; mostly it is one.
using ClusterEvents = absl::InlinedVector<ClusterEvent, 1>;

// kube-scheduler v1.35 framework/events.go PodSchedulingPropertiesChange: one event a property of
// the pod that changed; if none did, one for any other update.
ClusterEvents PodChangeEvents(const PodInfo& old_pod, const PodInfo& new_pod);

// Concerns one pod, which is to be tried again whatever rejected it.
ClusterEvent ForceActivate();

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_POD_UPDATE_EVENTS_H_
