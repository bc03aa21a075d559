// What evicting pods of each node could come to at best, so that a search need not look at every
// node: the least important pod's priority and the latest start.
#ifndef BERTH_SRC_PREEMPTION_EVICTION_OUTLOOK_H_
#define BERTH_SRC_PREEMPTION_EVICTION_OUTLOOK_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "berth/framework/node_table.h"
#include "preemption/scores.h"

namespace berth {

// Follows a table: a Refresh() costs the nodes that changed. Scheduling thread.
class EvictionOutlook {
 public:
  // The lowest priority on a node without pods.
  static constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();

  struct OfNode {
    int64_t lowest_priority = kNobody;
    int64_t latest_start_nanos = std::numeric_limits<int64_t>::min();  // as StartNanos()
  };

  void Refresh(const NodeTable& nodes);

  // As of the last Refresh().
  const OfNode& of_row(NodeRow row) const { return of_rows_[row]; }
  // The lowest priority on all nodes.
  int64_t lowest() const { return rows_with_.empty() ? kNobody : rows_with_.front().first; }

 private:
  static constexpr OfNode kUnknown = {std::numeric_limits<int64_t>::min(), 0};

  static OfNode Of(const NodeInfo& node);
  void Count(int64_t priority, int difference);

  uint64_t version_ = 0;
  std::vector<OfNode> of_rows_;
  std::vector<std::pair<int64_t, int>> rows_with_;  // by priority, rising; there are few
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_EVICTION_OUTLOOK_H_
