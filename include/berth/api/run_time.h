// SPDX-License-Identifier: Apache-2.0
// The annotations that say how long a pod runs, and when it saved its work.
#ifndef BERTH_API_RUN_TIME_H_
#define BERTH_API_RUN_TIME_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth {

// For simulations: after so long on a node the pod ends.
inline constexpr char kSimulatedRunTime[] = "simulation.berth/run-time";
// For the scheduler, which is not told of ends to come otherwise.
inline constexpr char kDeclaredRunTime[] = "scheduling.berth.dev/run-time";

// What either says: "90s". Error: what is wrong with it, which is then as if it were not there.
absl::StatusOr<absl::Duration> ParseRunTime(absl::string_view text);

// When the pod last saved its work, so that to evict it loses what it did since.
inline constexpr char kCheckpointTime[] = "scheduling.berth.dev/checkpoint-time";

// What it says: "2026-11-26T08:00:00Z". Error as above.
absl::StatusOr<absl::Time> ParseCheckpointTime(absl::string_view text);

}  // namespace berth

#endif  // BERTH_API_RUN_TIME_H_
