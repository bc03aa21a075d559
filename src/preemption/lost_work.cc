// SPDX-License-Identifier: Apache-2.0
// Implementation of lost_work.h.
#include "berth/preemption/lost_work.h"

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/run_time.h"
#include "berth/quota/quota_line.h"

namespace berth {

absl::Time WorkSavedAt(const PodInfo& pod, absl::Time now) {
  absl::Time saved = std::min(pod.start_time().value_or(now), now);
  if (const std::optional<absl::string_view> text = pod.annotation(kCheckpointTime)) {
    const absl::StatusOr<absl::Time> checkpoint = ParseCheckpointTime(*text);
    if (checkpoint.ok()) saved = std::max(saved, std::min(*checkpoint, now));
  }
  return saved;
}

int64_t WorkWeight(int64_t gpu_milli) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return std::clamp<int64_t>(gpu_milli, 1, kMost);
}

int64_t WorkWeight(const PodInfo& pod) { return WorkWeight(AmountsOf(pod).gpu_milli); }

LostWork LostSince(absl::Time saved_at, int64_t weight, absl::Time now) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(now - saved_at);
  return LostWork{std::max<int64_t>(0, nanoseconds)} * weight;
}

}  // namespace berth
