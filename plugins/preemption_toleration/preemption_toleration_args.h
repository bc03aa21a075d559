// SPDX-License-Identifier: Apache-2.0
// Arguments of PreemptionToleration.
#ifndef BERTH_PLUGINS_PREEMPTION_TOLERATION_PREEMPTION_TOLERATION_ARGS_H_
#define BERTH_PLUGINS_PREEMPTION_TOLERATION_PREEMPTION_TOLERATION_ARGS_H_

#include <cstdint>

#include "berth/framework/args.h"

namespace berth {

struct PreemptionTolerationArgs {
  int32_t min_candidate_nodes_percentage = 10;
  int32_t min_candidate_nodes_absolute = 100;

  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_PREEMPTION_TOLERATION_PREEMPTION_TOLERATION_ARGS_H_
