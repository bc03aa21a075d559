// SPDX-License-Identifier: Apache-2.0
// Implementation of run_time.h.
#include "berth/api/run_time.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/field_error.h"
#include "berth/api/time.h"

namespace berth {

absl::StatusOr<absl::Duration> ParseRunTime(absl::string_view text) {
  absl::StatusOr<absl::Duration> run_time = ParseDuration(text);
  if (run_time.ok() && *run_time <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is not more than 0"));
  }
  return run_time;
}

absl::StatusOr<absl::Time> ParseCheckpointTime(absl::string_view text) {
  absl::StatusOr<absl::Time> time = ParseTime(text);
  if (time.ok()) return time;
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(text), " is no time; write it as 2026-11-26T08:00:00Z"));
}

}  // namespace berth
