// SPDX-License-Identifier: Apache-2.0
// Whether a scheduler can be made of some options.
#ifndef BERTH_SRC_ENGINE_SCHEDULER_OPTIONS_H_
#define BERTH_SRC_ENGINE_SCHEDULER_OPTIONS_H_

#include "absl/status/status.h"
#include "berth/scheduler.h"

namespace berth {

// InvalidArgument with all that is wrong, a sentence each. What plugins refuse is found later.
absl::Status CheckOptions(const SchedulerOptions& options);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_SCHEDULER_OPTIONS_H_
