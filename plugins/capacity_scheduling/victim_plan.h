// SPDX-License-Identifier: Apache-2.0
// Which pods to evict so that one pod can run, over all nodes at once.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_PLAN_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_PLAN_H_

#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/nomination_rules.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "berth/framework/postfilter.h"
#include "berth/preemption/preemption.h"
#include "berth/preemption/victim_rules.h"
#include "plugins/capacity_scheduling/expected_pods.h"
#include "plugins/capacity_scheduling/quota_book.h"
#include "plugins/capacity_scheduling/short_rows.h"
#include "plugins/capacity_scheduling/victim_list.h"

namespace berth {

// What a plan is made of. All outlive the call.
struct VictimQuery {
  Handle& handle;
  const CycleState& state;
  const PodInfo& pod;
  std::vector<NodeRow> rows;  // where evicting might help, in row order
  const DisruptionBudgets& budgets;
  const QuotaBook& book;         // the kinds of nodes
  const ExpectedPods& expected;  // as of now
  ShortRows& short_rows;
  VictimTrial& trial;
  VictimList& units;
  // Pods that are nominated, and give way before any other pod is evicted; in the order in which
  // they do.
  absl::Span<const VictimUnit> places = {};
  const NominationRules* nominations = nullptr;  // by which the others count; null: by priority
};

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
