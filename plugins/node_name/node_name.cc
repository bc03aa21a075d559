// SPDX-License-Identifier: Apache-2.0
// The rule of NodeName in both forms.
#include "plugins/node_name/node_name.h"

#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> NodeName::Create(const PluginArgs&, Handle&) {
  return std::make_unique<NodeName>();
}

Status NodeName::Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const {
  if (pod.node_name().empty() || node.name().view() == pod.node_name()) return Status::Success();
  return Status::UnschedulableAndUnresolvable("node(s) didn't match the requested node name");
}

Status NodeName::FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                             NodeVerdicts& verdicts) const {
  if (pod.node_name().empty()) return Status::Success();
  const std::optional<Symbol> name = Symbol::Find(pod.node_name());
  const NodeRow wanted = name.has_value() ? nodes.FindRow(*name) : -1;
  for (const NodeRow row : verdicts.candidates()) {
    if (row != wanted) verdicts.Set(row, Code::kUnschedulableAndUnresolvable, 0);
  }
  return Status::Success();
}

std::vector<ClusterEventWithHint> NodeName::EventsToRegister() const {
  return {{{EventResource::Node(), action::kAdd}, nullptr}};
}

Status NodeName::SignPod(const PodInfo& pod, PodSignature& signature) const {
  signature.Add(pod.node_name());
  return Status::Success();
}

}  // namespace berth
