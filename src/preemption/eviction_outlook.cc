// Implementation of eviction_outlook.h.
#include "preemption/eviction_outlook.h"

#include <algorithm>

namespace berth {

EvictionOutlook::OfNode EvictionOutlook::Of(const NodeInfo& node) {
  OfNode of_node;
  for (const auto& pod : node.pods()) {
    of_node.lowest_priority = std::min<int64_t>(of_node.lowest_priority, pod->priority());
    of_node.latest_start_nanos = std::max(of_node.latest_start_nanos, StartNanos(*pod));
  }
  return of_node;
}

void EvictionOutlook::Refresh(const NodeTable& nodes) {
  if (version_ == nodes.version()) return;
  std::vector<NodeRow> changed;
  bool moved = false;
  const bool followed =
      version_ != 0 &&
      nodes.Replay(
          version_, [&](const RowChange& change) { changed.push_back(change.row); },
          [&](const RowMove& move) {
            for (const NodeRow row : changed) of_rows_[row] = kUnknown;  // before it moves
            changed.clear();
            moved = true;
            move.Apply(of_rows_, kUnknown);
          });
  version_ = nodes.version();
  if (followed && !moved) {
    for (const NodeRow row : changed) {
      Count(of_rows_[row].lowest_priority, -1);
      of_rows_[row] = Of(nodes.node(row));
      Count(of_rows_[row].lowest_priority, 1);
    }
    return;
  }
  for (const NodeRow row : changed) of_rows_[row] = kUnknown;
  if (!followed) of_rows_.assign(nodes.size(), kUnknown);
  rows_with_.clear();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    OfNode& of_node = of_rows_[row];
    if (of_node.lowest_priority == kUnknown.lowest_priority) of_node = Of(nodes.node(row));
    Count(of_node.lowest_priority, 1);
  }
}

void EvictionOutlook::Count(int64_t priority, int difference) {
  if (priority == kNobody) return;
  auto it = std::lower_bound(rows_with_.begin(), rows_with_.end(), std::pair(priority, 0));
  if (it == rows_with_.end() || it->first != priority) it = rows_with_.insert(it, {priority, 0});
  it->second += difference;
  if (it->second == 0) rows_with_.erase(it);
}

}  // namespace berth
