// SPDX-License-Identifier: Apache-2.0
// FreeCapacity from one attempt to the next: what a retry of a rejected class asks again.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_FREE_CAPACITY_CACHE_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_FREE_CAPACITY_CACHE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "evaluation/free_capacity.h"
#include "table/best_row.h"

namespace berth {

// Sum and maximum over cached rejections. The first answer to a question takes one look at
// all rows, the second one two; from then on it costs the rows that changed, unless these are many.
// Scheduling thread.
class FreeCapacityCache {
 public:
  // As MeasureFreeCapacity(). `found_again`: the rows whose verdicts may be others than at the last
  // call; absent: all.
  FreeCapacity Measure(const FreeCapacityQuestion& question, const NodeTable& nodes,
                       const NodeVerdicts& verdicts,
                       std::optional<absl::Span<const NodeRow>> found_again);

 private:
  class ByFree;
  static constexpr int64_t kNotCounted = -1;

  void Build(const FreeColumn& column, const NodeVerdicts& verdicts);
  void MeasureRow(NodeRow row, const FreeColumn& column, const NodeVerdicts& verdicts);

  FreeCapacityQuestion question_;
  uint64_t table_ = 0, table_version_ = 0;  // NodeTable::id() and version()
  std::vector<int64_t> free_;  // by row, or kNotCounted; empty until a question is asked again
  __int128 all_free_ = 0;      // of amounts that users write: of many nodes more than int64 holds
  BestRow too_little_;         // the most of these
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_FREE_CAPACITY_CACHE_H_
