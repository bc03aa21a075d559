// SPDX-License-Identifier: Apache-2.0
// The latest changes of a node table, for readers that bring up to date what they keep by row.
#ifndef BERTH_SRC_TABLE_TABLE_JOURNAL_H_
#define BERTH_SRC_TABLE_TABLE_JOURNAL_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "table/row_move.h"

namespace berth {

// Each change of the table makes its next version, and `version` below is that, or, of a question,
// the version that the reader has seen. Contracts: NodeTable.
class TableJournal {
 public:
  // `rows`: how many the table has.
  void Add(RowChange change, int rows);
  void AddMove(RowMove move, uint64_t version, int rows);
  // Forgets what was: `version` is the first that a reader may have seen.
  void Restart(uint64_t version);

  std::optional<absl::Span<const RowChange>> ChangesSince(uint64_t version, uint64_t now) const;
  bool Replay(uint64_t version, uint64_t now, absl::FunctionRef<void(const RowChange&)> on_change,
              absl::FunctionRef<void(const RowMove&)> on_move) const;

 private:
  struct KeptMove {
    RowMove move;
    uint64_t version;  // right after it
  };

  // For a move it is none of a row: what it was is in moves_.
  std::vector<RowChange> changes_;
  std::deque<KeptMove> moves_;
  int64_t moved_rows_ = 0;                                // what moves_ cost, about
  uint64_t order_changed_at_ = 0, replayable_since_ = 0;  // versions
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_TABLE_JOURNAL_H_
