// SPDX-License-Identifier: Apache-2.0
// VolumeBinding: the claims of a pod have, or can get, volumes that its node can use.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_VOLUME_BINDING_H_
#define BERTH_PLUGINS_VOLUME_BINDING_VOLUME_BINDING_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/extensions/state_use.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/bind.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "berth/incremental/domain_scorer.h"
#include "berth/incremental/filter_inputs.h"
#include "berth/incremental/object_filter.h"
#include "berth/incremental/sign.h"
#include "plugins/volume_binding/assumed_volumes.h"
#include "plugins/volume_binding/found_volumes.h"
#include "plugins/volume_binding/pod_volumes.h"
#include "plugins/volume_binding/volume_binding_args.h"

namespace berth {

// Says Skip for pods without claims. Reserve takes volumes so that no other pod chooses them.
// PreBind writes that to the cluster, and the pod is bound when its claims are. As kube-scheduler
// v1.35 volumebinding, with StorageCapacityScoring off.
class VolumeBinding final : public Plugin,
                            public PreFilterPlugin,
                            public FilterPlugin,
                            public ObjectFilter,
                            public PreScorePlugin,
                            public ScorePlugin,
                            public DomainScorer,
                            public ReservePlugin,
                            public PreBindPlugin,
                            public EnqueueExtensions,
                            public SignPlugin,
                            public StateUsePlugin,
                            public ExplainsWaitingAs<WaitingReason::kVolumes> {
 public:
  static constexpr absl::string_view kName = "VolumeBinding";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit VolumeBinding(Handle& handle, const VolumeBindingArgs& args = {})
      : handle_(handle), bind_timeout_(absl::Seconds(args.bind_timeout_seconds)) {}

  absl::string_view Name() const override { return kName; }
  absl::Span<const StateUse> StateUses() const override;
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                   PreFilterResult&) override;
  Status Filter(const CycleState& state, const PodInfo&, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  // The claims, the volumes that they are bound to or could take, and where others can be made.
  void AddInputs(const CycleState& state, const PodInfo&, FilterInputs& inputs) const override;

  // Nothing is scored: the feature gate for that is off.
  Status PreScore(CycleState&, const PodInfo&, const NodeTable&,
                  absl::Span<const NodeRow>) override {
    return Status::Skip();
  }
  std::optional<Status> PreScoreDomains(CycleState&, const PodInfo&, const NodeTable&,
                                        std::vector<DomainSum>&) override {
    return Status::Skip();
  }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&, const NodeInfo&) const override {
    return 0;
  }

  Status Reserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  void Unreserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  Status PreBindPreFlight(CycleState& state, const PodInfo& pod,
                          absl::string_view node_name) override;
  Status PreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  Status PollPreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;

  // Classes, the pod's claims, volumes, nodes, CSINodes, drivers and storage capacities.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  // Only pods without claims are signed, and nothing matters for those.
  Status SignPod(const PodInfo& pod, PodSignature&) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNothing; }

 private:
  const api::CSINode* CsiNode(const NodeInfo& node) const;
  Status EvaluateRows(const PodVolumes& volumes, const NodeTable& nodes,
                      NodeVerdicts& verdicts) const;
  void EvaluateRowsOfOne(const DelayedClaim& claim, const NodeTable& nodes,
                         NodeVerdicts& verdicts) const;
  // Counts an error: kube-scheduler's scheduler_volume_scheduling_stage_error_total.
  Status Counted(absl::string_view stage, Status status) const;

  Handle& handle_;
  const absl::Duration bind_timeout_;
  AssumedVolumes assumed_;
  KnownVolumes known_;
  mutable FoundVolumes found_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_VOLUME_BINDING_H_
