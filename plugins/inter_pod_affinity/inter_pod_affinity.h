// SPDX-License-Identifier: Apache-2.0
// InterPodAffinity: near which other pods a pod must, must not, would or would not like to run.
#ifndef BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_H_
#define BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_H_

#include <memory>
#include <optional>
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
#include "plugins/inter_pod_affinity/affinity_terms.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity_args.h"

namespace berth {

// Required terms filter: the pod's affinity and anti-affinity, and the anti-affinity of the pods
// that run. Preferred terms of both sides score, and so do required affinity terms of the pods that
// run. PreFilter and PreScore say Skip where no term applies. As kube-scheduler v1.35
// interpodaffinity.
class InterPodAffinity final : public Plugin,
                               public DomainRulesPlugin,
                               public PreScorePlugin,
                               public ScorePlugin,
                               public ScoreExtensions,
                               public DomainScorer,
                               public EnqueueExtensions,
                               public IndexedHints,
                               public SignPlugin,
                               public ExplainsWaitingAs<WaitingReason::kAffinity> {
 public:
  static constexpr absl::string_view kName = "InterPodAffinity";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  InterPodAffinity(const InterPodAffinityArgs& args, Handle& handle)
      : args_(args), handle_(handle) {}

  absl::string_view Name() const override { return kName; }
  // A rule a required term of the pod, and a term of other pods.
  Status ListRules(const PodInfo& pod, const NodeTable&, DomainRules& rules) override;
  // The terms of other pods.
  void CountOtherPods(const PodInfo& pod, const PodInfo& changed, const NodeInfo& node,
                      int64_t difference, DomainRules& rules) const override;

  // Finds the terms that match, and what pods they count.
  Status PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                  absl::Span<const NodeRow>) override;
  // A sum a topology key.
  std::optional<Status> PreScoreDomains(CycleState& state, const PodInfo& pod,
                                        const NodeTable& nodes,
                                        std::vector<DomainSum>& sums) override;
  Feasible ScoresDependOn(const CycleState&) const override { return Feasible::kNothing; }
  // The sum over the node's domains; negative where anti-affinity prevails.
  absl::StatusOr<int64_t> Score(const CycleState& state, const PodInfo&,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState& state, const PodInfo&, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  absl::Status NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override;

  // A running pod that came, went or changed its labels so that the pod's own required terms may
  // now be met; a node that is new or in another domain of theirs.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }
  // By the labels that a pod must have to help by coming.
  bool IndexPod(const PodInfo& pod, std::vector<uint64_t>& values) const override;
  bool IndexChange(const ObjectChange& change, std::vector<uint64_t>& values) const override;

  // Signs pods without terms, by what the terms of other pods see of them.
  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override {
    return Aspect::kNodeLabels | Aspect::kNodePods | Aspect::kOtherNodes | Aspect::kObjects;
  }

 private:
  const InterPodAffinityArgs args_;
  Handle& handle_;
  SelectedNamespaces namespaces_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_H_
