// SPDX-License-Identifier: Apache-2.0
// The packing policies that FGD is compared with in "Beware of Fragmentation" (USENIX ATC '23), in
// the integer arithmetic of its published results. L: milli-GPU left on a card, R: on all cards of
// the node; c: milli-CPU left on the node; q: milli-GPU that the pod asks for in all, p: milli-CPU.
// All take the usual cards.
#ifndef BERTH_PLUGINS_GPU_CLASSIC_POLICIES_H_
#define BERTH_PLUGINS_GPU_CLASSIC_POLICIES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/framework/args.h"
#include "plugins/gpu/gpu_policy.h"

namespace berth {

// The node with the least left: 100 * (1 - [(c - p) / 128000 + (R - q) / 8000] / 2), truncated.
class GpuBestFit final : public GpuPolicy {
 public:
  static constexpr absl::string_view kName = "GpuBestFit";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  using GpuPolicy::GpuPolicy;
  absl::string_view Name() const override { return kName; }
  GpuChoice Choose(const GpuPlace& place, const GpuPod& pod) const override;
};

// Demand along what is left (multi-resource packing, SIGCOMM '14):
// 100 * (1 - [c / 128000 * p / 128000 + R / 8000 * q / 8000] / 2), truncated.
class GpuDotProduct final : public GpuPolicy {
 public:
  static constexpr absl::string_view kName = "GpuDotProduct";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  using GpuPolicy::GpuPolicy;
  absl::string_view Name() const override { return kName; }
  GpuChoice Choose(const GpuPlace& place, const GpuPod& pod) const override;
};

// Used cards before idle cards before idle nodes (MLaaS in the wild, NSDI '22). With all n cards
// idle max(33 - n, n); else, of the cards with the least left that fit, u idle ones: u > 0:
// max(50 - u, 33); u = 0: max(100 - floor(sum of floor(L / 10) / 10), 50).
class GpuPacking final : public GpuPolicy {
 public:
  static constexpr absl::string_view kName = "GpuPacking";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  using GpuPolicy::GpuPolicy;
  absl::string_view Name() const override { return kName; }
  GpuChoice Choose(const GpuPlace& place, const GpuPod& pod) const override;

 protected:
  bool ScoresCpuPods() const override { return false; }
};

// Pods of one class beside each other (Gandiva, OSDI '18): 25 * (8000 - R) / 8000 rounded down,
// plus 75 if all GPU pods of the node are of the pod's class (a share, or 1, 2, 4, 8 cards), 50 if
// some are, 25 if it has none, 0 if it has others only.
class GpuClustering final : public GpuPolicy {
 public:
  static constexpr absl::string_view kName = "GpuClustering";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  using GpuPolicy::GpuPolicy;
  absl::string_view Name() const override { return kName; }
  GpuChoice Choose(const GpuPlace& place, const GpuPod& pod) const override;

 protected:
  bool ScoresCpuPods() const override { return false; }
};

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_CLASSIC_POLICIES_H_
