// SPDX-License-Identifier: Apache-2.0
// The rule of NodePorts in both forms, and what may end a rejection.
#include "plugins/node_ports/node_ports.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {
namespace {

// The host ports that a pod wants, by number.
class WantedPorts {
 public:
  explicit WantedPorts(absl::Span<const HostPort> ports) : ports_(ports.begin(), ports.end()) {
    std::sort(ports_.begin(), ports_.end(),
              [](const HostPort& a, const HostPort& b) { return a.port < b.port; });
  }

  bool ConflictWith(absl::Span<const HostPort> used) const {
    return std::any_of(used.begin(), used.end(), [this](const HostPort& other) {
      auto at = std::lower_bound(ports_.begin(), ports_.end(), other.port,
                                 [](const HostPort& port, int32_t p) { return port.port < p; });
      for (; at != ports_.end() && at->port == other.port; ++at) {
        if (at->ConflictsWith(other)) return true;
      }
      return false;
    });
  }

 private:
  absl::InlinedVector<HostPort, 4> ports_;
};

absl::StatusOr<QueueingHint> AfterPodDeletion(const PodInfo& pod, const ObjectChange& change) {
  const PodInfo& gone = *change.old_pod;
  if (gone.node_name().empty() && gone.nominated_node_name().empty()) return QueueingHint::kSkip;
  return QueueIf(WantedPorts(pod.host_ports()).ConflictWith(gone.host_ports()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> NodePorts::Create(const PluginArgs&, Handle&) {
  return std::make_unique<NodePorts>();
}

Status NodePorts::PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) {
  return pod.host_ports().empty() ? Status::Skip() : Status::Success();
}

Status NodePorts::Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const {
  if (!WantedPorts(pod.host_ports()).ConflictWith(node.used_ports())) return Status::Success();
  return Status::Unschedulable("node(s) didn't have free ports for the requested pod ports");
}

Status NodePorts::FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                              NodeVerdicts& verdicts) const {
  if (pod.host_ports().empty()) return Status::Success();
  const WantedPorts wanted(pod.host_ports());
  const absl::Span<const uint8_t> has_used_ports = nodes.has_used_ports();
  for (const NodeRow row : verdicts.candidates()) {
    if (has_used_ports[row] != 0 && wanted.ConflictWith(nodes.node(row).used_ports())) {
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
