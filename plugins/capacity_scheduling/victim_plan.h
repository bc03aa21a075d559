// SPDX-License-Identifier: Apache-2.0
// Which pods to evict so that one pod can run, over all nodes at once.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_PLAN_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_PLAN_H_

#include <vector>

#include "berth/columns/node_table.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/postfilter.h"
#include "plugins/capacity_scheduling/victim_query.h"

namespace berth {

// Leaves out nodes on which the pod's group may not be: evictions there would be in vain.
void KeepInPlacement(const CycleState& state, std::vector<NodeRow>& rows);

// Finds the node for the pod and the units to evict, on it and elsewhere: on it so that the pod
// fits, elsewhere so that the quotas have room. The node costs the fewest violated budgets, then
// the lowest priority, then the fewest pods, then the first units: the last one of them decides.
// What turns out not to be needed is spared, the most important first. Success with nominated node
// and victims in `result`; Unschedulable with the reason, the end of its nomination, and `retry_at`
// if somebody may go later; without a word about the nomination if only those have to go who are
// leaving already. Changes nothing. With state.full_evaluation() all nodes are weighed, otherwise
// no more than it takes to know the best.
Status PlanVictims(const VictimQuery& query, PostFilterResult& result);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_PLAN_H_
