// SPDX-License-Identifier: Apache-2.0
// The pods of each node, summed up by priority, so that a search need not look at every pod.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_PRIORITY_LEVELS_H_
#define BERTH_SRC_PREEMPTION_PRUNING_PRIORITY_LEVELS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/columns/node_table.h"
#include "berth/framework/cycle_state.h"
#include "framework/yield_guard.h"
#include "table/rare_amounts.h"

namespace berth {

// The pods of each node's lowest priority, or of its second lowest, and so on. Columns, by
// PriorityLevels::slot() of a row.
struct PriorityLevel {
  // A column of one resource; empty if no pod of the level requests it.
  using Amounts = std::vector<int64_t>;

  std::vector<int64_t> priority;  // PriorityLevels::kNone if there is none
  std::vector<int32_t> pods;
  std::vector<int64_t> latest_start_nanos;  // as StartNanos()
  // By ResourceId, of the common ones: what all of them request, and what one of them requests at
  // most. For the others, by slot, too.
  std::vector<Amounts> requests, largest;
  RareAmounts rare_requests, rare_largest;
};

// Follows a table. Scheduling thread.
class PriorityLevels {
 public:
  // The lowest priority where there are no pods.
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  // So many priorities of a node are distinguished: its last level has all pods of that priority or
  // a higher one.
  static constexpr size_t kMostLevels = 4;

  // Reads the nodes that changed. Yields if they are too many for the state's budget, and returns
  // false: what follows is of no use until it is called again, and reads the others. It yields
  // again only if fewer are left than the last time.
  bool Refresh(const NodeTable& nodes, const CycleState& state);

  // As of the last Refresh(): by rising priority; as many as some node has.
  absl::Span<const PriorityLevel> levels() const { return levels_; }
  // Where in their columns the node of that row is. It stays there when rows move.
  int32_t slot(NodeRow row) const { return slots_[row]; }
  // Whether the last level has pods of several priorities.
  bool is_merged(NodeRow row) const { return is_merged_[slots_[row]] != 0; }

 private:
  class NodeLevels;

  void CatchUpWithRows(const NodeTable& nodes);
  void Restart(const NodeTable& nodes);
  void Move(const RowMove& move);
  void AddSlots(size_t count);
  void Forget(NodeRow row);
  bool ReadForgotten(const NodeTable& nodes, WorkBudget& budget);
  void Store(int32_t slot, const NodeLevels& node_levels);

  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
  std::vector<int32_t> slots_;        // by row
  std::vector<int32_t> free_slots_;
  std::vector<PriorityLevel> levels_;
  std::vector<uint8_t> is_merged_;  // by slot
  std::vector<uint8_t> is_read_;    // by row: since the node changed
  std::vector<NodeRow> forgotten_;  // to be read, unless rows moved since
  bool moved_ = false;
  YieldGuard yields_;  // of Refresh(), with rows left
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_PRIORITY_LEVELS_H_
