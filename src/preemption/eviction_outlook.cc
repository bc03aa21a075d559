// Implementation of eviction_outlook.h.
#include "preemption/eviction_outlook.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "berth/prefetch.h"
#include "preemption/scores.h"

namespace berth {
namespace {

constexpr NodeRow kAhead = 4;  // that far the pods of nodes that are to be read are fetched

// So many nodes and pods may be left for a search to read: half a millisecond. Of a node that has
// very many, not all of them count: it changes all the time, and is only one.
constexpr int64_t kMostUnread = 16384;
constexpr int64_t kMostPods = 256;
constexpr int64_t kPodsOfNewNode = 8;  // who knows

int64_t CostOf(int64_t pods) { return 1 + std::min(pods, kMostPods); }

// Does something to every column of a level.
template <class Visit>
void ForEachColumn(EvictionLevel& level, Visit visit) {
  visit(level.priority, EvictionOutlook::kNobody);
  visit(level.pods, int32_t{0});
  visit(level.latest_start_nanos, int64_t{0});
  for (auto* amounts : {&level.requests, &level.largest}) {
    for (EvictionLevel::Amounts& column : *amounts) {
      if (!column.empty()) visit(column, int64_t{0});
    }
  }
}

void LoadAmounts(const std::vector<EvictionLevel::Amounts>& columns, NodeRow row,
                 ResourceVector& amounts) {
  for (size_t resource = 0; resource < columns.size(); ++resource) {
    if (columns[resource].empty() || columns[resource][row] == 0) continue;
    amounts.Set(static_cast<ResourceId>(resource), columns[resource][row]);
  }
}

void StoreAmounts(std::vector<EvictionLevel::Amounts>& columns, const ResourceVector& amounts,
                  NodeRow row, size_t rows) {
  if (columns.size() < static_cast<size_t>(amounts.size())) columns.resize(amounts.size());
  for (size_t resource = 0; resource < columns.size(); ++resource) {
    const int64_t amount = amounts.Get(static_cast<ResourceId>(resource));
    if (columns[resource].empty()) {
      if (amount == 0) continue;
      columns[resource].assign(rows, 0);
    }
    columns[resource][row] = amount;
  }
}

}  // namespace

// The levels of one row.
class EvictionOutlook::RowLevels {
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

  void Add(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
    const ResourceVector* before = nullptr;  // mostly alike pods have it in common
    for (const auto& pod : pods) {
      Level& level = LevelOf(pod->priority());
      ++level.pods;
      level.latest_start_nanos = std::max(level.latest_start_nanos, StartNanos(*pod));
      level.requests.Add(pod->requests());
      if (&pod->requests() != before) level.largest.Max(pod->requests());
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

void EvictionOutlook::Follow(const NodeTable& nodes) {
  FollowRows(nodes);
  if (unread_ > kMostUnread) ReadUnread(nodes);
}

void EvictionOutlook::Refresh(const NodeTable& nodes) {
  FollowRows(nodes);
  if (unread_ > 0 || look_at_all_) ReadUnread(nodes);
}

void EvictionOutlook::FollowRows(const NodeTable& nodes) {
  if (table_ == nodes.id() && version_ == nodes.version()) return;
  const bool followed =
      table_ == nodes.id() && nodes.Replay(
                                  version_, [&](const RowChange& change) { Forget(change.row); },
                                  [&](const RowMove& move) { Move(move); });
  if (!followed) Restart(nodes);
  table_ = nodes.id();
  version_ = nodes.version();
}

void EvictionOutlook::Restart(const NodeTable& nodes) {
  const int rows = nodes.size();
  levels_.clear();
  stored_at_.clear();
  generations_.assign(rows, 0);
  pods_.assign(rows, 0);
  is_read_.assign(rows, 0);
  is_merged_.assign(rows, 0);
  rows_with_.clear();
  look_at_all_ = true;
  unread_ = 0;
  for (const int64_t pods : nodes.pod_count()) unread_ += CostOf(pods);
}

// Nodes come and go more often than somebody searches: the columns follow then, all at once.
void EvictionOutlook::Move(const RowMove& move) {
  for (const NodeRow row : move.gone()) Forget(row);
  if (stored_at_.empty()) {
    stored_at_.resize(is_read_.size());
    std::iota(stored_at_.begin(), stored_at_.end(), 0);
  }
  move.Apply(stored_at_, NodeRow{-1});
  look_at_all_ = true;
  unread_ += static_cast<int64_t>(move.came().size()) * CostOf(kPodsOfNewNode);
}

void EvictionOutlook::MoveColumns() {
  if (stored_at_.empty()) return;
  const RowMove move = RowMove::Rearranged(stored_at_, static_cast<int>(is_read_.size()));
  stored_at_.clear();
  for (EvictionLevel& level : levels_) {
    ForEachColumn(level, [&](auto& column, auto fresh) { move.Apply(column, fresh); });
  }
  move.Apply(generations_);
  move.Apply(pods_);
  move.Apply(is_read_);
  move.Apply(is_merged_);
}

void EvictionOutlook::Forget(NodeRow row) {
  const NodeRow at = stored_at_.empty() ? row : stored_at_[row];
  if (at < 0 || !is_read_[at]) return;
  is_read_[at] = 0;
  Count(lowest(at), -1);
  if (!look_at_all_) changed_.push_back(row);
  unread_ += CostOf(pods_[at]);
}

void EvictionOutlook::ReadUnread(const NodeTable& nodes) {
  MoveColumns();
  if (look_at_all_) {
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (row + kAhead < nodes.size() && !is_read_[row + kAhead]) {
        for (const auto& pod : nodes.node(row + kAhead).pods()) Prefetch(pod.get());
      }
      if (!is_read_[row]) Read(row, nodes.node(row));
    }
  } else {
    for (const NodeRow row : changed_) Read(row, nodes.node(row));
  }
  changed_.clear();
  look_at_all_ = false;
  unread_ = 0;
}

// Mostly pods came: they are added.
void EvictionOutlook::Read(NodeRow row, const NodeInfo& node) {
  const auto pods = node.pods();
  RowLevels row_levels;
  size_t counted = static_cast<size_t>(pods_[row]);
  if (counted > 0 && node.PodsUnchangedSince(generations_[row]) >= counted) {
    Load(row, row_levels);
  } else {
    counted = 0;
  }
  row_levels.Add(pods.subspan(counted));
  Store(row, row_levels);
  generations_[row] = node.generation();
  pods_[row] = static_cast<int32_t>(pods.size());
  is_read_[row] = 1;
  Count(lowest(row), 1);
}

void EvictionOutlook::Load(NodeRow row, RowLevels& row_levels) const {
  for (const EvictionLevel& level : levels_) {
    if (level.priority[row] == kNobody) break;
    RowLevels::Level& loaded = row_levels.levels.emplace_back();
    loaded.priority = level.priority[row];
    loaded.pods = level.pods[row];
    loaded.latest_start_nanos = level.latest_start_nanos[row];
    LoadAmounts(level.requests, row, loaded.requests);
    LoadAmounts(level.largest, row, loaded.largest);
  }
  row_levels.is_merged = is_merged(row);
}

void EvictionOutlook::Store(NodeRow row, const RowLevels& row_levels) {
  const size_t rows = is_read_.size();
  while (levels_.size() < row_levels.levels.size()) {
    EvictionLevel& level = levels_.emplace_back();
    ForEachColumn(level, [&](auto& column, auto fresh) { column.assign(rows, fresh); });
  }
  for (size_t i = 0; i < levels_.size(); ++i) {
    EvictionLevel& level = levels_[i];
    if (i >= row_levels.levels.size()) {
      level.priority[row] = kNobody;
      continue;
    }
    const RowLevels::Level& from = row_levels.levels[i];
    level.priority[row] = from.priority;
    level.pods[row] = from.pods;
    level.latest_start_nanos[row] = from.latest_start_nanos;
    StoreAmounts(level.requests, from.requests, row, rows);
    StoreAmounts(level.largest, from.largest, row, rows);
  }
  is_merged_[row] = row_levels.is_merged;
}

void EvictionOutlook::Count(int64_t priority, int difference) {
  if (priority == kNobody) return;
  auto it = std::lower_bound(rows_with_.begin(), rows_with_.end(), std::pair(priority, 0));
  if (it == rows_with_.end() || it->first != priority) it = rows_with_.insert(it, {priority, 0});
  it->second += difference;
  if (it->second == 0) rows_with_.erase(it);
}

}  // namespace berth
