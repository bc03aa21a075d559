// SPDX-License-Identifier: Apache-2.0
// What all filters say of a pod on every node, without placing it.
#ifndef BERTH_SRC_ENGINE_FILTERED_NODES_H_
#define BERTH_SRC_ENGINE_FILTERED_NODES_H_

#include <vector>

#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/cycle_state.h"
#include "framework/framework.h"

namespace berth {

// PreFilter, then Filter with regard to nominated pods, on all nodes that PreFilter leaves. Where
// `status` is not Success, PreFilter rejected the pod or a plugin failed, and `verdicts` says
// nothing. Scheduling thread.
struct FilteredNodes {
  // `placement`: the only nodes that count; null: all.
  FilteredNodes(const Framework& framework, const PodInfo& pod, const NodeTable& nodes,
                const NodePlacement* placement);

  std::vector<NodeRow> feasible() const;  // in the order of the table

  CycleState state;
  PreFilterOutcome pre_filter;
  std::vector<NodeRow> rows;  // those that PreFilter leaves
  NodeVerdicts verdicts;
  Status status;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_FILTERED_NODES_H_
