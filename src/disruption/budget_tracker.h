// SPDX-License-Identifier: Apache-2.0
// The PodDisruptionBudgets of the cluster, and on which nodes their changes count.
#ifndef BERTH_SRC_DISRUPTION_BUDGET_TRACKER_H_
#define BERTH_SRC_DISRUPTION_BUDGET_TRACKER_H_

#include <cstdint>
#include <optional>

#include "berth/columns/node_table.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"
#include "berth/preemption/disruption_budgets.h"
#include "table/change_journal.h"

namespace berth {

struct PodSelector;

// Parses a budget once a change. There is one for each scheduler, which plugins share with the
// engine: Handle::Shared<BudgetTracker>(). Scheduling thread.
class BudgetTracker {
 public:
  // Brings all in step with the objects. `nodes` are as of now.
  void Refresh(const ObjectStore& objects, const NodeTable& nodes);

  // DisruptionBudgets::Spend() and GiveBack(). What is spent is given back before the objects
  // change.
  bool Spend(const PodInfo& pod, const NodeTable& nodes);
  void GiveBack(const PodInfo& pod, const NodeTable& nodes);

  const DisruptionBudgets& all() const { return budgets_; }
  // The nodes on which evictions may violate other budgets than before, as long as their pods stay
  // the same.
  const NodeJournal& changed_nodes() const { return changed_nodes_; }

 private:
  void ApplyChange(const Identity& who, const ObjectStore& objects, const NodeTable& nodes);
  template <class Apply>
  void Change(const PodInfo& pod, const NodeTable& nodes, Apply apply);
  void AddNodesWithMore(const PodSelector& selected, int64_t than, const NodeTable& nodes);

  DisruptionBudgets budgets_;
  std::optional<uint64_t> version_;  // of the objects
  NodeJournal changed_nodes_;
};

}  // namespace berth

#endif  // BERTH_SRC_DISRUPTION_BUDGET_TRACKER_H_
