// SPDX-License-Identifier: Apache-2.0
// What a plan of evictions is made of.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_QUERY_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_QUERY_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/nomination_rules.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "berth/preemption/disruption_budgets.h"
#include "berth/preemption/victim_rules.h"
#include "plugins/capacity_scheduling/expected_pods.h"
#include "plugins/capacity_scheduling/quota_book.h"
#include "plugins/capacity_scheduling/short_rows.h"
#include "plugins/capacity_scheduling/victim_list.h"

namespace berth {

// Pods that are nominated, and give way before any other pod is evicted, in the order in which they
// do.
using FindPlaces = std::function<absl::Span<const VictimUnit>()>;

// One pod that asks whom to evict. All outlive the plan.
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
  FindPlaces find_places;  // asked unless the pod only waits for pods that leave; null: none
  const NominationRules* nominations = nullptr;  // by which the others count; null: by priority
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_QUERY_H_
