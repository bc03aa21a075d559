// SPDX-License-Identifier: Apache-2.0
// What one plan of evictions spends of PodDisruptionBudgets.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_SPENT_BUDGETS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_SPENT_BUDGETS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "berth/preemption/disruption_budgets.h"
#include "berth/preemption/victim_rules.h"

namespace berth {

// Lives as long as one plan; meanwhile the budgets do not change.
class SpentBudgets {
 public:
  explicit SpentBudgets(const DisruptionBudgets& budgets) : budgets_(budgets) {}

  // The unit goes, or does not after all. Add() returns how many of its pods violate a budget then,
  // beside those that go already.
  int Add(const VictimUnit& unit);
  void Remove(const VictimUnit& unit);

 private:
  const DisruptionBudgets& budgets_;
  absl::flat_hash_map<const DisruptionBudget*, int64_t> spent_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_SPENT_BUDGETS_H_
