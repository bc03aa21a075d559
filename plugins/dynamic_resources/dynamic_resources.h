// SPDX-License-Identifier: Apache-2.0
// DynamicResources: the ResourceClaims of a pod have, or can get, devices that its node can use.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/devices/device_allocator.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/extensions/explain.h"
#include "berth/extensions/post_filter_bound.h"
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
#include "plugins/dynamic_resources/cluster_devices.h"
#include "plugins/dynamic_resources/dynamic_resources_args.h"
#include "plugins/dynamic_resources/extended_resource_claim.h"
#include "plugins/dynamic_resources/gang_devices.h"
#include "plugins/dynamic_resources/node_allocations.h"

namespace berth {

struct ClaimsOfPod;
struct ClaimsState;

// Says Skip for pods without claims. Reserve takes devices, so that no other pod is given them;
// PreBind writes that to the claims, and waits until the devices are ready. As kube-scheduler v1.35
// dynamicresources: docs/dra.md.
class DynamicResources final : public Plugin,
                               public PreEnqueuePlugin,
                               public PreFilterPlugin,
                               public PreFilterExtensions,
                               public FilterPlugin,
                               public PostFilterPlugin,
                               public PostFilterBound,
                               public ScorePlugin,
                               public UniformScorePlugin,
                               public ScoreExtensions,
                               public ReservePlugin,
                               public PreBindPlugin,
                               public EnqueueExtensions,
                               public SignPlugin,
                               public NodeChangeSource,
                               public ExplainPlugin,
                               public ExplainsWaitingAs<WaitingReason::kDevices> {
 public:
  static constexpr absl::string_view kName = "DynamicResources";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit DynamicResources(Handle& handle, const DynamicResourcesArgs& args = {});

  absl::string_view Name() const override { return kName; }
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
  // Deallocates a claim whose devices are on none of the filtered nodes and that no other pod has
  // reserved. An explanation only says so. UnschedulableAndUnresolvable, so that nobody else is
  // evicted, while a preemptor's devices are on their way back.
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult&) override;
  // It may deallocate claims.
  bool MayHelp(const PodInfo& pod) override;
  // For each prioritised list the more, the earlier in the list what the node can give is. Among
  // nodes that give the same, by deviceScoring.
  absl::StatusOr<int64_t> Score(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  // 0 for pods without a claim that has to be allocated.
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

 private:
  // What Filter says of a node, as a number that nodes with the same reason share.
  enum class Verdict : uint8_t {
    kFeasible,
    kCannotAllocate,
    kInvalidPools,
    kTimedOut,
    kUnavailable,
    kStaleClaim,
    kCannotFit,
    kCannotAsk,
  };
  // An error ends the attempt.
  absl::StatusOr<Verdict> VerdictOn(const ClaimsOfPod& claims, const NodeInfo& node) const;
  Status StatusOf(Verdict verdict) const;
  Code CodeOf(Verdict verdict) const;
  static Verdict VerdictOf(NodeAllocation::Outcome outcome);
  static bool IsElsewhere(const ClaimsOfPod& claims, const NodeInfo& node);
  // The verdict with the devices that are free now.
  absl::StatusOr<Verdict> VerdictByFree(const ClaimsOfPod& claims, const NodeInfo& node) const;
  // What members of the pod's gang may get instead of what they have, so that the pod has devices.
  std::optional<GangDevices::Exchange> FindExchange(const ClaimsOfPod& claims,
                                                    const NodeInfo& node) const;
  std::string GroupOf(const PodInfo& pod) const;  // "" for none
  // Of the special claim alone: kFeasible, kStaleClaim, kCannotFit or kCannotAsk.
  static Verdict VerdictOnSpecialClaim(const ClaimsOfPod& claims, const NodeInfo& node);
  // The verdict in a dry run in which claims gave devices back.
  absl::StatusOr<Verdict> VerdictOnReleased(const ClaimsState& data, const NodeInfo& node) const;
  // Whether a preemptor fits on its nominated node once claims there have lost their devices of
  // which no user is left; for a minute.
  bool WaitsForReturnedDevices(const CycleState& state, const PodInfo& pod,
                               const NodeStatuses& statuses);
  // Whether a device that a claim has, or is about to have, has binding conditions.
  static bool HasConditions(const ClaimsState& data);
  // Whether the classes of a claim exist.
  Status CheckClasses(const api::ResourceClaim& claim) const;

  // What the claims get on the node that have no devices yet.
  Status ReserveNew(ClaimsState& data, absl::string_view node_name);
  // Claims that the plan of an attempt frees.
  void ReleaseGoneInPlan(ClaimsState& data) const;
  ClaimToAllocate Parse(std::shared_ptr<const api::ResourceClaim> claim) const;
  void SignExchanges(const PodInfo& pod, const std::vector<PodClaim>& claims,
                     PodSignature& signature) const;
  int64_t ScoreOf(const ClaimsOfPod& claims, const NodeInfo& node,
                  const NodeAllocation& allocation) const;

  // --- DRAExtendedResource ---

  // Which class backs which resource; null without the gate.
  const ExtendedResourceClasses* Classes() const;
  // Whether the pod has claims, or may get the special one.
  bool MayUseDevices(const PodInfo& pod) const;
  void AddSpecialClaim(const PodInfo& pod, std::vector<ExtendedResource> resources,
                       ClaimsOfPod& of_pod);
  // Makes it, if it is not there yet, and writes what it gets.
  absl::Status BindSpecialClaim(ClaimsState& data, const PodInfo& pod,
                                std::optional<absl::Time> now);
  // The claims in the cluster: the special one as PreBind made it, if it did.
  static std::vector<Object> ClaimsInCluster(const ClaimsState& data);

  Handle& handle_;
  const bool preempts_;
  const bool waits_for_conditions_;  // DRADeviceBindingConditions
  const absl::Duration binding_timeout_;
  const DeviceScoring scoring_;
  const std::shared_ptr<ClusterDevices> devices_;
  const std::shared_ptr<ExtendedResourceClasses> classes_;  // null without DRAExtendedResource
  NodeAllocations allocations_;
  GangDevices gang_;
  const std::shared_ptr<const GoneInPlan> gone_in_plan_;
  absl::flat_hash_map<std::string, absl::Time> waits_since_;  // for returned devices, by uid
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_
