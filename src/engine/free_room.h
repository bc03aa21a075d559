// How much is free of a resource on the nodes that reject pods for want of it.
#ifndef BERTH_SRC_ENGINE_FREE_ROOM_H_
#define BERTH_SRC_ENGINE_FREE_ROOM_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/framework/node_table.h"
#include "berth/framework/node_verdicts.h"
#include "framework/best_row.h"

namespace berth {

// What is free of one resource on each row of a table: its columns. "pods" too.
class FreeColumn {
 public:
  FreeColumn(const NodeTable& nodes, absl::string_view resource);
  // Not below 0.
  int64_t free(NodeRow row) const { return std::max<int64_t>(0, has_[row] - used_[row]); }

 private:
  absl::Span<const int64_t> has_, used_;
};

// Sum and maximum over rejections that are kept; costs the rows that changed. Scheduling thread.
class FreeRoom {
 public:
  // Of which resource, where which filter plugin rejects, by its index; and how much of it is too
  // little.
  struct Question {
    std::string resource;
    uint8_t rejector = NodeVerdicts::kNobody;
    int64_t needed = 0;
    friend bool operator==(const Question&, const Question&) = default;
  };
  // `found_again`: the rows whose verdicts may be others than at the last call; absent: all.
  void Refresh(const Question& question, const NodeTable& nodes, const NodeVerdicts& verdicts,
               std::optional<absl::Span<const NodeRow>> found_again);

  // On all of these nodes.
  int64_t all_free() const { return all_free_; }
  // On one of the nodes that have less than is needed; 0 if there is none.
  int64_t most_free() const { return best_.best() < 0 ? 0 : free_[best_.best()]; }

 private:
  class ByFree;
  static constexpr int64_t kNotCounted = -1;

  void Measure(NodeRow row, const FreeColumn& column, const NodeVerdicts& verdicts);

  Question question_;
  uint64_t table_ = 0, table_version_ = 0;  // NodeTable::id() and version()
  std::vector<int64_t> free_;               // by row, or kNotCounted
  int64_t all_free_ = 0;
  BestRow best_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_FREE_ROOM_H_
