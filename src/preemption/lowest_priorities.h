// The priority of the least important pod of each node, so that a search need not look at nodes
// that have nobody to evict.
#ifndef BERTH_SRC_PREEMPTION_LOWEST_PRIORITIES_H_
#define BERTH_SRC_PREEMPTION_LOWEST_PRIORITIES_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth {

// Follows a table: a Refresh() costs the nodes that changed. Scheduling thread.
class LowestPriorities {
 public:
  // Of a node without pods.
  static constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();

  void Refresh(const NodeTable& nodes);

  // As of the last Refresh().
  int64_t of_row(NodeRow row) const { return of_rows_[row]; }
  // On all nodes.
  int64_t lowest() const { return rows_with_.empty() ? kNobody : rows_with_.front().first; }

 private:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

  void Count(int64_t priority, int difference);

  uint64_t version_ = 0;
  std::vector<int64_t> of_rows_;
  std::vector<std::pair<int64_t, int>> rows_with_;  // by priority, rising; there are few
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_LOWEST_PRIORITIES_H_
