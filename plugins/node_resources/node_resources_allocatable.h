// SPDX-License-Identifier: Apache-2.0
// NodeResourcesAllocatable: prefers small nodes, or large ones.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_ALLOCATABLE_H_
#define BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_ALLOCATABLE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"
#include "plugins/node_resources/node_resources_allocatable_args.h"

namespace berth {

// Scores the weighted mean of what a node can allocate, whatever is requested of it. As
// scheduler-plugins noderesources allocatable.go.
class NodeResourcesAllocatable final : public Plugin,
                                       public ScorePlugin,
                                       public ScoreExtensions,
                                       public SignPlugin {
 public:
  static constexpr absl::string_view kName = "NodeResourcesAllocatable";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit NodeResourcesAllocatable(const NodeResourcesAllocatableArgs& args);

  absl::string_view Name() const override { return kName; }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState&, const PodInfo&, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  // From the lowest to the highest score; all 0 if they are equal.
  absl::Status NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override;

  Status SignPod(const PodInfo&, PodSignature&) const override { return Status::Success(); }
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNodeAllocatable; }

 private:
  // `amount(id)` is what the node can allocate of a resource.
  template <class Amount>
  int64_t MeanOf(Amount amount) const;

  std::vector<std::pair<ResourceId, int64_t>> weights_;  // negative where less is better
  int64_t weight_sum_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_ALLOCATABLE_H_
