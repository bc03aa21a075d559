// SPDX-License-Identifier: Apache-2.0
// Arguments of InterPodAffinity.
#ifndef BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_ARGS_H_
#define BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_ARGS_H_

#include <cstdint>

#include "berth/framework/args.h"

namespace berth {

struct InterPodAffinityArgs {
  int32_t hard_pod_affinity_weight = 1;
  bool ignore_preferred_terms_of_existing_pods = false;
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_ARGS_H_
