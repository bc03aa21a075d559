// SPDX-License-Identifier: Apache-2.0
// Implementation of free_capacity_cache.h.
#include "evaluation/incremental/free_capacity_cache.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace berth {

// For too_little_.
class FreeCapacityCache::ByFree {
 public:
  explicit ByFree(const FreeCapacityCache& capacity)
      : free_(capacity.free_.data()), needed_(capacity.question_.needed) {}

  NodeRow BestOf(NodeRow begin, NodeRow end) const {
    NodeRow best = -1;
    for (NodeRow row = begin; row < end; ++row) {
      if (free_[row] == kNotCounted || free_[row] >= needed_) continue;
      if (best < 0 || free_[best] < free_[row]) best = row;
    }
    return best;
  }
  NodeRow Better(NodeRow left, NodeRow right) const {
    if (left < 0) return right;
    if (right < 0) return left;
    return free_[left] < free_[right] ? right : left;
  }

 private:
  const int64_t* free_;
  int64_t needed_;
};

FreeCapacity FreeCapacityCache::Measure(const FreeCapacityQuestion& question,
                                        const NodeTable& nodes, const NodeVerdicts& verdicts,
                                        std::optional<absl::Span<const NodeRow>> found_again) {
  const auto changes = nodes.ChangesSince(table_version_);
  const size_t size = static_cast<size_t>(nodes.size());
  const bool few_changed = table_ == nodes.id() && question_ == question && changes.has_value() &&
                           found_again.has_value() &&
                           changes->size() + found_again->size() < size / 8;
  table_ = nodes.id();
  table_version_ = nodes.version();
  if (!few_changed) {
    question_ = question;
    free_.clear();
    return MeasureFreeCapacity(question, nodes, verdicts);
  }
  const FreeColumn column(nodes, question.resource);
  if (free_.size() != size) {
    Build(column, verdicts);
  } else {
    for (const RowChange& change : *changes) MeasureRow(change.row, column, verdicts);
    for (const NodeRow row : *found_again) MeasureRow(row, column, verdicts);
  }
  const NodeRow most = too_little_.best();
  return {.all_free = ClampToInt64(all_free_), .most_free = most < 0 ? 0 : free_[most]};
}

void FreeCapacityCache::Build(const FreeColumn& column, const NodeVerdicts& verdicts) {
  const absl::Span<const uint8_t> rejectors = verdicts.rejectors();
  free_.assign(rejectors.size(), kNotCounted);
  all_free_ = 0;
  for (NodeRow row = 0; row < verdicts.rows(); ++row) {
    if (rejectors[row] != question_.rejector) continue;
    free_[row] = column.free(row);
    all_free_ += free_[row];
  }
  too_little_.Build(verdicts.rows(), ByFree(*this));
}

void FreeCapacityCache::MeasureRow(NodeRow row, const FreeColumn& column,
                                   const NodeVerdicts& verdicts) {
  const bool counts = verdicts.rejector(row) == question_.rejector;
  const int64_t free = counts ? column.free(row) : kNotCounted;
  const int64_t before = std::exchange(free_[row], free);
  all_free_ += std::max<int64_t>(free, 0) - std::max<int64_t>(before, 0);
  too_little_.Update(row, ByFree(*this));
}

}  // namespace berth
