// SPDX-License-Identifier: Apache-2.0
// Implementation of table_journal.h.
#include "table/table_journal.h"

#include <algorithm>
#include <utility>

namespace berth {

// Keeps as many changes as there are rows, at least: a reader that is further behind looks at every
// row.
void TableJournal::Add(RowChange change, int rows) {
  const size_t kept = std::max<size_t>(rows, 1024);
  if (changes_.size() >= 2 * kept) changes_.erase(changes_.begin(), changes_.end() - kept);
  changes_.push_back(change);
}

// Keeps as many as may move all rows twice: a reader that is further behind looks at every row.
void TableJournal::AddMove(RowMove move, uint64_t version, int rows) {
  Add({-1, Aspect::kNothing}, rows);
  order_changed_at_ = version;
  moved_rows_ += move.cost();
  moves_.push_back({std::move(move), version});
  for (; moved_rows_ > std::max(2 * rows, 1024); moves_.pop_front()) {
    moved_rows_ -= moves_.front().move.cost();
    replayable_since_ = moves_.front().version;
  }
}

void TableJournal::Restart(uint64_t version) {
  changes_.clear();
  moves_.clear();
  moved_rows_ = 0;
  replayable_since_ = order_changed_at_ = version;
}

std::optional<absl::Span<const RowChange>> TableJournal::ChangesSince(uint64_t version,
                                                                      uint64_t now) const {
  const uint64_t behind = now - version;
  if (version > now || version < order_changed_at_ || behind > changes_.size()) {
    return std::nullopt;
  }
  return absl::MakeConstSpan(changes_).last(behind);
}

bool TableJournal::Replay(uint64_t version, uint64_t now,
                          absl::FunctionRef<void(const RowChange&)> on_change,
                          absl::FunctionRef<void(const RowMove&)> on_move) const {
  const uint64_t behind = now - version;
  if (version > now || version < replayable_since_ || behind > changes_.size()) return false;
  auto move = std::partition_point(moves_.begin(), moves_.end(),
                                   [&](const KeptMove& m) { return m.version <= version; });
  for (size_t i = changes_.size() - behind; i < changes_.size(); ++i) {
    ++version;
    if (move != moves_.end() && move->version == version) {
      on_move((move++)->move);
    } else {
      on_change(changes_[i]);
    }
  }
  return true;
}

}  // namespace berth
