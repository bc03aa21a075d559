// SPDX-License-Identifier: Apache-2.0
// Implementation of filtered_nodes.h.
#include "engine/filtered_nodes.h"

namespace berth {

FilteredNodes::FilteredNodes(const Framework& framework, const PodInfo& pod, const NodeTable& nodes)
    : pre_filter(framework.filters().RunPreFilter(state, pod, nodes)), status(pre_filter.status) {
  verdicts.Reset(nodes.size());
  if (!status.ok()) return;
  const auto& names = pre_filter.narrowed.node_names;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (!names.has_value() || names->contains(nodes.node(row).name())) rows.push_back(row);
  }
  status = framework.nomination_filter().RunFilterNodesWithNominatedPods(state, pod, nodes, rows,
                                                                         verdicts);
}

std::vector<NodeRow> FilteredNodes::feasible() const {
  std::vector<NodeRow> feasible;
  if (status.ok()) verdicts.AppendFeasible(rows, feasible);
  return feasible;
}

}  // namespace berth
