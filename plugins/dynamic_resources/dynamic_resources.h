// SPDX-License-Identifier: Apache-2.0
// DynamicResources: the place of dynamic resource allocation in a profile. Claims are not
// supported yet: a pod that has any is rejected and says so.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
#include "berth/incremental/sign.h"
#include "plugins/dynamic_resources/dynamic_resources_args.h"

namespace berth {

// For pods without claims as kube-scheduler v1.35 dynamicresources: PreFilter says Skip, every
// node scores 0, and PostFilter has nothing to deallocate.
class DynamicResources final : public Plugin,
                               public PreEnqueuePlugin,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public PostFilterPlugin,
                               public ScorePlugin,
                               public ReservePlugin,
                               public PreBindPlugin,
                               public EnqueueExtensions,
                               public SignPlugin,
                               public ExplainsWaitingAs<WaitingReason::kDevices> {
 public:
  static constexpr absl::string_view kName = "DynamicResources";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status PreEnqueue(const PodInfo&) override { return Status::Success(); }
  Status PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) override;
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo&) const override;
  Status FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable&,
                     NodeVerdicts& verdicts) const override;
  Status PostFilter(CycleState&, const PodInfo&, const NodeStatuses&, PostFilterResult&) override;
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&, const NodeInfo&) const override {
    return 0;
  }
  absl::Status ScoreNodes(const CycleState&, const PodInfo&, const NodeTable&,
                          absl::Span<const NodeRow>, absl::Span<int64_t> scores) const override;
  Status Reserve(CycleState&, const PodInfo&, absl::string_view) override {
    return Status::Success();
  }
  void Unreserve(CycleState&, const PodInfo&, absl::string_view) override {}
  Status PreBindPreFlight(CycleState&, const PodInfo&, absl::string_view) override {
    return Status::Skip();
  }
  Status PreBind(CycleState&, const PodInfo&, absl::string_view) override {
    return Status::Success();
  }

  // None: claims of a pod cannot be changed, and nothing else would help.
  std::vector<ClusterEventWithHint> EventsToRegister() const override { return {}; }

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNothing; }
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H_
