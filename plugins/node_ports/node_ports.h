// SPDX-License-Identifier: Apache-2.0
// NodePorts: the host ports that the pod wants must be free on the node.
#ifndef BERTH_PLUGINS_NODE_PORTS_NODE_PORTS_H_
#define BERTH_PLUGINS_NODE_PORTS_NODE_PORTS_H_

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
#include "berth/incremental/sign.h"

namespace berth {

// Says Skip for pods without host ports. As kube-scheduler v1.35 nodeports.
class NodePorts final : public Plugin,
                        public PreFilterPlugin,
                        public FilterPlugin,
                        public EnqueueExtensions,
                        public SignPlugin,
                        public ExplainsWaitingAs<WaitingReason::kPorts> {
 public:
  static constexpr absl::string_view kName = "NodePorts";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) override;
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;

  // The end of an assigned or nominated pod with one of the ports; any new node.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNodePorts; }
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_PORTS_NODE_PORTS_H_
