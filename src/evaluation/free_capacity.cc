// SPDX-License-Identifier: Apache-2.0
// Implementation of free_capacity.h.
#include "evaluation/free_capacity.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "berth/api/resources.h"
#include "berth/columns/vector_clones.h"

namespace berth {

FreeColumn::FreeColumn(const NodeTable& nodes, absl::string_view resource) {
  const bool pods = resource == kPodsResource;
  const ResourceId id = pods ? 0 : ResourceIdOf(resource);
  has_ = (pods ? nodes.allowed_pods() : nodes.allocatable(id)).data();
  used_ = (pods ? nodes.pod_count() : nodes.requested(id)).data();
}

namespace {

int64_t OnlyIf(bool condition, int64_t value) { return value & -static_cast<int64_t>(condition); }

int64_t Clamped(__int128 sum) {
  using Limits = std::numeric_limits<int64_t>;
  return static_cast<int64_t>(std::clamp<__int128>(sum, Limits::min(), Limits::max()));
}

BERTH_VECTOR_CLONES FreeCapacity::Answer LookAtAll(FreeColumn column, const uint8_t* rejectors,
                                                   NodeRow rows, uint8_t rejector, int64_t needed) {
  // The sum in two halves, neither of which can overflow: amounts are what users write.
  int64_t high = 0, low = 0, most_free = 0;
  for (NodeRow row = 0; row < rows; ++row) {
    const int64_t free = OnlyIf(rejectors[row] == rejector, column.free(row));
    high += free >> 32;
    low += free & 0xffffffff;
    most_free = std::max(most_free, OnlyIf(free < needed, free));
  }
  return {.all_free = Clamped(__int128{high} * (int64_t{1} << 32) + low), .most_free = most_free};
}

}  // namespace

// For too_little_.
class FreeCapacity::ByFree {
 public:
  explicit ByFree(const FreeCapacity& capacity)
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

FreeCapacity::Answer FreeCapacity::Look(const Question& question, const NodeTable& nodes,
                                        const NodeVerdicts& verdicts) {
  return LookAtAll(FreeColumn(nodes, question.resource), verdicts.rejectors().data(),
                   verdicts.rows(), question.rejector, question.needed);
}

FreeCapacity::Answer FreeCapacity::Follow(const Question& question, const NodeTable& nodes,
                                          const NodeVerdicts& verdicts,
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
    return Look(question, nodes, verdicts);
  }
  const FreeColumn column(nodes, question.resource);
  if (free_.size() != size) {
    Build(column, verdicts);
  } else {
    for (const RowChange& change : *changes) Measure(change.row, column, verdicts);
    for (const NodeRow row : *found_again) Measure(row, column, verdicts);
  }
  const NodeRow most = too_little_.best();
  return {.all_free = Clamped(all_free_), .most_free = most < 0 ? 0 : free_[most]};
}

void FreeCapacity::Build(const FreeColumn& column, const NodeVerdicts& verdicts) {
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

void FreeCapacity::Measure(NodeRow row, const FreeColumn& column, const NodeVerdicts& verdicts) {
  const bool counts = verdicts.rejector(row) == question_.rejector;
  const int64_t free = counts ? column.free(row) : kNotCounted;
  const int64_t before = std::exchange(free_[row], free);
  all_free_ += std::max<int64_t>(free, 0) - std::max<int64_t>(before, 0);
  too_little_.Update(row, ByFree(*this));
}

}  // namespace berth
