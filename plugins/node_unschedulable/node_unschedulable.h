// SPDX-License-Identifier: Apache-2.0
// NodeUnschedulable: keeps pods off cordoned nodes.
#ifndef BERTH_PLUGINS_NODE_UNSCHEDULABLE_NODE_UNSCHEDULABLE_H_
#define BERTH_PLUGINS_NODE_UNSCHEDULABLE_NODE_UNSCHEDULABLE_H_

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
#include "berth/incremental/sign.h"

namespace berth {

// A node with spec.unschedulable takes only pods that tolerate the taint
// node.kubernetes.io/unschedulable:NoSchedule. As kube-scheduler v1.35 nodeunschedulable.
class NodeUnschedulable final : public Plugin,
                                public FilterPlugin,
                                public EnqueueExtensions,
                                public SignPlugin,
                                public ExplainsWaitingAs<WaitingReason::kTaints> {
 public:
  static constexpr absl::string_view kName = "NodeUnschedulable";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;

  // A node that is new or no longer cordoned; a toleration of the pod's own.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  // All that counts of the tolerations is whether they tolerate that taint.
  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNodeUnschedulable; }
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_UNSCHEDULABLE_NODE_UNSCHEDULABLE_H_
