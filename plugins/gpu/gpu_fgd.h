// SPDX-License-Identifier: Apache-2.0
// GpuFGD: Fragmentation Gradient Descent.
#ifndef BERTH_PLUGINS_GPU_GPU_FGD_H_
#define BERTH_PLUGINS_GPU_GPU_FGD_H_

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/framework/args.h"
#include "berth/gpu/fragmentation.h"
#include "plugins/gpu/gpu_mix_args.h"
#include "plugins/gpu/gpu_policy.h"

namespace berth {

// "Beware of Fragmentation" (USENIX ATC '23): the node whose fragmentation F (fragmentation.h)
// grows least or falls most. 100 / (1 + e^-x), truncated, with x = (F before - F after) / 1000. A
// share goes to the card with the best score, the lowest index of equals; whole cards are the usual
// ones. The mix covers the most frequent kinds up to 95 % of the pods.
class GpuFgd final : public GpuPolicy {
 public:
  static constexpr absl::string_view kName = "GpuFGD";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  GpuFgd(const GpuMixArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  GpuChoice Choose(const GpuPlace& place, const GpuPod& pod) const override;

 protected:
  uint64_t Prepare() override;
  bool Learns() const override { return measured_; }

 private:
  // The mix's, of a node that has so much left. Many nodes have the same.
  double FragmentationOf(const FreeGpus& free) const;
  int64_t ScoreOf(double before, const FreeGpus& after) const;

  const bool measured_;
  TypicalMix mix_;
  uint64_t mix_version_ = 0;
  mutable absl::flat_hash_map<FreeGpus, double> fragmentation_;  // of nodes seen with this mix
};

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_GPU_FGD_H_
