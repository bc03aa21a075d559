// Which rows changed lately, for whoever keeps something by row.
#ifndef BERTH_SRC_FRAMEWORK_ROW_JOURNAL_H_
#define BERTH_SRC_FRAMEWORK_ROW_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/node_table.h"
#include "framework/unique_id.h"

namespace berth {

// Each reader keeps the position up to which it has read. Scheduling thread.
class RowJournal {
 public:
  RowJournal() = default;
  RowJournal(const RowJournal&) = delete;  // positions are in one journal
  RowJournal& operator=(const RowJournal&) = delete;

  // In one journal. Those of nothing are in none.
  struct Position {
    uint64_t journal = 0;
    uint64_t number = 0;
  };
  Position end() const { return {id_, before_ + rows_.size()}; }

  // `row` of `rows` has changed.
  void Add(NodeRow row, int rows) {
    if (rows_.size() >= 64 + static_cast<size_t>(rows) / 8) {
      before_ += rows_.size();  // who is further behind had better look at all rows
      rows_.clear();
    }
    rows_.push_back(row);
  }
  // Any may have, or rows have other numbers.
  void Restart() {
    before_ += rows_.size() + 1;  // also of those who have read everything
    rows_.clear();
  }
  // The rows that changed since, some more than once. Absent if they may be any.
  std::optional<absl::Span<const NodeRow>> Since(const Position& position) const {
    if (position.journal != id_ || position.number < before_) return std::nullopt;
    return absl::MakeConstSpan(rows_).subspan(position.number - before_);
  }

 private:
  const uint64_t id_ = NextUniqueId();
  std::vector<NodeRow> rows_;
  uint64_t before_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_ROW_JOURNAL_H_
