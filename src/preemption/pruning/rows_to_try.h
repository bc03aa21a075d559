// SPDX-License-Identifier: Apache-2.0
// Which nodes one search is to try.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_ROWS_TO_TRY_H_
#define BERTH_SRC_PREEMPTION_PRUNING_ROWS_TO_TRY_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/framework/postfilter.h"
#include "framework/status_columns.h"
#include "preemption/pruning/dry_run_cache.h"

namespace berth {

// The potential nodes, but for those that are known to fail. Asked row by row, or for all of them.
class RowsToTry {
 public:
  // Of `size` rows. `known`: what is known of the nodes; null: nothing. Both outlive this.
  // `listed`: the potential nodes on which there may be victims, if these are not all.
  RowsToTry(int size, const NodeStatuses& statuses, const CachedResults* known,
            std::optional<std::vector<NodeRow>> listed = std::nullopt)
      : size_(size),
        statuses_(statuses),
        known_(known == nullptr || known->known_count() == 0 ? nullptr : known),
        listed_(std::move(listed)) {}

  int size() const { return size_; }
  bool are_listed() const { return listed_.has_value(); }
  // If they are not listed.
  bool Contain(NodeRow row) const {
    return statuses_.code(row) == Code::kUnschedulable && !IsFailure(row);
  }
  // By row, 1 for these.
  std::vector<uint8_t> ToColumn() const {
    std::vector<uint8_t> column(size_);
    if (listed_.has_value()) {
      for (const NodeRow row : *listed_) column[row] = 1;
    } else {
      const auto* const columns = dynamic_cast<const StatusColumns*>(&statuses_);
      const absl::Span<const Code> codes =
          columns == nullptr ? absl::Span<const Code>() : columns->codes();
      for (NodeRow row = 0; row < size_; ++row) {
        column[row] = (codes.empty() ? statuses_.code(row) : codes[row]) == Code::kUnschedulable;
      }
    }
    for (NodeRow row = 0; known_ != nullptr && row < size_; ++row) {
      if (IsFailure(row)) column[row] = 0;
    }
    return column;
  }

 private:
  bool IsFailure(NodeRow row) const { return known_ != nullptr && known_->IsFailure(row); }

  const int size_;
  const NodeStatuses& statuses_;
  const CachedResults* const known_;
  const std::optional<std::vector<NodeRow>> listed_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_ROWS_TO_TRY_H_
