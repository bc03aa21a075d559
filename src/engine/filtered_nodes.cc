// SPDX-License-Identifier: Apache-2.0
// Implementation of filtered_nodes.h.
#include "engine/filtered_nodes.h"

namespace berth {

FilteredNodes::FilteredNodes(const Framework& framework, const PodInfo& pod, const NodeTable& nodes,
                             const NodePlacement* placement) {
  state.SetPlacement(placement);
  pre_filter = framework.filters().RunPreFilter(state, pod, nodes);
  status = pre_filter.status;
  verdicts.Reset(nodes.size());
  if (!status.ok()) return;
  pre_filter.ListRows(nodes, rows);
  status = framework.nomination_filter().RunFilterNodesWithNominatedPods(state, pod, nodes, rows,
                                                                         verdicts);
}

std::vector<NodeRow> FilteredNodes::feasible() const {
  std::vector<NodeRow> feasible;
  if (status.ok()) verdicts.AppendFeasible(rows, feasible);
  return feasible;
}

}  // namespace berth
