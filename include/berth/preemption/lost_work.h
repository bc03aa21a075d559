// SPDX-License-Identifier: Apache-2.0
// What evicting a pod throws away.
#ifndef BERTH_PREEMPTION_LOST_WORK_H_
#define BERTH_PREEMPTION_LOST_WORK_H_

#include <cstdint>

#include "absl/time/time.h"
#include "berth/framework/pod_info.h"

namespace berth {

// When a pod began to run, or, as far as that is known, last saved what it did: evicting it loses
// what it did since. The annotation scheduling.berth.dev/checkpoint-time has an RFC 3339 time. A
// pod that does not say when it started has just been assigned.
absl::Time WorkSavedAt(const PodInfo& pod, absl::Time now);

// GPU time, in thousandths of a GPU times nanoseconds; sums of many pods stay within 127 bits.
using LostWork = __int128;

// How much a moment of the pod's work counts: its GPUs of any vendor, whole and in part, in
// thousandths; without any, one thousandth.
int64_t WorkWeight(int64_t gpu_milli);
int64_t WorkWeight(const PodInfo& pod);

// Of work of that weight since it was saved; none if that is yet to come.
LostWork LostSince(absl::Time saved_at, int64_t weight, absl::Time now);
inline LostWork LostWorkOf(const PodInfo& pod, absl::Time now) {
  return LostSince(WorkSavedAt(pod, now), WorkWeight(pod), now);
}

}  // namespace berth

#endif  // BERTH_PREEMPTION_LOST_WORK_H_
