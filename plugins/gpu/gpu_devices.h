// SPDX-License-Identifier: Apache-2.0
// GpuDevices: gives pods cards, not just a number of them.
#ifndef BERTH_PLUGINS_GPU_GPU_DEVICES_H_
#define BERTH_PLUGINS_GPU_GPU_DEVICES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/extensions/every_profile.h"
#include "berth/extensions/explain.h"
#include "berth/extensions/usage.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"
#include "plugins/gpu/gpu_inventory.h"
#include "plugins/gpu/gpu_policy.h"

namespace berth {

struct GpuDevicesArgs {
  std::vector<std::string> resources = {"nvidia.com/gpu"};
  std::string cards = "Policy";
  static const FieldTable& Fields();
};

// Keeps pods to nodes whose cards have room for them, chooses the cards in Reserve and records them
// on the pod with the binding. Which cards: those of the profile's first GpuPolicy, or by the rule
// in its arguments. Also ranks nodes for pods that list several models or prefer cards of one
// group.
class GpuDevices final : public Plugin,
                         public PreFilterPlugin,
                         public FilterPlugin,
                         public PreScorePlugin,
                         public ScorePlugin,
                         public ReservePlugin,
                         public EnqueueExtensions,
                         public EveryProfilePlugin,
                         public SignPlugin,
                         public ExplainPlugin,
                         public UsageReporter {
 public:
  static constexpr absl::string_view kName = "GpuDevices";
  // InvalidArgument if another profile reads GPUs from other resources.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  GpuDevices(const GpuDevicesArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult& result) override;
  Status Filter(const CycleState& state, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  // Left out unless the pod prefers some nodes to others: see Score().
  Status PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                  absl::Span<const NodeRow> feasible) override;
  // The mean of: 100 for the first model of the pod's list and in equal steps down to 0 for the
  // last; 100 if the pod's cards would be of one group as it prefers, else 0.
  absl::StatusOr<int64_t> Score(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const override;
  Status Reserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  void Unreserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;

  // A pod that goes, and any change of a node that may change its cards.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  absl::string_view WhyEveryProfile() const override {
    return "its pods are given whole GPUs of which others have shares";
  }
  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  Aspects DependsOn() const override {
    return Aspect::kNodeAllocatable | Aspect::kNodeRequested | Aspect::kNodePods |
           Aspect::kNodeLabels | Aspect::kNodeOther;
  }
  // The cards, and which the pod would get.
  std::vector<NodeNote> ExplainNode(const CycleState& state, const PodInfo& pod,
                                    const NodeInfo& node) const override;
  // Shares with the whole cards; a pod that fits on no card has what it asks for all the same.
  std::vector<ResourceUsage> Usage(const NodeTable& nodes) override;

 private:
  CardSet ChooseCards(const GpuInventory::Entry& entry, int64_t milli_cpu, const GpuPod& pod) const;
  Status Check(const GpuNode& node, const GpuRequest& request) const;
  void RecordForNeighbours(CycleState& state, absl::string_view node_name, const GpuNode& node,
                           const GpuRequest& request, const CardSet& cards) const;

  Handle& handle_;
  const std::string cards_;
  std::shared_ptr<GpuInventory> inventory_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_GPU_DEVICES_H_
