// SPDX-License-Identifier: Apache-2.0
// ScarceResourceAvoidance: keeps pods that need no GPU away from the nodes that have them.
#ifndef BERTH_PLUGINS_SCARCE_RESOURCE_AVOIDANCE_SCARCE_RESOURCE_AVOIDANCE_H_
#define BERTH_PLUGINS_SCARCE_RESOURCE_AVOIDANCE_SCARCE_RESOURCE_AVOIDANCE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"
#include "plugins/scarce_resource_avoidance/scarce_resource_avoidance_args.h"

namespace berth {

// The share of the kinds of resources that the node has and the pod does not request which is not
// scarce, in percent; 100 if none of them is. As Koordinator scarceresourceavoidance.
class ScarceResourceAvoidance final : public Plugin,
                                      public PreScorePlugin,
                                      public ScorePlugin,
                                      public SignPlugin {
 public:
  static constexpr absl::string_view kName = "ScarceResourceAvoidance";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit ScarceResourceAvoidance(const ScarceResourceAvoidanceArgs& args);

  absl::string_view Name() const override { return kName; }
  // Always Success: there for configurations that enable it.
  Status PreScore(CycleState&, const PodInfo&, const NodeTable&,
                  absl::Span<const NodeRow>) override {
    return Status::Success();
  }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNodeAllocatable; }

 private:
  bool IsScarce(ResourceId id) const;

  std::vector<ResourceId> scarce_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_SCARCE_RESOURCE_AVOIDANCE_SCARCE_RESOURCE_AVOIDANCE_H_
