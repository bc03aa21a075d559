// SPDX-License-Identifier: Apache-2.0
// How much is free of a resource on the nodes that reject pods for want of it.
#ifndef BERTH_SRC_EVALUATION_FREE_CAPACITY_H_
#define BERTH_SRC_EVALUATION_FREE_CAPACITY_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {

// What is free of one resource on each row of a table: its columns, as long as it does not change.
// "pods" too.
class FreeColumn {
 public:
  FreeColumn(const NodeTable& nodes, absl::string_view resource);
  // Not below 0.
  int64_t free(NodeRow row) const { return std::max<int64_t>(0, has_[row] - used_[row]); }

 private:
  const int64_t* has_;
  const int64_t* used_;
};

// The resource, the index of the filter plugin that rejects for want of it, and how much of it is
// too little.
struct FreeCapacityQuestion {
  std::string resource;
  uint8_t rejector = NodeVerdicts::kNoRejector;
  int64_t needed = 0;
};
struct FreeCapacity {
  // On those of these nodes that have less than is needed: the others are rejected for something
  // else. On all together, which stops at the ends of int64; and the most on one, 0 if there is
  // none.
  int64_t all_free = 0;
  int64_t most_free = 0;
};
// By a look at all rows.
FreeCapacity MeasureFreeCapacity(const FreeCapacityQuestion& question, const NodeTable& nodes,
                                 const NodeVerdicts& verdicts);

// For sums of amounts that users write: over many nodes they may be more than int64 holds.
int64_t ClampToInt64(__int128 sum);

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_FREE_CAPACITY_H_
