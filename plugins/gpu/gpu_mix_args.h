// SPDX-License-Identifier: Apache-2.0
// Arguments of the policies that weigh what pods are usual.
#ifndef BERTH_PLUGINS_GPU_GPU_MIX_ARGS_H_
#define BERTH_PLUGINS_GPU_GPU_MIX_ARGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/framework/args.h"
#include "berth/gpu/fragmentation.h"

namespace berth {

// A kind of pod and how often it occurs.
struct TypicalPodArgs {
  int64_t milli_cpu = 0;
  int64_t gpus = 0;
  int64_t milli_gpu = 1000;
  std::vector<std::string> models;
  double count = 1;
  static const FieldTable& Fields();
};

struct GpuMixArgs {
  std::vector<TypicalPodArgs> typical_pods;
  static const FieldTable& Fields();

  // As the policies take them.
  std::vector<TypicalPod> TypicalPods() const;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_GPU_MIX_ARGS_H_
