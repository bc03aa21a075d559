// SPDX-License-Identifier: Apache-2.0
// Who goes so that one pod can run, over all nodes at once.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_PLAN_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_PLAN_H_

#include <memory>

#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "berth/framework/postfilter.h"
#include "berth/preemption/preemption.h"
#include "berth/preemption/victim_rules.h"

namespace berth {

// Finds the node for `pod` and the units to evict, on it and elsewhere: on it so that the pod fits,
// elsewhere so that the quotas have room. The node costs the fewest violated budgets, then the
// lowest priority, then the fewest pods. What turns out not to be needed is spared, the most
// important first. Success with nominated node and victims in `result`; Unschedulable with the
// reason, the end of its nomination, and `retry_at` if somebody may go later; without a word about
// the nomination if only those have to go who are leaving already. Changes nothing.
Status PlanVictims(Handle& handle, const CycleState& state, const PodInfo& pod,
                   const NodeStatuses& statuses, const DisruptionBudgets& budgets,
                   VictimTrial& trial, PostFilterResult& result);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_PLAN_H_
