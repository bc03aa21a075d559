// SPDX-License-Identifier: Apache-2.0
// Implementation of priority_levels.h.
#include "preemption/pruning/priority_levels.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "preemption/candidate_scores.h"
#include "table/prefetch_nodes.h"
#include "table/row_move.h"
#include "table/rows_with.h"

namespace berth {
namespace {

constexpr int64_t kStepsOfNode = 3;

// Does something to every column of a level.
template <class Visit>
void ForEachColumn(PriorityLevel& level, Visit visit) {
  visit(level.priority, PriorityLevels::kNone);
  visit(level.pods, int32_t{0});
  visit(level.latest_start_nanos, int64_t{0});
  for (auto* amounts : {&level.requests, &level.largest}) {
    for (PriorityLevel::Amounts& column : *amounts) {
      if (!column.empty()) visit(column, int64_t{0});
    }
  }
}

void StoreAmounts(std::vector<PriorityLevel::Amounts>& columns, const ResourceVector& amounts,
                  int32_t slot, size_t slots) {
  const auto count = static_cast<size_t>(amounts.common_size());
  if (columns.size() < count) columns.resize(count);
  for (size_t resource = 0; resource < columns.size(); ++resource) {
    const int64_t amount = amounts.Get(static_cast<ResourceId>(resource));
    if (columns[resource].empty()) {
      if (amount == 0) continue;
      columns[resource].assign(slots, 0);
    }
    columns[resource][slot] = amount;
  }
}

}  // namespace

// The levels of one node.
class PriorityLevels::NodeLevels {
 public:
  struct Level {
    int64_t priority = 0;
    int32_t pods = 0;
    int64_t latest_start_nanos = std::numeric_limits<int64_t>::min();
    ResourceVector requests, largest;

    void Add(const Level& other) {
      pods += other.pods;
      latest_start_nanos = std::max(latest_start_nanos, other.latest_start_nanos);
      requests.Add(other.requests);
      largest.Max(other.largest);
    }
  };

  explicit NodeLevels(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
    const ResourceVector* before = nullptr;  // mostly alike pods have it in common
    for (const auto& pod : pods) {
      Level& level = LevelOf(pod->priority());
      level.latest_start_nanos = std::max(level.latest_start_nanos, StartNanos(*pod));
      if (++level.pods == 1) {
        level.requests = level.largest = pod->requests();
      } else {
        level.requests.Add(pod->requests());
        if (&pod->requests() != before) level.largest.Max(pod->requests());
      }
      before = &pod->requests();
    }
  }

  absl::InlinedVector<Level, 2> levels;
  bool is_merged = false;

 private:
  Level& LevelOf(int64_t priority) {
    auto level = std::find_if(levels.begin(), levels.end(),
                              [&](const Level& l) { return l.priority >= priority; });
    if (level != levels.end() && level->priority == priority) return *level;
    if (level == levels.end() && levels.size() == kMostLevels) {
      is_merged = true;
      return levels.back();
    }
    level = levels.insert(level, Level{priority});
    if (levels.size() > kMostLevels) {
      const Level last = std::move(levels.back());
      levels.pop_back();
      levels.back().Add(last);
      is_merged = true;
    }
    return *level;
  }
};

bool PriorityLevels::Refresh(const NodeTable& nodes, const CycleState& state) {
  WorkBudget& budget = state.work_budget();
  CatchUpWithRows(nodes);
  if (!ReadForgotten(nodes, budget)) {
    if (yields_.MayYieldWith(forgotten_.size())) {
      budget.Yield();
      return false;
    }
    budget.Lift();  // nodes change as fast as they are read
    ReadForgotten(nodes, budget);
  }
  yields_.Reset();
  return true;
}

void PriorityLevels::CatchUpWithRows(const NodeTable& nodes) {
  if (table_ == nodes.id() && version_ == nodes.version()) return;
  const bool followed =
      table_ == nodes.id() && nodes.Replay(
                                  version_, [&](const RowChange& change) { Forget(change.row); },
                                  [&](const RowMove& move) { Move(move); });
  if (!followed) Restart(nodes);
  table_ = nodes.id();
  version_ = nodes.version();
}

void PriorityLevels::Restart(const NodeTable& nodes) {
  const int rows = nodes.size();
  levels_.clear();
  slots_.resize(rows);
  std::iota(slots_.begin(), slots_.end(), 0);
  free_slots_.clear();
  is_read_.assign(rows, 0);
  is_merged_.assign(rows, 0);
  moved_ = true;
}

void PriorityLevels::Move(const RowMove& move) {
  for (const NodeRow row : move.gone()) {
    free_slots_.push_back(slots_[row]);
  }
  move.Apply(is_read_);
  move.Apply(slots_, -1);
  const size_t came = move.came().size();
  if (came > free_slots_.size()) AddSlots(came - free_slots_.size());
  for (const NodeRow row : move.came()) {
    slots_[row] = free_slots_.back();
    free_slots_.pop_back();
  }
  moved_ = true;
}

void PriorityLevels::AddSlots(size_t count) {
  const size_t slots = is_merged_.size() + count;
  for (size_t slot = slots; slot-- > is_merged_.size();) {
    free_slots_.push_back(static_cast<int32_t>(slot));
  }
  for (PriorityLevel& level : levels_) {
    ForEachColumn(level, [&](auto& column, auto fresh) { column.resize(slots, fresh); });
  }
  is_merged_.resize(slots);
}

void PriorityLevels::Forget(NodeRow row) {
  if (!is_read_[row]) return;
  is_read_[row] = 0;
  forgotten_.push_back(row);
}

// Returns whether it has read all.
bool PriorityLevels::ReadForgotten(const NodeTable& nodes, WorkBudget& budget) {
  if (moved_) {
    forgotten_.clear();
    AppendRowsWith(0, is_read_, forgotten_);
    moved_ = false;
  }
  for (size_t i = 0; i < forgotten_.size(); ++i) {
    if (budget.IsSpent()) {
      forgotten_.erase(forgotten_.begin(), forgotten_.begin() + static_cast<std::ptrdiff_t>(i));
      return false;
    }
    PrefetchNodes(nodes, forgotten_, i);
    const NodeRow row = forgotten_[i];
    const auto pods = nodes.node(row).pods();
    Store(slots_[row], NodeLevels(pods));
    is_read_[row] = 1;
    budget.Spend(kStepsOfNode + static_cast<int64_t>(pods.size()) / 8);
  }
  forgotten_.clear();
  return true;
}

void PriorityLevels::Store(int32_t slot, const NodeLevels& node_levels) {
  const size_t slots = is_merged_.size();
  while (levels_.size() < node_levels.levels.size()) {
    PriorityLevel& level = levels_.emplace_back();
    ForEachColumn(level, [&](auto& column, auto fresh) { column.assign(slots, fresh); });
  }
  for (size_t i = 0; i < levels_.size(); ++i) {
    PriorityLevel& level = levels_[i];
    if (i >= node_levels.levels.size()) {
      level.priority[slot] = kNone;
      continue;
    }
    const NodeLevels::Level& from = node_levels.levels[i];
    level.priority[slot] = from.priority;
    level.pods[slot] = from.pods;
    level.latest_start_nanos[slot] = from.latest_start_nanos;
    StoreAmounts(level.requests, from.requests, slot, slots);
    StoreAmounts(level.largest, from.largest, slot, slots);
    level.rare_requests.Set(slot, from.requests.rare());
    level.rare_largest.Set(slot, from.largest.rare());
  }
  is_merged_[slot] = node_levels.is_merged;
}

}  // namespace berth
