// SPDX-License-Identifier: Apache-2.0
// What changed lately, for readers that keep something of each row or domain.
#ifndef BERTH_SRC_TABLE_CHANGE_JOURNAL_H_
#define BERTH_SRC_TABLE_CHANGE_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "table/unique_id.h"

namespace berth {

// A Change names the row, or the like, that changed. Each reader keeps the position up to
// which it has read. Scheduling thread.
template <class Change>
class ChangeJournal {
 public:
  ChangeJournal() = default;
  ChangeJournal(const ChangeJournal&) = delete;  // positions are in one journal
  ChangeJournal& operator=(const ChangeJournal&) = delete;

  // In one journal. Those of nothing are in none.
  struct Position {
    uint64_t journal = 0;
    uint64_t number = 0;
  };
  Position end() const { return {id_, before_ + latest_.size()}; }

  // One of `all` has changed.
  void Add(Change change, int all) {
    if (latest_.size() >= 64 + static_cast<size_t>(all) / 8) {
      before_ += latest_.size();  // a reader further behind had better read all
      latest_.clear();
    }
    latest_.push_back(change);
  }
  // Any may have, or they have other numbers.
  void Restart() {
    before_ += latest_.size() + 1;  // also for readers that have read everything
    latest_.clear();
  }
  // What changed since, some more than once. Absent if it may be any.
  std::optional<absl::Span<const Change>> Since(const Position& position) const {
    if (position.journal != id_ || position.number < before_) return std::nullopt;
    return absl::MakeConstSpan(latest_).subspan(position.number - before_);
  }

 private:
  const uint64_t id_ = NextUniqueId();
  std::vector<Change> latest_;
  uint64_t before_ = 0;
};

using RowJournal = ChangeJournal<NodeRow>;
using NodeJournal = ChangeJournal<Symbol>;  // names of nodes

}  // namespace berth

#endif  // BERTH_SRC_TABLE_CHANGE_JOURNAL_H_
