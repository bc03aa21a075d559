// SPDX-License-Identifier: Apache-2.0
// VolumeRestrictions: disks that one node may mount once, and claims that one pod may use.
#ifndef BERTH_PLUGINS_VOLUME_RESTRICTIONS_VOLUME_RESTRICTIONS_H_
#define BERTH_PLUGINS_VOLUME_RESTRICTIONS_VOLUME_RESTRICTIONS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"
#include "berth/incremental/filter_inputs.h"
#include "berth/incremental/object_filter.h"
#include "berth/incremental/sign.h"

namespace berth {

class ClaimUsers;

// Disks in the pod itself (GCE, EBS, iSCSI, RBD) must not be mounted twice on a node unless all
// mounts are read-only; a claim with the access mode ReadWriteOncePod must not be used by another
// pod anywhere. As kube-scheduler v1.35 volumerestrictions.
class VolumeRestrictions final : public Plugin,
                                 public PreFilterPlugin,
                                 public PreFilterExtensions,
                                 public FilterPlugin,
                                 public ObjectFilter,
                                 public EnqueueExtensions,
                                 public SignPlugin,
                                 public ExplainsWaitingAs<WaitingReason::kVolumes> {
 public:
  static constexpr absl::string_view kName = "VolumeRestrictions";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit VolumeRestrictions(Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult&) override;
  Status AddPod(CycleState& state, const PodInfo&, const PodInfo& added, const NodeInfo&) override;
  Status RemovePod(CycleState& state, const PodInfo&, const PodInfo& removed,
                   const NodeInfo&) override;
  Status Filter(const CycleState& state, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  // Which claims only one pod may use, and whether others do.
  void AddInputs(const CycleState& state, const PodInfo&, FilterInputs& inputs) const override;

  // The end of a pod with one of the disks or claims; the pod's claims; any new node.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  // Only pods that have neither such disks nor claims are signed, and nothing of those matters.
  Status SignPod(const PodInfo& pod, PodSignature&) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNothing; }

 private:
  Handle& handle_;
  std::shared_ptr<ClaimUsers> claim_users_;  // shared by the profiles
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_RESTRICTIONS_VOLUME_RESTRICTIONS_H_
