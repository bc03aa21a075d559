// kube-scheduler v1.35 podtopologyspread/common.go.
#include "plugins/pod_topology_spread/spread_rules.h"

#include <numeric>
#include <optional>

#include "absl/algorithm/container.h"
#include "berth/framework/match_rows.h"

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

bool AllNodesHaveTopologyKeys(const LabelColumns& columns) {
  return absl::c_all_of(columns, [](const LabelColumn* column) {
    const std::optional<uint32_t> none = column->Find(LabelValue{});
    return !none.has_value() || column->row_count(*none) == 0;
  });
}

LabelColumns TopologyColumns(const NodeTable& nodes,
                             absl::Span<const TopologySpreadConstraint> constraints) {
  LabelColumns columns;
  for (const TopologySpreadConstraint& constraint : constraints) {
    columns.push_back(&nodes.label_column(constraint.topology_key));
  }
  return columns;
}

// --- Node inclusion policies ---------------------------------------------------------------------

bool Counts(const TopologySpreadConstraint& constraint, const PodInfo& pod, const NodeInfo& node) {
  if (constraint.node_affinity_policy == NodeInclusionPolicy::kHonor &&
      !pod.required_node_affinity().empty() &&
      !pod.required_node_affinity().Matches(node.labels(), node.name())) {
    return false;
  }
  return constraint.node_taints_policy == NodeInclusionPolicy::kIgnore ||
         FindUntoleratedTaint(node.taints(), pod.tolerations(), PreventsScheduling) == nullptr;
}

CountedRows CountedRowsOf(const TopologySpreadConstraint& constraint, const PodInfo& pod,
                          const NodeTable& nodes) {
  const bool by_affinity = constraint.node_affinity_policy == NodeInclusionPolicy::kHonor &&
                           !pod.required_node_affinity().empty();
  const DictionaryColumn<TaintList>& taints = nodes.taints();
  const auto tolerates = [&](uint32_t list) {
    return FindUntoleratedTaint(taints.values()[list], pod.tolerations(), PreventsScheduling) ==
           nullptr;
  };
  bool by_taints = false;
  if (constraint.node_taints_policy == NodeInclusionPolicy::kHonor) {
    for (uint32_t list = 0; list < taints.values().size() && !by_taints; ++list) {
      by_taints = taints.row_count(list) > 0 && !tolerates(list);
    }
  }
  if (!by_affinity && !by_taints) return {};

  std::vector<NodeRow> rows(nodes.size());
  std::iota(rows.begin(), rows.end(), 0);
  CountedRows counted = by_affinity ? MatchRows(pod.required_node_affinity(), nodes, rows)
                                    : CountedRows(rows.size(), 1);
  if (by_taints) {
    taints.JudgeRows(rows, tolerates, [&](size_t i, bool tolerated) {
      if (!tolerated) counted[i] = 0;
    });
  }
  return counted;
}

// --- Pods ----------------------------------------------------------------------------------------

std::shared_ptr<const PodCounts> MatchingPods(const NodeTable& nodes, const LabelSelector& selector,
                                              Symbol namespace_name) {
  return nodes.pods().Count(
      {.namespaces = {namespace_name},
       .labels = selector.SelectsEverything() ? LabelSelector::Nothing() : selector,
       .counts_terminating = false});
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
