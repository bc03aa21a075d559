// SPDX-License-Identifier: Apache-2.0
// What may go wrong between a scheduler and an in-memory cluster: for tests that look for what a
// scheduler loses when bindings fail and events come late, twice or not in order.
#ifndef BERTH_CLUSTER_FAULTS_H_
#define BERTH_CLUSTER_FAULTS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace berth {

// Chances are from 0, never, to 1, always, and drawn from `seed`: on a simulated clock the same
// seed gives the same faults.
struct ClusterFaults {
  uint64_t seed = 0;

  // --- Bindings ---

  double bind_failure = 0;  // refused with Unavailable, nothing has happened
  double lost_answer = 0;   // the pod is bound, but the answer is DeadlineExceeded
  // So often a binding takes long: evenly between the two bounds, part of it before the pod is
  // bound, part of it after. It sleeps on the cluster's clock.
  double slow_bind = 0;
  absl::Duration min_bind_delay = absl::Milliseconds(1);
  absl::Duration max_bind_delay = absl::Seconds(5);

  // --- Events; those of one object always come in order ---

  // Held back for up to max_event_delay, so that events of other objects overtake it.
  double delayed_event = 0;
  absl::Duration max_event_delay = absl::Seconds(1);
  // Delivered a second time, at once or up to max_event_delay later.
  double duplicated_event = 0;
  // With so many changes the watch breaks: events that are held back are lost, and all objects are
  // delivered again as they are then; those that went meanwhile are delivered as deleted.
  double relist = 0;
};

}  // namespace berth

#endif  // BERTH_CLUSTER_FAULTS_H_
