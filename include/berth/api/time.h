// SPDX-License-Identifier: Apache-2.0
// Times and durations in the forms that Kubernetes writes them.
#ifndef BERTH_API_TIME_H_
#define BERTH_API_TIME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth {

namespace api {
class MicroTime;
class Time;
}  // namespace api

// RFC 3339, with or without a fraction: "2026-01-02T03:04:05.6Z", "…+02:00". Error:
// InvalidArgument.
absl::StatusOr<absl::Time> ParseTime(absl::string_view text);
// In UTC, whole seconds, as metav1.Time prints: "2026-01-02T03:04:05Z".
std::string TimeToString(absl::Time time);
// In UTC with six digits of fraction, as metav1.MicroTime prints.
std::string MicroTimeToString(absl::Time time);

// The field of a message that is not set gives absl::InfinitePast().
absl::Time ToTime(const api::Time& time);
absl::Time ToTime(const api::MicroTime& time);
void SetTime(absl::Time time, api::Time* message);

// A duration as Go's time.ParseDuration reads it: "1h30m", "500ms", "-1.5s", "0". Error:
// InvalidArgument, also beyond ±2^63 nanoseconds.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);
// As Go prints it: "1h30m0s", "1.5s", "100ms", "0s".
std::string DurationToString(absl::Duration duration);

}  // namespace berth

#endif  // BERTH_API_TIME_H_
