// SPDX-License-Identifier: Apache-2.0
// Looks for units to evict in whatever order, where the listed order comes to nothing.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_SEARCH_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_SEARCH_H_

#include <optional>
#include <set>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "berth/columns/node_table.h"
#include "plugins/capacity_scheduling/evictable_units.h"
#include "plugins/capacity_scheduling/evicted_units.h"
#include "plugins/capacity_scheduling/pod_room.h"
#include "plugins/capacity_scheduling/spared_units.h"
#include "plugins/capacity_scheduling/spent_budgets.h"
#include "plugins/capacity_scheduling/surplus_by_node.h"
#include "plugins/capacity_scheduling/victim_query.h"

namespace berth {

// Who goes first may leave the quota too little for others to go: two small ones go by the order,
// though it takes the large one that the quota would lose for a part of it. Or others may go only
// then, when a quota above the pod's is within its bound. Tries the sets that the rules allow, one
// unit after the other, as long as a budget of steps lasts. Scheduling thread.
class VictimSearch {
 public:
  // All outlive this. `spent` is by the units that are gone.
  VictimSearch(const VictimQuery& query, SurplusByNode& units, const PodRoom& room,
               EvictableUnits& evictable, BudgetTurns& turns, const SparedUnits& spared,
               SpentBudgets& spent);

  // The row that the pod gets, with those that go for it in `gone`, empty before; or nothing, and
  // nobody goes. `too_late` are rows where somebody could not go as others had gone before: half of
  // the budget is for those of them where the pod would fit if all of the row's units went.
  std::optional<NodeRow> Find(const absl::flat_hash_set<NodeRow>& too_late, EvictedUnits& gone);

 private:
  // Whether units elsewhere go only once the pod fits on the node, or also before: filters may look
  // beyond it.
  enum class Aim { kWhatLacks, kAnything };
  struct Bounds {
    int steps_left;
    int most_units;
    Aim aim;
  };

  bool SumsHoldWithoutAll(NodeRow row);
  bool FitsWithoutAll(NodeRow row, EvictedUnits& gone);
  std::optional<NodeRow> FindOnAny(const std::vector<NodeRow>& rows, Bounds& bounds,
                                   EvictedUnits& gone);
  bool FindOn(NodeRow row, std::set<std::vector<int>>& seen, Bounds& bounds, EvictedUnits& gone);
  // Who may go next.
  std::vector<int> Next(NodeRow row, int most_elsewhere, EvictedUnits& gone);

  const VictimQuery& query_;
  SurplusByNode& units_;
  const PodRoom& room_;
  EvictableUnits& evictable_;
  BudgetTurns& turns_;
  const SparedUnits& spared_;
  SpentBudgets& spent_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_SEARCH_H_
