// SPDX-License-Identifier: Apache-2.0
// TaintToleration: keeps pods off nodes whose taints they do not tolerate.
#ifndef BERTH_PLUGINS_TAINT_TOLERATION_TAINT_TOLERATION_H_
#define BERTH_PLUGINS_TAINT_TOLERATION_TAINT_TOLERATION_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/selective_filter.h"
#include "berth/incremental/sign.h"
#include "berth/incremental/uniform_score.h"
#include "plugins/taint_toleration/taint_index.h"

namespace berth {

// NoSchedule and NoExecute taints reject; of the feasible nodes, those with fewer PreferNoSchedule
// taints that the pod does not tolerate score higher. As kube-scheduler v1.35 tainttoleration.
class TaintToleration final : public Plugin,
                              public FilterPlugin,
                              public SelectiveFilter,
                              public PreScorePlugin,
                              public ScorePlugin,
                              public UniformScorePlugin,
                              public ScoreExtensions,
                              public EnqueueExtensions,
                              public SignPlugin,
                              public ExplainsWaitingAs<WaitingReason::kTaints> {
 public:
  static constexpr absl::string_view kName = "TaintToleration";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  bool SelectRows(const CycleState&, const PodInfo& pod, const NodeTable& nodes, int most,
                  std::vector<NodeRow>& rows) override;

  // Always Success: there for configurations that enable it.
  Status PreScore(CycleState&, const PodInfo&, const NodeTable&,
                  absl::Span<const NodeRow>) override {
    return Status::Success();
  }
  // The number of PreferNoSchedule taints that the pod does not tolerate.
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  // 0 if the pod tolerates all such taints that there are.
  std::optional<int64_t> UniformScore(const CycleState&, const PodInfo& pod,
                                      const NodeTable& nodes) const override;
  absl::Status NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override;

  // A node that is new or changed its taints so that the pod tolerates them; a toleration of the
  // pod's own.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNodeTaints; }

 private:
  TaintIndex index_;  // of the table that was asked about last
};

}  // namespace berth

#endif  // BERTH_PLUGINS_TAINT_TOLERATION_TAINT_TOLERATION_H_
