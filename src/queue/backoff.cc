// SPDX-License-Identifier: Apache-2.0
// The backoff formula and its windows.
#include "queue/backoff.h"

namespace berth {
namespace {

constexpr absl::Duration kWindow = absl::Seconds(1);

}  // namespace

absl::Time Backoff::WindowOf(absl::Time time) {
  return absl::UnixEpoch() + absl::Floor(time - absl::UnixEpoch(), kWindow);
}

absl::Duration Backoff::DurationFor(int count) const {
  if (count <= 0) return absl::ZeroDuration();
  absl::Duration duration = initial_;
  // At the maximum no shift can help: the loop ends after a few dozen rounds whatever the count.
  for (int i = 1; i < count && duration < max_ && duration > absl::ZeroDuration(); ++i) {
    duration *= 2;
  }
  return duration < max_ ? duration : max_;
}

bool Backoff::IsLongest(const AttemptHistory& history) const {
  if (max_ <= absl::ZeroDuration()) return true;
  return history.consecutive_errors == 0 && DurationFor(history.unschedulable_count) >= max_;
}

absl::Time Backoff::LongestExpiration(absl::Time timestamp) const {
  return max_ <= absl::ZeroDuration() ? absl::InfinitePast() : WindowOf(timestamp + max_);
}

absl::Time Backoff::Expiration(const AttemptHistory& history, absl::Time timestamp) const {
  if (max_ <= absl::ZeroDuration()) return absl::InfinitePast();
  const int count =
      history.consecutive_errors > 0 ? history.consecutive_errors : history.unschedulable_count;
  if (count == 0) return absl::InfinitePast();
  return WindowOf(timestamp + DurationFor(count));
}

bool Backoff::IsBackingOff(absl::Time expiration, absl::Time now) {
  return expiration >= WindowOf(now);
}

absl::Time Backoff::End(absl::Time expiration) { return expiration + kWindow; }

}  // namespace berth
