// SPDX-License-Identifier: Apache-2.0
// NodeResourcesFit: a node must have room for what the pod requests.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_FIT_H_
#define BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_FIT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/incremental/resource_filter.h"
#include "berth/incremental/selective_filter.h"
#include "berth/incremental/sign.h"
#include "plugins/node_resources/node_resources_fit_args.h"
#include "plugins/node_resources/resource_scorer.h"

namespace berth {

// Rejects nodes without room for another pod or for what it requests; scores the others by a
// strategy. As kube-scheduler v1.35 noderesources fit.go.
class NodeResourcesFit final : public Plugin,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public PreScorePlugin,
                               public ScorePlugin,
                               public EnqueueExtensions,
                               public ResourceFilter,
                               public SelectiveFilter,
                               public SignPlugin,
                               public WaitingExplainer {
 public:
  static constexpr absl::string_view kName = "NodeResourcesFit";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit NodeResourcesFit(const NodeResourcesFitArgs& args, Handle* handle = nullptr);

  absl::string_view Name() const override { return kName; }
  // Works out which requests the filter looks at.
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult& result) override;
  Status Filter(const CycleState& state, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  // The nodes with room for the request for which the fewest have.
  bool SelectRows(const CycleState& state, const PodInfo& pod, const NodeTable& nodes, int most,
                  std::vector<NodeRow>& rows) override;
  NeededResources ResourcesNeededBy(const CycleState& state, const PodInfo& pod) const override;

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

  // A pod that is gone or was scaled down, a node that is new or grew; where devices stand for
  // extended resources, a class that backs one.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  // Where devices stand for resources, on their holders, too: DynamicResources tells of that.
  Aspects DependsOn() const override {
    return Aspect::kNodeAllocatable | Aspect::kNodeRequested |
           (Classes() == nullptr ? Aspect::kNothing : Aspect::kNodeOther);
  }

  void ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable& nodes,
                      WaitingFor& waiting) const override;

 private:
  // Which class backs which extended resource; null where DynamicResources of the profile gets pods
  // no devices for them.
  const ExtendedResourceClasses* Classes() const;

  absl::flat_hash_set<std::string> ignored_resources_;
  absl::flat_hash_set<std::string> ignored_resource_groups_;
  ResourceScorer scorer_;
  Handle* const handle_;
  const std::shared_ptr<ExtendedResourceClasses> classes_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_FIT_H_
