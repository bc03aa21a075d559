// SPDX-License-Identifier: Apache-2.0
// NodeResourcesBalancedAllocation: prefers nodes whose resources fill up evenly.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_BALANCED_ALLOCATION_H_
#define BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_BALANCED_ALLOCATION_H_

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"
#include "plugins/node_resources/node_resources_balanced_allocation_args.h"

namespace berth {

// 100 minus the standard deviation, in percent, of the fractions requested. Says Skip for pods that
// request none of the resources. As kube-scheduler v1.35 noderesources balanced_allocation.go.
class NodeResourcesBalancedAllocation final : public Plugin,
                                              public PreScorePlugin,
                                              public ScorePlugin,
                                              public SignPlugin {
 public:
  static constexpr absl::string_view kName = "NodeResourcesBalancedAllocation";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit NodeResourcesBalancedAllocation(const NodeResourcesBalancedAllocationArgs& args,
                                           Handle* handle = nullptr);

  absl::string_view Name() const override { return kName; }
  Status PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                  absl::Span<const NodeRow> feasible) override;
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  // Where devices stand for resources, on their holders, too: DynamicResources tells of that.
  Aspects DependsOn() const override {
    return Aspect::kNodeAllocatable | Aspect::kNodeRequested |
           (Classes() == nullptr ? Aspect::kNothing : Aspect::kNodeOther);
  }

 private:
  // As NodeResourcesFit::Classes().
  const ExtendedResourceClasses* Classes() const;
  using Resources = absl::InlinedVector<ResourceId, 6>;

  bool RequestsNothing(const PodInfo& pod) const;
  // The resources that count for this pod.
  Resources ResourcesFor(const PodInfo& pod) const;

  std::vector<ResourceId> requested_;  // what PreScore asks for: all that are configured
  std::vector<ResourceId> scored_;     // those of which kube-scheduler keeps account
  Handle* const handle_;
  const std::shared_ptr<ExtendedResourceClasses> classes_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_BALANCED_ALLOCATION_H_
