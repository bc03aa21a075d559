// Implementation of free_room.h.
#include "engine/free_room.h"

#include <cstddef>
#include <utility>

#include "berth/api/resources.h"

namespace berth {

FreeColumn::FreeColumn(const NodeTable& nodes, absl::string_view resource) {
  const bool pods = resource == kPodsResource;
  const ResourceId id = pods ? 0 : ResourceIdOf(resource);
  has_ = pods ? nodes.allowed_pods() : nodes.allocatable(id);
  used_ = pods ? nodes.pod_count() : nodes.requested(id);
}

// For best_: of the rows that have too little, those with more are better.
class FreeRoom::ByFree {
 public:
  explicit ByFree(const FreeRoom& room)
      : free_(room.free_.data()), needed_(room.question_.needed) {}

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

void FreeRoom::Refresh(const Question& question, const NodeTable& nodes,
                       const NodeVerdicts& verdicts,
                       std::optional<absl::Span<const NodeRow>> found_again) {
  const auto changes = nodes.ChangesSince(table_version_);
  const size_t size = static_cast<size_t>(nodes.size());
  const bool follows = table_ == nodes.id() && question_ == question && free_.size() == size &&
                       changes.has_value() && found_again.has_value() &&
                       changes->size() + found_again->size() < size / 8;
  table_ = nodes.id();
  table_version_ = nodes.version();
  const FreeColumn column(nodes, question.resource);
  if (follows) {
    const auto measure = [&](NodeRow row) {
      Measure(row, column, verdicts);
      best_.Update(row, ByFree(*this));
    };
    for (const RowChange& change : *changes) measure(change.row);
    for (const NodeRow row : *found_again) measure(row);
    return;
  }
  question_ = question;
  free_.assign(size, kNotCounted);
  all_free_ = 0;
  const absl::Span<const uint8_t> rejectors = verdicts.rejectors();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (rejectors[row] != question.rejector) continue;
    free_[row] = column.free(row);
    all_free_ += free_[row];
  }
  best_.Build(nodes.size(), ByFree(*this));
}

void FreeRoom::Measure(NodeRow row, const FreeColumn& column, const NodeVerdicts& verdicts) {
  const bool counts = verdicts.rejector(row) == question_.rejector;
  const int64_t free = counts ? column.free(row) : kNotCounted;
  const int64_t before = std::exchange(free_[row], free);
  all_free_ += std::max<int64_t>(free, 0) - std::max<int64_t>(before, 0);
}

}  // namespace berth
