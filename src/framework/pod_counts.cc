// Counts a slot, and the sums over rows and domains that were asked for.
#include "berth/framework/pod_counts.h"

#include <optional>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

constexpr size_t kFewSlots = 64;

// What pods on nodes without the label are counted under.
const LabelValue kNoLabel;

}  // namespace

void SlotCounts::Add(int slot, int64_t difference) {
  if (many_.empty()) {
    int64_t& count = few_[slot];
    nonzero_ += (count + difference != 0) - (count != 0);
    count += difference;
    if (count == 0) few_.erase(slot);
    if (few_.size() <= kFewSlots) return;
    for (const auto& [other, pods] : few_) {
      if (other >= static_cast<int>(many_.size())) many_.resize(other + 1);
      many_[other] = pods;
    }
    few_ = {};
    return;
  }
  if (slot >= static_cast<int>(many_.size())) many_.resize(slot + 1);
  int64_t& count = many_[slot];
  nonzero_ += (count + difference != 0) - (count != 0);
  count += difference;
  if (nonzero_ == 0) many_ = {};
}

void PodCounts::Add(int slot, int64_t difference) {
  of_slots_.Add(slot, difference);
  total_ += difference;
  const NodeRow row = slots_->row_of_slot[slot];
  if (row < 0) return;
  if (rows_version_ == slots_->order_version) of_rows_[row] += difference;
  for (Domains& domains : domains_) {
    if (domains.version != domains.column->version()) continue;  // counted again when asked for
    const uint32_t index = domains.column->index(row);
    domains.counts[index] += difference;
    if (domains.column->values()[index].present) domains.labelled += difference;
  }
}

absl::Span<const int64_t> PodCounts::of_rows() const {
  if (rows_version_ != slots_->order_version) {
    of_rows_.assign(slots_->rows, 0);
    of_slots_.ForEach(
        [&](int slot, int64_t count) { of_rows_[slots_->row_of_slot[slot]] += count; });
    rows_version_ = slots_->order_version;
  }
  return of_rows_;
}

const PodCounts::Domains& PodCounts::FindDomains(const LabelColumn& column) const {
  auto it =
      absl::c_find_if(domains_, [&](const Domains& domains) { return domains.column == &column; });
  if (it == domains_.end()) it = domains_.insert(it, {.column = &column});
  if (it->version != column.version()) Recount(*it);
  return *it;
}

void PodCounts::Recount(Domains& domains) const {
  const LabelColumn& column = *domains.column;
  domains.counts.assign(column.values().size(), 0);
  of_slots_.ForEach([&](int slot, int64_t count) {
    domains.counts[column.index(slots_->row_of_slot[slot])] += count;
  });
  const std::optional<uint32_t> none = column.Find(kNoLabel);
  domains.labelled = total_ - (none.has_value() ? domains.counts[*none] : 0);
  domains.version = column.version();
}

absl::Span<const int64_t> PodCounts::of_domains(const LabelColumn& column) const {
  return FindDomains(column).counts;
}

int64_t PodCounts::total_labelled(const LabelColumn& column) const {
  return FindDomains(column).labelled;
}

// An array of all domains is worth its memory only where the pods are in many of them.
bool PodCounts::IsDense(const LabelColumn& column) const {
  return static_cast<size_t>(of_slots_.nonzero()) > column.values().size() / 8;
}

int64_t PodCounts::AddToDomains(const LabelColumn& column, int64_t weight,
                                absl::Span<int64_t> sums) const {
  if (IsDense(column)) {
    const Domains& domains = FindDomains(column);
    for (size_t i = 0; i < domains.counts.size(); ++i) sums[i] += weight * domains.counts[i];
    const std::optional<uint32_t> none = column.Find(kNoLabel);
    if (none.has_value()) sums[*none] -= weight * domains.counts[*none];
    return domains.labelled;
  }
  int64_t pods = 0;
  of_slots_.ForEach([&](int slot, int64_t count) {
    const uint32_t index = column.index(slots_->row_of_slot[slot]);
    if (!column.values()[index].present) return;
    sums[index] += weight * count;
    pods += count;
  });
  return pods;
}

}  // namespace berth
