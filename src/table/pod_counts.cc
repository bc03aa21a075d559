// SPDX-License-Identifier: Apache-2.0
// Counts a slot, and the sums over rows and domains that were asked for.
#include "berth/columns/pod_counts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "table/change_journal.h"
#include "table/node_sets.h"

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

int64_t SlotCounts::at(int slot) const {
  if (!many_.empty()) return slot < static_cast<int>(many_.size()) ? many_[slot] : 0;
  const auto it = few_.find(slot);
  return it == few_.end() ? 0 : it->second;
}

// --- By domain -----------------------------------------------------------------------------------

// The counts of one column.
class PodCounts::Domains {
 public:
  Domains(const LabelColumn& column, const NodeSet* nodes) : column_(column), nodes_(nodes) {}

  const LabelColumn& column() const { return column_; }
  // False once nodes came, went or have another label.
  bool is_in_step() const { return version_ == column_.version(); }
  void Recount(const SlotCounts& pods, const NodeSlots& slots);
  void Add(NodeRow row, int64_t difference);
  // So many more nodes (1 or -1) of the row's domain are counted, this one included.
  void FollowNode(NodeRow row, int difference);

  // How many nodes there are, by index.
  absl::Span<const int> nodes() const {
    return nodes_ == nullptr ? column_.row_counts() : nodes_->of_domains(column_);
  }
  const std::vector<int64_t>& counts() const { return counts_; }
  int64_t labelled() const { return labelled_; }
  MinimumPods FindMinimum();
  const ChangeJournal<Change>& changes() const { return changes_; }

 private:
  static constexpr size_t kFewDomains = 64;  // of more of them it is kept how many have how many
  static constexpr size_t kMost = 1023;      // pods, up to so many

  // Calls visit(pods) for each domain.
  template <class Visit>
  void ForEachDomain(Visit visit) const {
    const absl::Span<const int> nodes = this->nodes();
    for (uint32_t domain = 0; domain < counts_.size(); ++domain) {
      if (column_.values()[domain].present && nodes[domain] > 0) visit(counts_[domain]);
    }
  }
  void FillBins();
  void CountIn(int64_t pods, int32_t domains);

  const LabelColumn& column_;
  const NodeSet* nodes_;  // null: all
  uint64_t version_ = 0;  // of the column
  std::vector<int64_t> counts_;
  int64_t labelled_ = 0;
  ChangeJournal<Change> changes_;
  std::vector<int32_t> with_;  // domains, by their pods; empty until asked for
  size_t lowest_ = 0;          // in with_; all before it are 0
  int64_t not_in_bins_ = 0;    // domains
  int64_t domains_ = 0;        // all
};

void PodCounts::Domains::Recount(const SlotCounts& pods, const NodeSlots& slots) {
  counts_.assign(column_.values().size(), 0);
  int64_t all = 0;
  pods.ForEach([&](int slot, int64_t count) {
    counts_[column_.index(slots.row_of_slot[slot])] += count;
    all += count;
  });
  const std::optional<uint32_t> none = column_.Find(kNoLabel);
  labelled_ = all - (none.has_value() ? counts_[*none] : 0);
  version_ = column_.version();
  changes_.Restart();
  with_.clear();
}

void PodCounts::Domains::Add(NodeRow row, int64_t difference) {
  const uint32_t domain = column_.index(row);
  const int64_t before = counts_[domain];
  counts_[domain] += difference;
  changes_.Add({domain, row}, static_cast<int>(counts_.size()));
  if (!column_.values()[domain].present) return;
  labelled_ += difference;
  if (with_.empty()) return;
  CountIn(before, -1);
  CountIn(before + difference, 1);
}

// The domain is one as long as it has nodes. Where it has none, their pods went before.
void PodCounts::Domains::FollowNode(NodeRow row, int difference) {
  const uint32_t domain = column_.index(row);
  if (with_.empty() || !column_.values()[domain].present) return;
  const bool has_others = nodes()[domain] > (difference > 0 ? 1 : 0);
  if (has_others) return;
  CountIn(counts_[domain], difference);
  domains_ += difference;
}

// So many more domains have so many pods.
void PodCounts::Domains::CountIn(int64_t pods, int32_t domains) {
  const auto bin = static_cast<size_t>(pods);
  if (bin >= with_.size()) {
    not_in_bins_ += domains;
  } else {
    with_[bin] += domains;
    lowest_ = std::min(lowest_, bin);
  }
}

void PodCounts::Domains::FillBins() {
  with_.assign(kMost + 1, 0);
  lowest_ = with_.size();
  not_in_bins_ = domains_ = 0;
  ForEachDomain([&](int64_t pods) {
    CountIn(pods, 1);
    ++domains_;
  });
}

MinimumPods PodCounts::Domains::FindMinimum() {
  if (counts_.size() > kFewDomains) {
    if (with_.empty()) FillBins();
    while (lowest_ < with_.size() && with_[lowest_] == 0) ++lowest_;
    const auto from =
        with_.begin() + static_cast<std::ptrdiff_t>(std::min(lowest_ + 1, with_.size()));
    const auto next = std::find_if(from, with_.end(), [](int32_t domains) { return domains > 0; });
    const bool has_next = next != with_.end();
    if (lowest_ < with_.size() && (has_next || not_in_bins_ == 0)) {
      return {.domains = domains_,
              .pods = static_cast<int64_t>(lowest_),
              .with_minimum = with_[lowest_],
              .next = has_next ? next - with_.begin() : MinimumPods::kNone};
    }
  }
  MinimumPods minimum;
  ForEachDomain([&](int64_t pods) { minimum.Include(pods); });
  return minimum;
}

// --- PodCounts -----------------------------------------------------------------------------------

PodCounts::PodCounts(const NodeSlots& slots, std::shared_ptr<const NodeSet> nodes)
    : slots_(&slots), nodes_(std::move(nodes)) {}
PodCounts::PodCounts(PodCounts&&) noexcept = default;
PodCounts::~PodCounts() = default;

void PodCounts::Add(int slot, int64_t difference) {
  if (nodes_ != nullptr && !nodes_->Has(slot)) return;
  of_slots_.Add(slot, difference);
  total_ += difference;
  const NodeRow row = slots_->row_of_slot[slot];
  if (row < 0) return;
  if (rows_version_ == slots_->order_version) of_rows_[row] += difference;
  if (changed_rows_ != nullptr) changed_rows_->Add(row, slots_->rows);
  for (const std::unique_ptr<Domains>& domains : domains_) {
    if (domains->is_in_step()) domains->Add(row, difference);  // else counted when asked for
  }
}

void PodCounts::UpdateCountedNode(int slot) {
  const NodeRow row = slots_->row_of_slot[slot];
  if (row < 0) return;
  for (const std::unique_ptr<Domains>& domains : domains_) {
    if (domains->is_in_step()) domains->FollowNode(row, nodes_->Has(slot) ? 1 : -1);
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

PodCounts::Domains& PodCounts::FindDomains(const LabelColumn& column) const {
  auto it =
      absl::c_find_if(domains_, [&](const auto& domains) { return &domains->column() == &column; });
  if (it == domains_.end())
    it = domains_.insert(it, std::make_unique<Domains>(column, nodes_.get()));
  if (!(*it)->is_in_step()) (*it)->Recount(of_slots_, *slots_);
  return **it;
}

absl::Span<const int64_t> PodCounts::of_domains(const LabelColumn& column) const {
  return FindDomains(column).counts();
}

absl::Span<const int> PodCounts::nodes_of_domains(const LabelColumn& column) const {
  return FindDomains(column).nodes();
}

int64_t PodCounts::total_labelled(const LabelColumn& column) const {
  return FindDomains(column).labelled();
}

bool PodCounts::any_labelled(const LabelColumn& column) const {
  const std::optional<uint32_t> none = column.Find(kNoLabel);
  if (!none.has_value() || column.row_count(*none) == 0) return total_ > 0;
  if (IsDense(column)) return total_labelled(column) > 0;
  return of_slots_.AnyOf(
      [&](int slot, int64_t) { return column.index(slots_->row_of_slot[slot]) != *none; });
}

MinimumPods PodCounts::minimum(const LabelColumn& column) const {
  return FindDomains(column).FindMinimum();
}

PodCounts::Version PodCounts::version(const LabelColumn& column) const {
  const auto end = FindDomains(column).changes().end();
  return {end.journal, end.number};
}

std::optional<absl::Span<const PodCounts::Change>> PodCounts::ChangesSince(
    const LabelColumn& column, const Version& version) const {
  return FindDomains(column).changes().Since({version.counts, version.number});
}

PodCounts::Version PodCounts::row_version() const {
  if (changed_rows_ == nullptr) changed_rows_ = std::make_unique<ChangeJournal<NodeRow>>();
  const RowJournal::Position end = changed_rows_->end();
  return {end.journal, end.number};
}

std::optional<absl::Span<const NodeRow>> PodCounts::RowsSince(const Version& version) const {
  if (changed_rows_ == nullptr) return std::nullopt;
  return changed_rows_->Since({version.counts, version.number});
}

void PodCounts::AddToRows(int64_t weight, absl::Span<int64_t> sums) const {
  of_slots_.ForEach(
      [&](int slot, int64_t count) { sums[slots_->row_of_slot[slot]] += weight * count; });
}

// An array of all domains is worth its memory only where the pods are in many of them, or it is
// small beside the one of all slots.
bool PodCounts::IsDense(const LabelColumn& column) const {
  constexpr size_t kFewValues = 256;
  const size_t values = column.values().size();
  return values <= kFewValues || static_cast<size_t>(of_slots_.nonzero()) > values / 8 ||
         (of_slots_.is_array() && values <= slots_->row_of_slot.size() / 8);
}

int64_t PodCounts::AddToDomains(const LabelColumn& column, int64_t weight,
                                absl::Span<int64_t> sums) const {
  if (IsDense(column)) {
    const Domains& domains = FindDomains(column);
    const std::vector<int64_t>& counts = domains.counts();
    for (size_t i = 0; i < counts.size(); ++i) sums[i] += weight * counts[i];
    const std::optional<uint32_t> none = column.Find(kNoLabel);
    if (none.has_value()) sums[*none] -= weight * counts[*none];
    return domains.labelled();
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
