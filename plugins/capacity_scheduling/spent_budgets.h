// SPDX-License-Identifier: Apache-2.0
// What one plan of evictions spends of PodDisruptionBudgets.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_SPENT_BUDGETS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_SPENT_BUDGETS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/preemption/disruption_budgets.h"
#include "berth/preemption/victim_rules.h"
#include "plugins/capacity_scheduling/victim_list.h"

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

// In which order units go: those that violate no budget first, as far as that leaves a choice, or
// as they are listed.
enum class GoFirst { kWithinBudgets, kAsListed };

// Says of units whether others are to go before them. Scheduling thread.
class BudgetTurns {
 public:
  // Both outlive this.
  BudgetTurns(GoFirst go_first, const DisruptionBudgets& budgets, const VictimList& units)
      : matter_(go_first == GoFirst::kWithinBudgets && !budgets.empty()), units_(units) {}

  // If not, nobody has to wait.
  bool matter() const { return matter_; }
  // Whether the units violate a budget beside what is spent, which comes back as it was.
  bool MustWait(absl::Span<const int> units, SpentBudgets& spent);
  // Whether anybody had to.
  bool any_waited() const { return any_waited_; }

 private:
  const bool matter_;
  const VictimList& units_;
  bool any_waited_ = false;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_SPENT_BUDGETS_H_
