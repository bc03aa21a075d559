// SPDX-License-Identifier: Apache-2.0
// SelectiveFilter: a Filter plugin that can find the few nodes of a pod without a look at each.
#ifndef BERTH_INCREMENTAL_SELECTIVE_FILTER_H_
#define BERTH_INCREMENTAL_SELECTIVE_FILTER_H_

#include <vector>

#include "berth/columns/node_table.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"

namespace berth {

class SelectiveFilter {
 public:
  virtual ~SelectiveFilter() = default;

  // Sets `rows` to some rows, ascending and each once, such that Filter() rejects every other one.
  // Returns false if that is not known or they would be more than `most`; `rows` may then be
  // anything. Worth it where it costs much less than FilterNodes() of all rows: only `rows` are
  // filtered and scored then, unless none of them is feasible. `state` is as PreFilter left it,
  // which did not say Skip. Scheduling thread.
  virtual bool SelectRows(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          int most, std::vector<NodeRow>& rows) = 0;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_SELECTIVE_FILTER_H_
