// SPDX-License-Identifier: Apache-2.0
// How much is free of a resource on the nodes that reject pods for want of it.
#ifndef BERTH_SRC_EVALUATION_FREE_CAPACITY_H_
#define BERTH_SRC_EVALUATION_FREE_CAPACITY_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "table/best_row.h"

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

// Sum and maximum over cached rejections. The first answer to a question takes one look at
// all rows, the second one two; from then on it costs the rows that changed, unless these are many.
// Scheduling thread.
class FreeCapacity {
 public:
  // Of which resource, where which filter plugin rejects, by its index; and how much of it is too
  // little.
  struct Question {
    std::string resource;
    uint8_t rejector = NodeVerdicts::kNone;
    int64_t needed = 0;
    friend bool operator==(const Question&, const Question&) = default;
  };
  struct Answer {
    int64_t all_free = 0;   // on all of these nodes; stops at the ends of int64
    int64_t most_free = 0;  // on one of these that have less than is needed; 0 if there is none
  };
  // By a look at all rows.
  static Answer Look(const Question& question, const NodeTable& nodes,
                     const NodeVerdicts& verdicts);
  // The same. `found_again`: the rows whose verdicts may be others than at the last call; absent:
  // all.
  Answer Follow(const Question& question, const NodeTable& nodes, const NodeVerdicts& verdicts,
                std::optional<absl::Span<const NodeRow>> found_again);

 private:
  class ByFree;
  static constexpr int64_t kNotCounted = -1;

  void Build(const FreeColumn& column, const NodeVerdicts& verdicts);
  void Measure(NodeRow row, const FreeColumn& column, const NodeVerdicts& verdicts);

  Question question_;
  uint64_t table_ = 0, table_version_ = 0;  // NodeTable::id() and version()
  std::vector<int64_t> free_;  // by row, or kNotCounted; empty until a question is asked again
  __int128 all_free_ = 0;      // of amounts that users write: of many nodes more than int64 holds
  BestRow too_little_;         // the most of these
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_FREE_CAPACITY_H_
