// SPDX-License-Identifier: Apache-2.0
// On which nodes the pod could run, and what room on each of them would cost.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_SITES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_SITES_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "berth/columns/node_table.h"
#include "plugins/capacity_scheduling/evictable_units.h"
#include "plugins/capacity_scheduling/pod_room.h"
#include "plugins/capacity_scheduling/short_rows.h"
#include "plugins/capacity_scheduling/spent_budgets.h"
#include "plugins/capacity_scheduling/taken_places.h"
#include "plugins/capacity_scheduling/victim_list.h"
#include "plugins/capacity_scheduling/victim_query.h"

namespace berth {

// A node and the units that would go for room on it, as far as sums of requests say.
struct VictimSite {
  NodeRow row = -1;
  absl::InlinedVector<int, 8> units;                       // in order
  int violations = 0;                                      // of PodDisruptionBudgets
  int32_t priority = std::numeric_limits<int32_t>::min();  // the highest that goes
  int pods = 0;

  void Add(int unit, const VictimList& list);
  auto Cost() const { return std::tie(violations, priority, pods); }
  // By cost, then by the last unit, then by the row. Both have units.
  bool IsBetterThan(const VictimSite& other, const VictimList& list) const;
};

// Splits the rows of a query by sums into free ones and those where pods have to go, and weighs the
// latter. Rows of a kind for which quotas had no room time after time are closed. Scheduling
// thread.
class VictimSites {
 public:
  // All outlive this.
  VictimSites(const VictimQuery& query, VictimList& units, const PodRoom& room,
              EvictableUnits& evictable, BudgetTurns& turns, const TakenPlaces& taken);

  // Calls with open rows where no pod has to go, in row order, as long as that returns false.
  // Looks for no units. Returns whether it returned true.
  bool FindFree(absl::FunctionRef<bool(NodeRow)> is_enough);
  // Splits the rows; before free_rows(), Best() and AllBut().
  void Split();
  const std::vector<NodeRow>& free_rows() const { return free_rows_; }

  // The best of those where pods have to go, if there is any. Weighs no more than it takes.
  std::optional<VictimSite> Best();
  // All of them but one, the best first.
  std::vector<VictimSite> AllBut(NodeRow row);

  // The quotas had no room for the pod on that row, whoever went.
  void AddWithoutRoom(NodeRow row) { ++without_room_[query_.book.KindOf(row)]; }
  bool IsClosed(NodeRow row) const;

 private:
  class SumsOfRows;
  bool IsOpen(NodeRow row) const { return needs_victims_[row] && !IsClosed(row); }
  std::optional<VictimSite> Weigh(NodeRow row);

  const VictimQuery& query_;
  const NodeTable& nodes_;
  VictimList& units_;
  const PodRoom& room_;
  EvictableUnits& evictable_;
  BudgetTurns& turns_;
  const TakenPlaces& taken_;
  std::vector<NodeRow> free_rows_;
  std::vector<bool> needs_victims_;  // by row
  int64_t least_pods_ = 0;           // that go where some have to
  std::vector<int> without_room_;    // by kind of node
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_SITES_H_
