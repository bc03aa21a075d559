// SPDX-License-Identifier: Apache-2.0
// GpuExpectedWaste: Berth's own packing of GPUs.
#ifndef BERTH_PLUGINS_GPU_GPU_EXPECTED_WASTE_H_
#define BERTH_PLUGINS_GPU_GPU_EXPECTED_WASTE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/framework/args.h"
#include "plugins/gpu/gpu_mix_args.h"
#include "plugins/gpu/gpu_policy.h"
#include "plugins/gpu/waste_model.h"

namespace berth {

// A node is worth what the mix of pods can still make of it: its waste W is what is left of its
// GPUs, on average, when it is filled with pods drawn from the mix. That sees remainders of cards,
// GPUs without CPU beside them, pods that need several cards and models that a pod may not use, all
// at once. What is scarce in the cluster (several idle cards together, cards with much left, models
// that pods are restricted to, CPU for pods without GPU) has a price from 0 to 1 on top.
//
//   gain = (W before - W after) - 1/2 * sum of price * (room before - room after)
//   score = floor(gain / 200 milli-GPU), held to -50..50, plus 50
//
// The steps are coarse on purpose: nodes that are nearly alike tie and are filled one by one. A
// share goes to the card with the highest score, then the highest gain, then the lowest index.
// Whole cards are the usual ones. Pods without GPU spread over nodes without GPUs:
// 50 + 50 * CPU left / CPU of the node. Prices are set again when 50 more pods were seen and at
// least 1 % of the GPUs changed hands. docs/gpu.md has the measurements.
class GpuExpectedWaste final : public GpuPolicy {
 public:
  static constexpr absl::string_view kName = "GpuExpectedWaste";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  GpuExpectedWaste(const GpuMixArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  GpuChoice Choose(const GpuPlace& place, const GpuPod& pod) const override;

 protected:
  uint64_t Prepare() override;
  // The prices follow the whole cluster, and the mix its pods.
  bool Learns() const override { return true; }

 private:
  bool RefreshPrices();

  const bool measured_;
  WasteModel model_;
  uint64_t mix_version_ = 0, epoch_ = 1;
  int64_t price_period_ = -1, priced_idle_ = -1;
  struct Before {
    FreeGpus free;
    int64_t loss = 0;
  };
  mutable KeptByNode<Before> before_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_GPU_EXPECTED_WASTE_H_
