// SPDX-License-Identifier: Apache-2.0
// How long a rejected entry waits before it may be tried again.
#ifndef BERTH_SRC_QUEUE_BACKOFF_H_
#define BERTH_SRC_QUEUE_BACKOFF_H_

#include "absl/time/time.h"
#include "queue/queue_entry.h"

namespace berth {

// kube-scheduler v1.35 backend/queue/backoff_queue.go. Ends of backoffs are cut to whole seconds,
// so that what ends within one second is ordered by QueueSort and leaves together.
class Backoff {
 public:
  Backoff(absl::Duration initial, absl::Duration max) : initial_(initial), max_(max) {}

  // initial << (count - 1), at most the maximum; zero for no attempts.
  absl::Duration DurationFor(int count) const;
  // The second in which the backoff of an entry put back at `timestamp` ends; InfinitePast if it
  // has none.
  absl::Time Expiration(const AttemptHistory& history, absl::Time timestamp) const;

  // Whether another rejection will not make the backoff longer.
  bool IsLongest(const AttemptHistory& history) const;
  // Expiration() of such an entry.
  absl::Time LongestExpiration(absl::Time timestamp) const;

  // The start of the second that `time` is in.
  static absl::Time WindowOf(absl::Time time);
  // Still in backoff: also in the second in which it ends.
  static bool IsBackingOff(absl::Time expiration, absl::Time now);
  // From when on it is not.
  static absl::Time End(absl::Time expiration);

 private:
  absl::Duration initial_, max_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_BACKOFF_H_
