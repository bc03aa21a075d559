// SPDX-License-Identifier: Apache-2.0
// NodeResourcesFitPlus: packs some resources and spreads others.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_FIT_PLUS_NODE_RESOURCES_FIT_PLUS_H_
#define BERTH_PLUGINS_NODE_RESOURCES_FIT_PLUS_NODE_RESOURCES_FIT_PLUS_H_

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"
#include "plugins/node_resources_fit_plus/node_resources_fit_plus_args.h"

namespace berth {

// The weighted mean over the configured resources that the pod requests, each scored by its own
// strategy; 100 if there is none. As Koordinator noderesourcefitplus.
class NodeResourcesFitPlus final : public Plugin,
                                   public PreScorePlugin,
                                   public ScorePlugin,
                                   public SignPlugin {
 public:
  static constexpr absl::string_view kName = "NodeResourcesFitPlus";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit NodeResourcesFitPlus(const NodeResourcesFitPlusArgs& args);

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
  Aspects DependsOn() const override { return Aspect::kNodeAllocatable | Aspect::kNodeRequested; }

 private:
  enum class Type : uint8_t { kLeastAllocated, kMostAllocated };
  struct Resource {
    ResourceId id;
    Type type;
    int64_t weight;
  };
  static int64_t ScoreOf(Type type, int64_t requested, int64_t capacity);
  // Those that the pod requests.
  absl::InlinedVector<Resource, 4> ResourcesOf(const PodInfo& pod) const;

  std::vector<Resource> resources_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_FIT_PLUS_NODE_RESOURCES_FIT_PLUS_H_
