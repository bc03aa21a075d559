// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_mix_args.h.
#include "plugins/gpu/gpu_mix_args.h"

#include <algorithm>

namespace berth {

const FieldTable& TypicalPodArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<TypicalPodArgs>("TypicalPod", "A kind of pod and how often it occurs.")
          .Field("milliCPU", &TypicalPodArgs::milli_cpu, "Thousandths of a CPU.", AtLeast(0))
          .Field("gpus", &TypicalPodArgs::gpus, "GPUs, 0 for none.", InRange(0, 1024))
          .Field("milliGPU", &TypicalPodArgs::milli_gpu, "Thousandths of each of them.",
                 InRange(0, 1000))
          .Field("models", &TypicalPodArgs::models, "Allowed GPU models; empty: any.")
          .Field("count", &TypicalPodArgs::count, "How many there are, in relation to the others.",
                 GreaterThan(0)));
  return table;
}

const FieldTable& GpuMixArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<GpuMixArgs>("GpuMixArgs", "Arguments of policies that weigh usual pods.")
          .Field("typicalPods", &GpuMixArgs::typical_pods,
                 "The usual mix of pods. Without it, the mix is that of the pods seen lately."));
  return table;
}

std::vector<TypicalPod> GpuMixArgs::TypicalPods() const {
  std::vector<TypicalPod> pods;
  for (const TypicalPodArgs& args : typical_pods) {
    TypicalPod pod{.milli_cpu = args.milli_cpu,
                   .milli_gpu = args.gpus > 0 ? args.milli_gpu : 0,
                   .gpus = args.gpus,
                   .models = {},
                   .count = args.count};
    for (const std::string& model : args.models) pod.models.push_back(Symbol::Intern(model));
    std::sort(pod.models.begin(), pod.models.end());
    pods.push_back(std::move(pod));
  }
  return pods;
}

}  // namespace berth
