// kube-scheduler v1.35 podtopologyspread/common.go.
#include "plugins/pod_topology_spread/spread_rules.h"

#include "absl/algorithm/container.h"

namespace berth {

bool HasTopologyKeys(const LabelSet& labels,
                     absl::Span<const TopologySpreadConstraint> constraints) {
  return absl::c_all_of(constraints, [&](const TopologySpreadConstraint& constraint) {
    return labels.Has(constraint.topology_key);
  });
}

bool HasTopologyKeys(const LabelColumns& columns, NodeRow row) {
  return absl::c_all_of(columns, [row](const auto* column) { return column->at(row).present; });
}

LabelColumns TopologyColumns(const NodeTable& nodes,
                             absl::Span<const TopologySpreadConstraint> constraints) {
  LabelColumns columns;
  for (const TopologySpreadConstraint& constraint : constraints) {
    columns.push_back(&nodes.label_column(constraint.topology_key));
  }
  return columns;
}

bool Counts(const TopologySpreadConstraint& constraint, const PodInfo& pod, const NodeInfo& node) {
  if (constraint.node_affinity_policy == NodeInclusionPolicy::kHonor &&
      !pod.required_node_affinity().empty() &&
      !pod.required_node_affinity().Matches(node.labels(), node.name())) {
    return false;
  }
  return constraint.node_taints_policy == NodeInclusionPolicy::kIgnore ||
         FindUntoleratedTaint(node.taints(), pod.tolerations(), PreventsScheduling) == nullptr;
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
