// SPDX-License-Identifier: Apache-2.0
// Implementation of spent_budgets.h.
#include "plugins/capacity_scheduling/spent_budgets.h"

namespace berth {

// As SplitByBudget(), one unit after the other.
int SpentBudgets::Add(const VictimUnit& unit) {
  if (budgets_.empty()) return 0;
  int violations = 0;
  for (const auto& pod : unit.pods) {
    bool violates = false;
    for (const DisruptionBudget* const budget : budgets_.Of(*pod)) {
      if (budget->HasCounted(*pod)) continue;
      violates |= ++spent_[budget] > budget->left();
    }
    violations += violates ? 1 : 0;
  }
  return violations;
}

void SpentBudgets::Remove(const VictimUnit& unit) {
  if (budgets_.empty()) return;
  for (const auto& pod : unit.pods) {
    for (const DisruptionBudget* const budget : budgets_.Of(*pod)) {
      if (!budget->HasCounted(*pod)) --spent_[budget];
    }
  }
}

bool BudgetTurns::MustWait(absl::Span<const int> units, SpentBudgets& spent) {
  if (!matter_) return false;
  int violations = 0;
  for (const int unit : units) violations += spent.Add(units_.unit(unit));
  for (const int unit : units) spent.Remove(units_.unit(unit));
  any_waited_ |= violations > 0;
  return violations > 0;
}

}  // namespace berth
