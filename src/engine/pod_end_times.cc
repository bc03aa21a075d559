// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_end_times.h.
#include "engine/pod_end_times.h"

#include <algorithm>

#include "berth/api/core_v1.pb.h"
#include "berth/api/run_time.h"

namespace berth {

absl::Duration DeclaredRunTime(const PodInfo& pod) {
  absl::Duration run_time = absl::InfiniteDuration();
  if (const auto text = pod.annotation(kDeclaredRunTime)) {
    run_time = ParseRunTime(*text).value_or(absl::InfiniteDuration());
  }
  if (pod.spec().active_deadline_seconds() > 0) {
    run_time = std::min(run_time, absl::Seconds(pod.spec().active_deadline_seconds()));
  }
  return run_time;
}

void PodEndTimes::Started(const PodInfo& pod, absl::Time now) {
  if (pod.start_time().has_value() || DeclaredRunTime(pod) == absl::InfiniteDuration()) return;
  started_.try_emplace(pod.uid(), now);
}

void PodEndTimes::Ended(const PodInfo& pod) {
  if (!started_.empty()) started_.erase(pod.uid());
}

absl::Time PodEndTimes::EndOf(const PodInfo& pod, absl::Time now) const {
  absl::Time end = pod.deletion_time().value_or(absl::InfiniteFuture());
  const absl::Duration run_time = DeclaredRunTime(pod);
  if (run_time < absl::InfiniteDuration()) {
    const auto seen = started_.find(pod.uid());
    const absl::Time start = pod.start_time().value_or(seen == started_.end() ? now : seen->second);
    end = std::min(end, start + run_time);
  }
  if (end >= now) return end;
  return now - end <= kOverdue ? now : absl::InfiniteFuture();
}

}  // namespace berth
