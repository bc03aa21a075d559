// SPDX-License-Identifier: Apache-2.0
// NodeAffinity: the nodes that nodeSelector and nodeAffinity of the pod name, and those it prefers.
#ifndef BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_H_
#define BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/node_selector.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/incremental/selective_filter.h"
#include "berth/incremental/sign.h"
#include "plugins/node_affinity/node_affinity_args.h"

namespace berth {

// What the arguments add to the affinity of every pod.
struct AddedAffinity {
  std::optional<NodeSelector> required;
  PreferredSchedulingTerms preferred;
};

// PreFilter says Skip for pods without a hard rule, and narrows those pinned by metadata.name;
// PreScore says Skip for pods without a preference. As kube-scheduler v1.35 nodeaffinity.
class NodeAffinity final : public Plugin,
                           public PreFilterPlugin,
                           public FilterPlugin,
                           public SelectiveFilter,
                           public PreScorePlugin,
                           public ScorePlugin,
                           public ScoreExtensions,
                           public EnqueueExtensions,
                           public SignPlugin,
                           public ExplainsWaitingAs<WaitingReason::kAffinity> {
 public:
  static constexpr absl::string_view kName = "NodeAffinity";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit NodeAffinity(AddedAffinity added) : added_(std::move(added)) {}

  absl::string_view Name() const override { return kName; }
  Status PreFilter(CycleState&, const PodInfo& pod, const NodeTable&,
                   PreFilterResult& result) override;
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  bool SelectRows(const CycleState&, const PodInfo& pod, const NodeTable& nodes, int most,
                  std::vector<NodeRow>& rows) override;

  Status PreScore(CycleState&, const PodInfo& pod, const NodeTable&,
                  absl::Span<const NodeRow>) override;
  // The sum of the weights of the preferred terms that match.
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  absl::Status NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override;

  // A node that is new, or that matches with its new labels.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNodeLabels | Aspect::kNodeName; }

 private:
  absl::StatusOr<QueueingHint> AfterNodeChange(const PodInfo& pod,
                                               const ObjectChange& change) const;

  AddedAffinity added_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_H_
