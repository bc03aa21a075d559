// Implementation of priority_levels.h.
#include "preemption/pruning/priority_levels.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "berth/prefetch.h"
#include "framework/rows_with.h"
#include "preemption/candidate_scores.h"

namespace berth {
namespace {

constexpr size_t kAhead = 4;  // that far the pods of nodes that are to be read are fetched

// So many nodes and pods may be left for a search to read: an eighth of a millisecond. Of a node
// that has very many, not all of them count: it changes all the time, and is only one.
constexpr int64_t kMostUnread = 4096;
constexpr int64_t kMostPods = 256;
constexpr int64_t kStepsOfNode = 3, kMostStepsAtOnce = 8192;
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

void LoadAmounts(const std::vector<EvictionLevel::Amounts>& columns, int32_t place,
                 ResourceVector& amounts) {
  for (size_t resource = 0; resource < columns.size(); ++resource) {
    if (columns[resource].empty() || columns[resource][place] == 0) continue;
    amounts.Set(static_cast<ResourceId>(resource), columns[resource][place]);
  }
}

void StoreAmounts(std::vector<EvictionLevel::Amounts>& columns, const ResourceVector& amounts,
                  int32_t place, size_t places) {
  if (columns.size() < static_cast<size_t>(amounts.size())) columns.resize(amounts.size());
  for (size_t resource = 0; resource < columns.size(); ++resource) {
    const int64_t amount = amounts.Get(static_cast<ResourceId>(resource));
    if (columns[resource].empty()) {
      if (amount == 0) continue;
      columns[resource].assign(places, 0);
    }
    columns[resource][place] = amount;
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
  if (unread_ > kMostUnread) ReadUnread(nodes, kMostStepsAtOnce);
}

bool EvictionOutlook::Refresh(const NodeTable& nodes, int64_t most_steps) {
  FollowRows(nodes);
  if (unread_ == 0 || ReadUnread(nodes, most_steps)) {
    stops_.Reset();
    return true;
  }
  if (stops_.MayStop(changed_.size())) return false;
  return Refresh(nodes);  // they change as fast as they are read
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
  places_.resize(rows);
  std::iota(places_.begin(), places_.end(), 0);
  free_places_.clear();
  generations_.assign(rows, 0);
  pods_.assign(rows, 0);
  is_read_.assign(rows, 0);
  is_merged_.assign(rows, 0);
  some_merged_ = false;
  rows_with_.clear();
  moved_ = true;
  unread_ = 0;
  for (const int64_t pods : nodes.pod_count()) unread_ += CostOf(pods);
}

void EvictionOutlook::Move(const RowMove& move) {
  for (const NodeRow row : move.gone()) {
    const int32_t place = places_[row];
    if (is_read_[row]) Count(LowestAt(place), -1);
    pods_[place] = 0;
    generations_[place] = 0;
    free_places_.push_back(place);
  }
  move.Apply(is_read_);
  move.Apply(places_, -1);
  const size_t came = move.came().size();
  if (came > free_places_.size()) AddPlaces(came - free_places_.size());
  for (const NodeRow row : move.came()) {
    places_[row] = free_places_.back();
    free_places_.pop_back();
  }
  moved_ = true;
  unread_ += static_cast<int64_t>(came) * CostOf(kPodsOfNewNode);
}

void EvictionOutlook::AddPlaces(size_t count) {
  const size_t places = pods_.size() + count;
  for (size_t place = places; place-- > pods_.size();) {
    free_places_.push_back(static_cast<int32_t>(place));
  }
  for (EvictionLevel& level : levels_) {
    ForEachColumn(level, [&](auto& column, auto fresh) { column.resize(places, fresh); });
  }
  generations_.resize(places);
  pods_.resize(places);
  is_merged_.resize(places);
}

void EvictionOutlook::Forget(NodeRow row) {
  if (!is_read_[row]) return;
  is_read_[row] = 0;
  const int32_t place = places_[row];
  Count(LowestAt(place), -1);
  changed_.push_back(row);
  unread_ += CostOf(pods_[place]);
}

// Returns whether it has read all.
bool EvictionOutlook::ReadUnread(const NodeTable& nodes, int64_t most_steps) {
  if (moved_) ListUnread();
  moved_ = false;
  for (size_t i = 0; i < changed_.size(); ++i) {
    if (most_steps <= 0) {
      changed_.erase(changed_.begin(), changed_.begin() + static_cast<std::ptrdiff_t>(i));
      return false;
    }
    if (i + kAhead < changed_.size()) {
      for (const auto& pod : nodes.node(changed_[i + kAhead]).pods()) Prefetch(pod.get());
    }
    const NodeInfo& node = nodes.node(changed_[i]);
    Read(places_[changed_[i]], node);
    is_read_[changed_[i]] = 1;
    const int64_t pods = static_cast<int64_t>(node.pods().size());
    most_steps -= kStepsOfNode + pods / 8;
    unread_ = std::max(unread_ - CostOf(pods), int64_t{1});  // it is about so much
  }
  changed_.clear();
  unread_ = 0;
  return true;
}

void EvictionOutlook::ListUnread() {
  changed_.clear();
  AppendRowsWith(0, is_read_, changed_);
}

// Mostly pods came: they are added.
void EvictionOutlook::Read(int32_t place, const NodeInfo& node) {
  const auto pods = node.pods();
  RowLevels row_levels;
  size_t counted = static_cast<size_t>(pods_[place]);
  if (counted > 0 && node.PodsUnchangedSince(generations_[place]) >= counted) {
    Load(place, row_levels);
  } else {
    counted = 0;
  }
  row_levels.Add(pods.subspan(counted));
  Store(place, row_levels);
  generations_[place] = node.generation();
  pods_[place] = static_cast<int32_t>(pods.size());
  Count(LowestAt(place), 1);
}

void EvictionOutlook::Load(int32_t place, RowLevels& row_levels) const {
  for (const EvictionLevel& level : levels_) {
    if (level.priority[place] == kNobody) break;
    RowLevels::Level& loaded = row_levels.levels.emplace_back();
    loaded.priority = level.priority[place];
    loaded.pods = level.pods[place];
    loaded.latest_start_nanos = level.latest_start_nanos[place];
    LoadAmounts(level.requests, place, loaded.requests);
    LoadAmounts(level.largest, place, loaded.largest);
  }
  row_levels.is_merged = is_merged_[place] != 0;
}

void EvictionOutlook::Store(int32_t place, const RowLevels& row_levels) {
  const size_t places = pods_.size();
  while (levels_.size() < row_levels.levels.size()) {
    EvictionLevel& level = levels_.emplace_back();
    ForEachColumn(level, [&](auto& column, auto fresh) { column.assign(places, fresh); });
  }
  for (size_t i = 0; i < levels_.size(); ++i) {
    EvictionLevel& level = levels_[i];
    if (i >= row_levels.levels.size()) {
      level.priority[place] = kNobody;
      continue;
    }
    const RowLevels::Level& from = row_levels.levels[i];
    level.priority[place] = from.priority;
    level.pods[place] = from.pods;
    level.latest_start_nanos[place] = from.latest_start_nanos;
    StoreAmounts(level.requests, from.requests, place, places);
    StoreAmounts(level.largest, from.largest, place, places);
  }
  is_merged_[place] = row_levels.is_merged;
  some_merged_ |= row_levels.is_merged;
}

void EvictionOutlook::Count(int64_t priority, int difference) {
  if (priority == kNobody) return;
  auto it = std::lower_bound(rows_with_.begin(), rows_with_.end(), std::pair(priority, 0));
  if (it == rows_with_.end() || it->first != priority) it = rows_with_.insert(it, {priority, 0});
  it->second += difference;
  if (it->second == 0) rows_with_.erase(it);
}

}  // namespace berth
