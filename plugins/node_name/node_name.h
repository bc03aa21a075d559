// SPDX-License-Identifier: Apache-2.0
// NodeName: spec.nodeName of the pod must be the node's name.
#ifndef BERTH_PLUGINS_NODE_NAME_NODE_NAME_H_
#define BERTH_PLUGINS_NODE_NAME_NODE_NAME_H_

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

// As kube-scheduler v1.35 nodename.
class NodeName final : public Plugin,
                       public FilterPlugin,
                       public EnqueueExtensions,
                       public SignPlugin,
                       public ExplainsWaitingAs<WaitingReason::kAffinity> {
 public:
  static constexpr absl::string_view kName = "NodeName";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;

  // Any new node.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  Aspects DependsOn() const override { return Aspect::kNodeName; }
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_NAME_NODE_NAME_H_
