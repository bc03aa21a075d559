// SPDX-License-Identifier: Apache-2.0
// VolumeZone: a pod runs in the zone and region that its bound volumes are labelled with.
#ifndef BERTH_PLUGINS_VOLUME_ZONE_VOLUME_ZONE_H_
#define BERTH_PLUGINS_VOLUME_ZONE_VOLUME_ZONE_H_

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

// Says Skip for pods without such volumes. As kube-scheduler v1.35 volumezone.
class VolumeZone final : public Plugin,
                         public PreFilterPlugin,
                         public FilterPlugin,
                         public ObjectFilter,
                         public EnqueueExtensions,
                         public SignPlugin,
                         public ExplainsWaitingAs<WaitingReason::kVolumes> {
 public:
  static constexpr absl::string_view kName = "VolumeZone";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit VolumeZone(Handle& handle) : handle_(handle) {}

  absl::string_view Name() const override { return kName; }
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                   PreFilterResult&) override;
  Status Filter(const CycleState& state, const PodInfo&, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  // The zones and regions of the volumes.
  void AddInputs(const CycleState& state, const PodInfo&, FilterInputs& inputs) const override;

  // A class that waits for the first consumer, the pod's claims, volumes whose labels change,
  // nodes.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  // Only pods without claims are signed, and nothing matters for those.
  Status SignPod(const PodInfo& pod, PodSignature&) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNothing; }

 private:
  Handle& handle_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_ZONE_VOLUME_ZONE_H_
