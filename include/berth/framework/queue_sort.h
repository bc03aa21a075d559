// SPDX-License-Identifier: Apache-2.0
// The PreEnqueue and QueueSort extension points: may a pod be queued, and in which order.
#ifndef BERTH_FRAMEWORK_QUEUE_SORT_H_
#define BERTH_FRAMEWORK_QUEUE_SORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// A pod as the queue holds it. For a group it is the group's lead: its first pending member in
// creation order, fixed while the group is queued, so that the order cannot change under the heap.
struct QueuedPodInfo {
  std::shared_ptr<const PodInfo> pod;
  absl::Time timestamp;                  // when it was last put into the queue
  absl::Time initial_attempt_timestamp;  // its first attempt; InfiniteFuture before
  int attempts = 0;
  // The name of the group ("namespace/name") and the time that orders it. For a single pod: empty,
  // and `initial_attempt_timestamp` or else `timestamp`.
  std::string group;
  // InfinitePast for a group of which some run and too few: it is made whole before others start.
  absl::Time group_timestamp;
  // The priority of the group, or that of its members (GroupSpec::priority). Absent for a single
  // pod.
  std::optional<int32_t> group_priority;

  // What orders it.
  int32_t priority() const { return group_priority.value_or(pod->priority()); }
};

class QueueSortPlugin {
 public:
  virtual ~QueueSortPlugin() = default;

  // Whether `a` is to be scheduled before `b`. A strict weak order over values that do not change
  // while the pods are queued; the queue breaks ties by arrival.
  virtual bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const = 0;

  // Whether the order is that of QueuedPodInfo::priority(), then of `timestamp`. The queue can tell
  // then where a pod would be without moving it. Always the same.
  virtual bool IsByPriorityAndTime() const { return false; }
};

class PreEnqueuePlugin {
 public:
  virtual ~PreEnqueuePlugin() = default;

  // Returns Success if `pod` may enter the active queue. Any other status gates the pod: it waits,
  // with that reason, until an event this plugin registered for.
  virtual Status PreEnqueue(const PodInfo& pod) = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_QUEUE_SORT_H_
