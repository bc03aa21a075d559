// SPDX-License-Identifier: Apache-2.0
// The rule of NodeUnschedulable in both forms, and what may end a rejection.
#include "plugins/node_unschedulable/node_unschedulable.h"

#include <cstring>

#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {
namespace {

bool ToleratesCordon(const PodInfo& pod) {
  static const Taint cordon = {Symbol::Intern("node.kubernetes.io/unschedulable"), Symbol(),
                               TaintEffect::kNoSchedule};
  return Tolerates(pod.tolerations(), cordon);
}

absl::StatusOr<QueueingHint> AfterNodeChange(const PodInfo&, const ObjectChange& change) {
  const bool was_closed = change.old_node == nullptr || change.old_node->unschedulable();
  return QueueIf(was_closed && !change.new_node->unschedulable());
}

absl::StatusOr<QueueingHint> AfterTolerationChange(const PodInfo& pod, const ObjectChange& change) {
  return QueueIf(change.new_pod->uid() == pod.uid() && ToleratesCordon(*change.new_pod));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> NodeUnschedulable::Create(const PluginArgs&, Handle&) {
  return std::make_unique<NodeUnschedulable>();
}

Status NodeUnschedulable::Filter(const CycleState&, const PodInfo& pod,
                                 const NodeInfo& node) const {
  if (!node.unschedulable() || ToleratesCordon(pod)) return Status::Success();
  return Status::UnschedulableAndUnresolvable("node(s) were unschedulable");
}

Status NodeUnschedulable::FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                                      NodeVerdicts& verdicts) const {
  if (ToleratesCordon(pod)) return Status::Success();
  const absl::Span<const uint8_t> unschedulable = nodes.unschedulable();
  // Mostly there is none at all, which is quickly seen.
  if (std::memchr(unschedulable.data(), 1, unschedulable.size()) == nullptr) {
    return Status::Success();
  }
  for (const NodeRow row : verdicts.candidates()) {
    if (unschedulable[row] != 0) verdicts.Set(row, Code::kUnschedulableAndUnresolvable, 0);
  }
  return Status::Success();
}

std::vector<ClusterEventWithHint> NodeUnschedulable::EventsToRegister() const {
  return {{{EventResource::Node(), action::kAdd | action::kUpdateNodeTaint}, &AfterNodeChange},
          {{EventResource::Pod(), action::kUpdatePodToleration}, &AfterTolerationChange}};
}

Status NodeUnschedulable::SignPod(const PodInfo& pod, PodSignature& signature) const {
  signature.Add(int64_t{ToleratesCordon(pod)});
  return Status::Success();
}

}  // namespace berth
