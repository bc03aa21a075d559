// SPDX-License-Identifier: Apache-2.0
// Arguments of Coscheduling, as scheduler-plugins' CoschedulingArgs (v1).
#ifndef BERTH_PLUGINS_COSCHEDULING_COSCHEDULING_ARGS_H_
#define BERTH_PLUGINS_COSCHEDULING_COSCHEDULING_ARGS_H_

#include <cstdint>

#include "berth/framework/args.h"

namespace berth {

struct CoschedulingArgs {
  int64_t permit_waiting_time_seconds = 60;
  int64_t pod_group_backoff_seconds = 0;
  int32_t pod_group_reject_percentage = 10;
  int64_t staleness_grace_period_seconds = -1;
  int64_t reserve_after_seconds = 0;
  int32_t most_moves = 0;

  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_COSCHEDULING_ARGS_H_
