// SPDX-License-Identifier: Apache-2.0
// PodTopologySpread: spreads the pods that belong together evenly over zones, hosts and the like.
#ifndef BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_POD_TOPOLOGY_SPREAD_H_
#define BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_POD_TOPOLOGY_SPREAD_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/domain_rules.h"
#include "berth/incremental/domain_scorer.h"
#include "berth/incremental/indexed_hints.h"
#include "berth/incremental/sign.h"
#include "plugins/pod_topology_spread/counted_pods.h"
#include "plugins/pod_topology_spread/default_selector.h"
#include "plugins/pod_topology_spread/pod_topology_spread_args.h"

namespace berth {

// The constraints of pods that have none of their own, but for the selectors.
struct DefaultSpread {
  SpreadConstraints constraints;
  // The built-in ones: nodes that lack a topology key are scored by the other constraints.
  bool from_system = true;
};

// DoNotSchedule constraints filter, ScheduleAnyway constraints score; PreFilter and PreScore say
// Skip for pods without such. As kube-scheduler v1.35 podtopologyspread.
class PodTopologySpread final : public Plugin,
                                public DomainRulesPlugin,
                                public PreScorePlugin,
                                public ScorePlugin,
                                public ScoreExtensions,
                                public DomainScorer,
                                public EnqueueExtensions,
                                public IndexedHints,
                                public SignPlugin,
                                public ExplainsWaitingAs<WaitingReason::kTopology> {
 public:
  static constexpr absl::string_view kName = "PodTopologySpread";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  PodTopologySpread(DefaultSpread defaults, Handle& handle)
      : defaults_(std::move(defaults)), handle_(handle) {}

  absl::string_view Name() const override { return kName; }
  // One rule for each hard constraint.
  Status ListRules(const PodInfo& pod, const NodeTable& nodes, DomainRules& rules) override;
  void CountOtherPods(const PodInfo&, const PodInfo&, const NodeInfo&, int64_t,
                      DomainRules&) const override {}  // selectors match all pods that count

  Status PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                  absl::Span<const NodeRow> feasible) override;
  // One sum for each soft constraint: the pods that it counts.
  std::optional<Status> PreScoreDomains(CycleState& state, const PodInfo& pod,
                                        const NodeTable& nodes,
                                        std::vector<DomainSum>& sums) override;
  void SetFeasible(CycleState& state, const EquivalentNodes& feasible) override;
  Feasible ScoresDependOn(const CycleState& state) const override;
  // The matching pods in the node's domains, those of small topologies weighing less.
  absl::StatusOr<int64_t> Score(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  absl::Status NormalizeScores(const CycleState& state, const PodInfo&,
                               absl::Span<const NodeRow> rows,
                               absl::Span<int64_t> scores) const override;

  // Pods that the hard constraints count and that come, go or change their labels; nodes with all
  // topology keys that come, go or change labels or taints; a toleration of the pod's own.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override;
  // By the labels that the hard constraints count.
  bool IndexPod(const PodInfo& pod, std::vector<uint64_t>& values) const override;
  bool IndexChange(const ObjectChange& change, std::vector<uint64_t>& values) const override;

  // Signs pods that no constraint applies to; every other verdict depends on where pods run. With
  // default constraints verdicts depend on objects (Services and such), and are not kept by node.
  Status SignPod(const PodInfo& pod, PodSignature&) const override;
  bool SignsSpecOnly() const override { return defaults_.constraints.empty(); }
  // Of the pods that it signs: those without a constraint.
  Aspects DependsOn() const override {
    return defaults_.constraints.empty() ? Aspect::kNothing : Aspect::kObjects;
  }

 private:
  // The constraints of one kind that apply to `pod`, its own or else the default ones.
  absl::StatusOr<SpreadConstraints> ConstraintsOf(const PodInfo& pod,
                                                  UnsatisfiableAction action) const;
  Status FindTerms(CycleState& state, const PodInfo& pod, const NodeTable& nodes) const;
  absl::StatusOr<QueueingHint> AfterPodChange(const PodInfo& pod, const ObjectChange& change) const;
  absl::StatusOr<QueueingHint> AfterNodeChange(const PodInfo& pod,
                                               const ObjectChange& change) const;

  const DefaultSpread defaults_;
  Handle& handle_;
  mutable DefaultSelectors default_selectors_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_POD_TOPOLOGY_SPREAD_H_
