// SPDX-License-Identifier: Apache-2.0
// kube-scheduler v1.35 podtopologyspread/common.go.
#include "plugins/pod_topology_spread/counted_pods.h"

#include "absl/algorithm/container.h"

namespace berth {

bool HasTopologyKeys(const LabelSet& labels,
                     absl::Span<const TopologySpreadConstraint> constraints) {
  return absl::c_all_of(constraints, [&](const TopologySpreadConstraint& constraint) {
    return labels.Has(constraint.topology_key);
  });
}

NodeScope NodesWithTopologyKeys(absl::Span<const TopologySpreadConstraint> constraints) {
  NodeScope scope;
  for (const TopologySpreadConstraint& constraint : constraints) {
    scope.label_keys.push_back(constraint.topology_key);
  }
  return scope;
}

NodeScope CountedNodes(const TopologySpreadConstraint& constraint, const PodInfo& pod,
                       NodeScope nodes) {
  if (constraint.node_affinity_policy == NodeInclusionPolicy::kHonor) {
    nodes.affinity = pod.required_node_affinity();
  }
  if (constraint.node_taints_policy == NodeInclusionPolicy::kHonor) {
    nodes.tolerations.emplace(pod.tolerations().begin(), pod.tolerations().end());
  }
  return nodes;
}

std::shared_ptr<const PodCounts> MatchingPods(const NodeTable& nodes, const LabelSelector& selector,
                                              Symbol namespace_name, const NodeScope& scope) {
  return nodes.pods().Count(
      {.namespaces = {namespace_name},
       .labels = selector.SelectsEverything() ? LabelSelector::Nothing() : selector,
       .counts_terminating = false},
      scope);
}

int64_t CountMatchingPods(const NodeInfo& node, const LabelSelector& selector,
                          Symbol namespace_name) {
  if (selector.SelectsEverything()) return 0;
  int64_t count = 0;
  for (const auto& pod : node.pods()) {
    if (pod->namespace_name() != namespace_name || pod->deletion_time().has_value()) continue;
    if (selector.Matches(pod->labels())) ++count;
  }
  return count;
}

}  // namespace berth
