// Who could go from each node, summed up by priority, so that a search need not look at every pod.
#ifndef BERTH_SRC_PREEMPTION_EVICTION_OUTLOOK_H_
#define BERTH_SRC_PREEMPTION_EVICTION_OUTLOOK_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/framework/node_table.h"
#include "framework/fewer_left.h"

namespace berth {

// The pods of each node's lowest priority, or of its second lowest, and so on. Columns, by
// EvictionOutlook::place() of a row.
struct EvictionLevel {
  // Of a resource; empty if no pod of the level requests it.
  using Amounts = std::vector<int64_t>;

  std::vector<int64_t> priority;  // EvictionOutlook::kNobody if there is none
  std::vector<int32_t> pods;
  std::vector<int64_t> latest_start_nanos;  // as StartNanos()
  // By ResourceId: what all of them request, and what one of them requests at most.
  std::vector<Amounts> requests, largest;
};

// Follows a table. Scheduling thread.
class EvictionOutlook {
 public:
  // The lowest priority where there are no pods.
  static constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();
  // So many priorities of a node are told apart: its last level has all pods of that priority or a
  // higher one.
  static constexpr size_t kMostLevels = 4;

  // Reads the nodes that changed. After `most_steps`, of CycleState::work_budget(), it stops
  // and returns false: what follows is of no use until it is called again, and reads the others. It
  // stops again only if fewer are left than the last time.
  bool Refresh(const NodeTable& nodes, int64_t most_steps = std::numeric_limits<int64_t>::max());
  // For in between, lest the next Refresh() takes long: reads them if they are many, some at a
  // time.
  void Follow(const NodeTable& nodes);

  // As of the last Refresh(): by rising priority; as many as some node has.
  absl::Span<const EvictionLevel> levels() const { return levels_; }
  // Where in their columns the node of that row is. It stays there when rows move.
  int32_t place(NodeRow row) const { return places_[row]; }
  const int32_t* places() const { return places_.data(); }  // by row
  // The lowest priority on the node of that row.
  int64_t lowest(NodeRow row) const { return LowestAt(places_[row]); }
  // Whether the last level has pods of several priorities.
  bool is_merged(NodeRow row) const { return some_merged_ && is_merged_[places_[row]] != 0; }
  // The lowest priority on all nodes.
  int64_t lowest() const { return rows_with_.empty() ? kNobody : rows_with_.front().first; }

 private:
  class RowLevels;

  int64_t LowestAt(int32_t place) const {
    return levels_.empty() ? kNobody : levels_.front().priority[place];
  }
  void FollowRows(const NodeTable& nodes);
  void Restart(const NodeTable& nodes);
  void Move(const RowMove& move);
  void AddPlaces(size_t count);
  void Forget(NodeRow row);
  bool ReadUnread(const NodeTable& nodes, int64_t most_steps);
  void ListUnread();
  void Read(int32_t place, const NodeInfo& node);
  void Load(int32_t place, RowLevels& row_levels) const;
  void Store(int32_t place, const RowLevels& row_levels);
  void Count(int64_t priority, int difference);

  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
  std::vector<int32_t> places_;       // by row
  std::vector<int32_t> free_places_;
  std::vector<EvictionLevel> levels_;
  // By place: of the node that was read, and how many pods it had; 0 before.
  std::vector<uint64_t> generations_;
  std::vector<int32_t> pods_;
  std::vector<uint8_t> is_merged_;
  bool some_merged_ = false;                        // perhaps none any more
  std::vector<uint8_t> is_read_;                    // by row: since the node changed
  std::vector<std::pair<int64_t, int>> rows_with_;  // by lowest priority, rising; there are few
  std::vector<NodeRow> changed_;                    // to be read, unless rows moved since
  bool moved_ = false;
  int64_t unread_ = 0;  // nodes and pods, about
  FewerLeft stops_;     // of Refresh(), with rows left
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_EVICTION_OUTLOOK_H_
