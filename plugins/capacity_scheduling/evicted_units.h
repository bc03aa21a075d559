// SPDX-License-Identifier: Apache-2.0
// The units that go in a plan, as it comes about.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_EVICTED_UNITS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_EVICTED_UNITS_H_

#include <set>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/preemption/disruption_budgets.h"
#include "berth/preemption/victim_rules.h"
#include "plugins/capacity_scheduling/spent_budgets.h"
#include "plugins/capacity_scheduling/victim_list.h"

namespace berth {

// Numbers of units in VictimList, in its order. What goes counts as gone in the trial and is spent
// of PodDisruptionBudgets. Spares all when it ends. Scheduling thread.
class EvictedUnits {
 public:
  struct ByOrder {
    const VictimList* units;
    bool operator()(int a, int b) const { return units->Before(a, b); }
  };
  using Set = std::set<int, ByOrder>;

  // All outlive this.
  EvictedUnits(const Handle& handle, VictimTrial& trial, VictimList& units, SpentBudgets& spent)
      : handle_(handle), trial_(trial), units_(units), spent_(spent), gone_(ByOrder{&units}) {}
  ~EvictedUnits() { SpareAll(); }
  EvictedUnits(const EvictedUnits&) = delete;
  EvictedUnits& operator=(const EvictedUnits&) = delete;

  const Set& all() const { return gone_; }
  bool contains(int unit) const { return gone_.contains(unit); }

  void Evict(int unit);
  void Spare(int unit);
  void SpareAll();

  // Whether of the unit's gang at least its minimum stays, or none.
  bool LeavesGangWhole(int unit) const;
  bool LeavesGangsWhole() const;
  // The unit, and the rest of its gang if that would be below its minimum; without those that are
  // gone.
  std::vector<int> AllThatGoWith(int unit);
  // Whether the rules allow that these go, in some order.
  bool IsAllowedInSomeOrder();

 private:
  const Handle& handle_;
  VictimTrial& trial_;
  VictimList& units_;
  SpentBudgets& spent_;
  Set gone_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_EVICTED_UNITS_H_
