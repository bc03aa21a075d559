// SPDX-License-Identifier: Apache-2.0
// NodeVolumeLimits: how many volumes of a CSI driver a node can have attached.
#ifndef BERTH_PLUGINS_NODE_VOLUME_LIMITS_NODE_VOLUME_LIMITS_H_
#define BERTH_PLUGINS_NODE_VOLUME_LIMITS_NODE_VOLUME_LIMITS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/extensions/observer.h"
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

class AttachedVolumes;

// Counts each volume once, however many pods of the node use it. Says Skip for pods without claims
// and disks of their own. As kube-scheduler v1.35 nodevolumelimits.
class NodeVolumeLimits final : public Plugin,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public ObjectFilter,
                               public SyncObserver,
                               public EnqueueExtensions,
                               public SignPlugin,
                               public ExplainsWaitingAs<WaitingReason::kVolumes> {
 public:
  static constexpr absl::string_view kName = "NodeVolumeLimits";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit NodeVolumeLimits(Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult&) override;
  Status Filter(const CycleState& state, const PodInfo&, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  // The volumes of the pod, and whether objects changed what is attached somewhere, or may be.
  void AddInputs(const CycleState& state, const PodInfo&, FilterInputs& inputs) const override;

  // Reads all nodes.
  void OnSynced() override;
  void BeforeJournalOverflow() override;

  // New CSINodes and higher limits, pods and attachments that go, the pod's claims.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  // Only pods that this plugin skips are signed, and nothing matters for those.
  Status SignPod(const PodInfo& pod, PodSignature&) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNothing; }

 private:
  Handle& handle_;
  std::shared_ptr<AttachedVolumes> index_;  // shared by the profiles
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_VOLUME_LIMITS_NODE_VOLUME_LIMITS_H_
