// SPDX-License-Identifier: Apache-2.0
// DynamicResources: the ResourceClaims of a pod have, or can get, devices that its node can use.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/columns/node_verdicts.h"
#include "berth/devices/device_allocator.h"
#include "berth/devices/device_limits.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/extensions/explain.h"
#include "berth/extensions/member_choices.h"
#include "berth/extensions/post_filter_bound.h"
#include "berth/extensions/post_filter_events.h"
#include "berth/extensions/state_use.h"
#include "berth/extensions/unread_fields.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/bind.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/queue_sort.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "berth/handle/gone_in_plan.h"
#include "berth/incremental/node_changes.h"
#include "berth/incremental/sign.h"
#include "berth/incremental/uniform_score.h"
#include "berth/preemption/held_elsewhere.h"
#include "plugins/dynamic_resources/claim_binding.h"
#include "plugins/dynamic_resources/claim_reader.h"
#include "plugins/dynamic_resources/claim_verdicts.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"
#include "plugins/dynamic_resources/device_preemption.h"
#include "plugins/dynamic_resources/dynamic_resources_args.h"
#include "plugins/dynamic_resources/fields_of_gates.h"
#include "plugins/dynamic_resources/gang_devices.h"
#include "plugins/dynamic_resources/incomplete_pools.h"
#include "plugins/dynamic_resources/node_allocations.h"
#include "plugins/dynamic_resources/nominated_devices.h"
#include "plugins/dynamic_resources/noted_preemptors.h"
#include "plugins/dynamic_resources/shared_claims.h"

namespace berth {

// Says Skip for pods without claims. Reserve takes devices, so that no other pod is given them;
// PreBind writes that to the claims, and waits until the devices are ready. As kube-scheduler v1.35
// dynamicresources: docs/dra.md.
class DynamicResources final : public Plugin,
                               public PreEnqueuePlugin,
                               public PreFilterPlugin,
                               public PreFilterExtensions,
                               public FilterPlugin,
                               public MemberChoices,
                               public PostFilterPlugin,
                               public PostFilterBound,
                               public PostFilterEvents,
                               public ScorePlugin,
                               public UniformScorePlugin,
                               public ScoreExtensions,
                               public ReservePlugin,
                               public PreBindPlugin,
                               public EnqueueExtensions,
                               public SignPlugin,
                               public NodeChangeSource,
                               public ExplainPlugin,
                               public StateUsePlugin,
                               public WaitingExplainer,
                               public UnreadFields {
 public:
  static constexpr absl::string_view kName = "DynamicResources";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit DynamicResources(Handle& handle, const DynamicResourcesArgs& args = {});

  absl::string_view Name() const override { return kName; }
  absl::Span<const StateUse> StateUses() const override;
  Status PreEnqueue(const PodInfo& pod) override;
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                   PreFilterResult&) override;
  // With preemptForDevices: a claim that only pods use which are gone gives its devices back. What
  // is promised to pods that are on their way stays promised.
  Status AddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                const NodeInfo& node) override;
  Status RemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                   const NodeInfo& node) override;
  Status Filter(const CycleState& state, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  // Claims of that name that are not allocated.
  std::vector<std::string> SharedBy(const PodInfo& pod) const override;
  bool HoldsForOtherNodes(const PodInfo& pod) const override;
  std::string WhyNotAllTried(const PodInfo& pod) const override;
  std::unique_ptr<CountedNeeds> CountNeeds(
      absl::Span<const std::shared_ptr<const PodInfo>> pods) const override;
  // Deallocates a claim whose devices are on none of the filtered nodes and that no other pod has
  // reserved. An explanation only says so. UnschedulableAndUnresolvable, so that nobody else is
  // evicted, while a preemptor's devices are on their way back.
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult&) override;
  // It may deallocate claims.
  bool MayHelp(const PodInfo& pod) override;
  // Unless it may: claims of the pod that have devices, or are left over.
  bool FreesLowerPriorityOnly(const PodInfo& pod) override;
  // Whoever rejected it: claims of those that it could evict are still being written, or there are
  // no devices for it where others would make room.
  bool WaitsForEvents(const PodInfo& pod) const override {
    return preemption_.AwaitsWrites(pod) || without_devices_.Has(pod);
  }
  // For each prioritised list the more, the earlier in the list what the node can give is. Among
  // nodes that give the same, by deviceScoring.
  absl::StatusOr<int64_t> Score(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  // 0 for pods without a claim that has to be allocated, and for those with claims of which no node
  // has more to give than another one.
  std::optional<int64_t> UniformScore(const CycleState& state, const PodInfo& pod,
                                      const NodeTable& nodes) const override;
  absl::Status NormalizeScores(const CycleState& state, const PodInfo& pod,
                               absl::Span<const NodeRow> rows,
                               absl::Span<int64_t> scores) const override;
  Status Reserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  void Unreserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  Status PreBindPreFlight(CycleState& state, const PodInfo& pod,
                          absl::string_view node_name) override;
  Status PreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  // Whether the binding conditions of all devices are true, and no failure condition is.
  Status PollPreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;

  // Nodes, claims, the pod's own claims, classes and slices; with gates more.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  // For claims without devices what they ask for, so that those of one template are alike; for
  // others where they can be used. Pods whose claims are not there are not signed.
  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  Aspects DependsOn() const override {
    return Aspect::kNodeName | Aspect::kNodeLabels | Aspect::kNodeOther |
           (preempts_ ? Aspect::kNodePods : Aspect::kNothing) |
           (classes_ == nullptr ? Aspect::kNothing : Aspect::kNodeAllocatable);
  }
  uint64_t NodeChangesVersion() const override { return devices_->version(); }
  std::optional<absl::Span<const Symbol>> NodeChangesSince(uint64_t version) const override {
    return devices_->ChangesSince(version);
  }

  // By claim the devices that it would get; by request which devices are out of the question, and
  // why: "gpu-0, gpu-1: selector #0: EXPRESSION".
  std::vector<NodeNote> ExplainNode(const CycleState& state, const PodInfo& pod,
                                    const NodeInfo& node) const override;
  std::vector<PlannedAllocation> ExplainAllocations(const CycleState& state, const PodInfo& pod,
                                                    const NodeInfo& node) const override;

  // Behind upstream's text the feature gates that are off and without which the pod would have, or
  // share, devices that match; of a pod in PreBind the conditions that are not true yet.
  void ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable& nodes,
                      WaitingFor& waiting) const override;
  std::vector<UnreadField> UnreadIn(const Object& object) const override;

 private:
  void ExplainPreBind(const PodInfo& pod, WaitingFor& waiting) const;
  // What the claims get on the node that have no devices yet.
  Status Allocate(ClaimsState& data, const NodeInfo& node);
  // The same, where members of the gang exchange devices.
  Status AllocateByExchange(ClaimsState& data, const NodeInfo& node);
  Status SetAllocations(ClaimsState& data, const ClaimsToAllocate& on_node,
                        const NodeAllocation& allocation) const;
  // Others are gone, or back, for a dry run.
  void FollowLimits(const PodInfo& pod, ClaimsState& data) const;
  // Whether the claim's devices are what keeps the pod off some node.
  bool IsInTheWay(const ClaimsState& data, size_t claim, const NodeStatuses& statuses) const;
  void Reject(NodeRow row, ClaimVerdict verdict, Code code, NodeVerdicts& verdicts) const;
  std::string GroupOf(const PodInfo& pod) const;  // "" for none
  std::shared_ptr<const DeviceLimitsOfPod> FindLimits(const PodInfo& pod) const {
    return limits_->For(handle_.profile_name(), pod);
  }
  // What is planned for nominated pods, and the pod with these claims cannot have.
  std::shared_ptr<const NominatedUses> FindNominated(const PodInfo& pod,
                                                     absl::Span<const PodClaim> claims) const;

  Handle& handle_;
  const std::shared_ptr<DeviceLimits> limits_;
  const bool preempts_;
  const std::optional<absl::Duration> binding_timeout_;  // with DRADeviceBindingConditions
  mutable FieldsOfGatesInSlices ignored_fields_;         // for explanations
  mutable IncompletePools incomplete_pools_;             // for explanations
  const DeviceScoring scoring_;
  const std::shared_ptr<ClusterDevices> devices_;
  const std::shared_ptr<ExtendedResourceClasses> classes_;  // null without DRAExtendedResource

  // In the order of the extension points.
  const ClaimReader reader_;
  NodeAllocations allocations_;
  GangDevices gang_;
  const ClaimVerdicts verdicts_;
  DevicePreemption preemption_;
  mutable NotedPreemptors without_devices_;  // until a pod of the spec is placed
  const std::shared_ptr<const GoneInPlan> gone_in_plan_;
  const std::shared_ptr<NominatedDevices> nominated_;
  const std::shared_ptr<SharedHoldings> shared_holdings_;  // null without preemptForDevices
  const std::shared_ptr<SharedClaims> shared_claims_;      // the same
  ClaimBinding binding_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_
