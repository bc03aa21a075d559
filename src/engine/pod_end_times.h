// SPDX-License-Identifier: Apache-2.0
// PodEndTimes: when pods that run will have left their nodes, as far as they say.
#ifndef BERTH_SRC_ENGINE_POD_END_TIMES_H_
#define BERTH_SRC_ENGINE_POD_END_TIMES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "berth/framework/pod_info.h"

namespace berth {

// How long the pod says that it runs at most: the lesser of its annotation
// "scheduling.berth.dev/run-time" ("90m") and spec.activeDeadlineSeconds. Infinite if it says
// nothing, or nothing that is a time.
absl::Duration DeclaredRunTime(const PodInfo& pod);

// Scheduling thread.
class PodEndTimes {
 public:
  // The pod has a node. Remembered only of pods that say how long they run, and not since when.
  void Started(const PodInfo& pod, absl::Time now);
  void Ended(const PodInfo& pod);

  // When the pod, which has a node, will have left it: its run time after its start, which is
  // status.startTime, or else when it was seen on its node, or else `now`; the end of its grace
  // period if it is being deleted. A time that has passed is `now` for a while (kOverdue), and
  // then not known any more: InfiniteFuture.
  absl::Time EndOf(const PodInfo& pod, absl::Time now) const;

  // So long a pod may take to leave after its end.
  static constexpr absl::Duration kOverdue = absl::Minutes(1);

 private:
  absl::flat_hash_map<std::string, absl::Time> started_;  // by uid
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_POD_END_TIMES_H_
