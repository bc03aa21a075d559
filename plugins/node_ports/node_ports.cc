// The rule of NodePorts in both forms, and what may end a rejection.
#include "plugins/node_ports/node_ports.h"

namespace berth {
namespace {

bool Conflict(absl::Span<const HostPort> wanted, absl::Span<const HostPort> used) {
  for (const HostPort& port : wanted) {
    for (const HostPort& other : used) {
      if (port.ConflictsWith(other)) return true;
    }
  }
  return false;
}

absl::StatusOr<QueueingHint> AfterPodDeletion(const PodInfo& pod, const ObjectChange& change) {
  const PodInfo& gone = *change.old_pod;
  if (gone.node_name().empty() && gone.nominated_node_name().empty()) return QueueingHint::kSkip;
  return Conflict(pod.host_ports(), gone.host_ports()) ? QueueingHint::kQueue : QueueingHint::kSkip;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> NodePorts::Create(const PluginArgs&, Handle&) {
  return std::make_unique<NodePorts>();
}

Status NodePorts::PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) {
  return pod.host_ports().empty() ? Status::Skip() : Status::Success();
}

Status NodePorts::Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const {
  if (!Conflict(pod.host_ports(), node.used_ports())) return Status::Success();
  return Status::Unschedulable("node(s) didn't have free ports for the requested pod ports");
}

Status NodePorts::FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                              NodeVerdicts& verdicts) const {
  if (pod.host_ports().empty()) return Status::Success();
  const absl::Span<const uint8_t> has_used_ports = nodes.has_used_ports();
  for (const NodeRow row : verdicts.candidates()) {
    if (has_used_ports[row] != 0 && Conflict(pod.host_ports(), nodes.node(row).used_ports())) {
      verdicts.Set(row, Code::kUnschedulable, 0);
    }
  }
  return Status::Success();
}

std::vector<ClusterEventWithHint> NodePorts::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kDelete}, &AfterPodDeletion},
          {{EventResource::Node(), action::kAdd}, nullptr}};
}

Status NodePorts::SignPod(const PodInfo& pod, PodSignature& signature) const {
  signature.Add(static_cast<int64_t>(pod.host_ports().size()));
  for (const HostPort& port : pod.host_ports()) {
    signature.Add(int64_t{port.ip.id()});
    signature.Add(int64_t{port.protocol.id()});
    signature.Add(int64_t{port.port});
  }
  return Status::Success();
}

}  // namespace berth
