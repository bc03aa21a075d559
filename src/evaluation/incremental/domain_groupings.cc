// SPDX-License-Identifier: Apache-2.0
// Implementation of domain_groupings.h.
#include "evaluation/incremental/domain_groupings.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"

namespace berth {
namespace {

// The value of nodes that are in no domain, where nodes are distinguished by sums.
constexpr int64_t kNoDomain = std::numeric_limits<int64_t>::min();
// Domains that are distinguished whatever is in them.
constexpr int kFewDomains = 16;
constexpr size_t kMostParts = 16;   // of a sum that is tracked by domain
constexpr size_t kMostMoved = 256;  // cells, with a domain

int64_t SumOfDomain(const DomainSum& sum, uint32_t domain) {
  if (!sum.column->values()[domain].present) return kNoDomain;
  int64_t all = 0;
  for (const auto& [pods, weight] : sum.parts) {
    all += weight * pods->of_domains(*sum.column)[domain];
  }
  return all;
}

int64_t SumOfRow(const DomainSum& sum, NodeRow row) {
  if (!sum.column->at(row).present) return kNoDomain;
  int64_t all = 0;
  for (const auto& [pods, weight] : sum.parts) all += weight * pods->of_row(row);
  return all;
}

}  // namespace

int MostClasses(int rows) {
  constexpr int kFew = 64;  // whatever the number of nodes; of more nodes, one in kRowsAClass
  constexpr int kRowsAClass = 16;
  return std::max(kFew, rows / kRowsAClass);
}

// --- Which sums ----------------------------------------------------------------------------------

// Absent if nodes cannot be distinguished by this topology.
std::optional<DomainGroupings::Grouping> DomainGroupings::GroupingOf(const DomainSum& sum,
                                                                     const NodeTable& nodes) {
  const int domains = sum.column->values_in_use();
  if (domains <= kFewDomains) return Grouping::kByDomain;
  const bool is_tracked =
      absl::c_all_of(sum.parts, [](const DomainSum::Part& part) { return part.pods != nullptr; });
  if (is_tracked && HasOneNodePerValue(*sum.column)) return Grouping::kBySum;
  if (is_tracked && sum.parts.size() <= kMostParts) return Grouping::kBySumOfCells;
  return domains <= MostClasses(nodes.size()) ? std::optional(Grouping::kByDomain) : std::nullopt;
}

void DomainGroupings::Identify(const Sums& sums, const NodeTable& nodes, PodSignature& signature) {
  const auto add = [&](const void* address) {
    signature.Add(static_cast<int64_t>(reinterpret_cast<intptr_t>(address)));
  };
  for (const DomainSum& sum : sums) {
    add(sum.column);
    if (GroupingOf(sum, nodes) == Grouping::kByDomain) continue;
    for (const auto& [pods, weight] : sum.parts) {
      add(pods.get());
      signature.Add(weight);
    }
  }
}

bool DomainGroupings::Restart(const Sums& sums, const NodeTable& nodes) {
  tracked_.clear();
  has_classes_ = is_crowded_ = false;
  for (const DomainSum& sum : sums) {
    const std::optional<Grouping> grouping = GroupingOf(sum, nodes);
    if (!grouping.has_value()) return false;
    TrackedSum& tracked = tracked_.emplace_back(TrackedSum{.column = sum.column,
                                                           .grouping = *grouping,
                                                           .version = sum.column->version(),
                                                           .of_parts = {},
                                                           .cells = {}});
    if (grouping == Grouping::kByDomain) continue;
    const bool in_cells = grouping == Grouping::kBySumOfCells;
    for (const auto& [pods, weight] : sum.parts) {
      tracked.of_parts.push_back(in_cells ? pods->version(*sum.column) : pods->row_version());
    }
    if (in_cells) tracked.cells.of_domain.resize(sum.column->values().size());
    has_classes_ |= in_cells;
  }
  return true;
}

bool DomainGroupings::IsKnown(const Sums& sums) const {
  if (tracked_.size() != sums.size()) return false;
  for (size_t i = 0; i < sums.size(); ++i) {
    const TrackedSum& tracked = tracked_[i];
    const bool same_column =
        tracked.column == sums[i].column && tracked.version == tracked.column->version();
    const bool same_parts =
        tracked.grouping == Grouping::kByDomain || tracked.of_parts.size() == sums[i].parts.size();
    if (!same_column || !same_parts) return false;
  }
  return true;
}

// --- What changed --------------------------------------------------------------------------------

bool DomainGroupings::VisitChangedRows(const Sums& sums, absl::FunctionRef<bool(NodeRow)> visit) {
  for (size_t i = 0; i < sums.size(); ++i) {
    if (tracked_[i].grouping != Grouping::kBySum) continue;
    for (size_t k = 0; k < tracked_[i].of_parts.size(); ++k) {
      const PodCounts& pods = *sums[i].parts[k].pods;
      const auto rows = pods.RowsSince(tracked_[i].of_parts[k]);
      if (!rows.has_value() || !absl::c_all_of(*rows, visit)) return false;
      tracked_[i].of_parts[k] = pods.row_version();
    }
  }
  return true;
}

bool DomainGroupings::VisitChangedCells(const Sums& sums, absl::FunctionRef<void(int)> visit) {
  for (size_t i = 0; i < sums.size(); ++i) {
    TrackedSum& tracked = tracked_[i];
    if (tracked.grouping != Grouping::kBySumOfCells) continue;
    for (size_t k = 0; k < tracked.of_parts.size(); ++k) {
      const PodCounts& pods = *sums[i].parts[k].pods;
      const auto changes = pods.ChangesSince(*tracked.column, tracked.of_parts[k]);
      if (!changes.has_value()) return false;
      for (const PodCounts::Change& change : *changes) {
        const bool is_domain = tracked.column->values()[change.domain].present;
        if (!is_domain) continue;  // nothing counts there
        for (const int cell : tracked.cells.of_domain[change.domain]) visit(cell);
      }
      tracked.of_parts[k] = pods.version(*tracked.column);
    }
  }
  return true;
}

// --- Keys ----------------------------------------------------------------------------------------

NodeClassKey DomainGroupings::CellKeyOf(NodeRow row, const Sums& sums) const {
  NodeClassKey key;
  for (size_t i = 0; i < sums.size(); ++i) {
    const bool by_sum = tracked_[i].grouping == Grouping::kBySum;
    key.push_back(by_sum ? SumOfRow(sums[i], row) : int64_t{tracked_[i].column->index(row)});
  }
  return key;
}

NodeClassKey DomainGroupings::NodeClassKeyOf(const NodeClassKey& cell, const Sums& sums) const {
  NodeClassKey key = cell;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (tracked_[i].grouping == Grouping::kBySumOfCells) {
      key[i] = SumOfDomain(sums[i], static_cast<uint32_t>(key[i]));
    }
  }
  return key;
}

// --- Cells in domains ----------------------------------------------------------------------------

void DomainGroupings::AddCell(const NodeClassKey& key, int cell) {
  for (size_t i = 0; i < tracked_.size(); ++i) {
    TrackedSum& tracked = tracked_[i];
    if (tracked.grouping != Grouping::kBySumOfCells) continue;
    Cells& cells = tracked.cells.of_domain[key[i]];
    if (cells.empty()) ++tracked.cells.domains;
    cells.push_back(cell);
    const bool is_domain = tracked.column->values()[key[i]].present;
    is_crowded_ |= is_domain && cells.size() > kMostMoved;
  }
}

void DomainGroupings::RemoveCell(const NodeClassKey& key, int cell) {
  for (size_t i = 0; i < tracked_.size(); ++i) {
    if (tracked_[i].grouping != Grouping::kBySumOfCells) continue;
    Cells& cells = tracked_[i].cells.of_domain[key[i]];
    cells.erase(absl::c_find(cells, cell));
    if (cells.empty()) --tracked_[i].cells.domains;
  }
}

const DomainGroupings::Cells& DomainGroupings::FindCells(const NodeClassKey& key) const {
  const Cells* fewest = nullptr;
  for (size_t i = 0; i < tracked_.size(); ++i) {
    if (tracked_[i].grouping != Grouping::kBySumOfCells) continue;
    const Cells& cells = tracked_[i].cells.of_domain[key[i]];
    if (fewest == nullptr || cells.size() < fewest->size()) fewest = &cells;
  }
  return *fewest;
}

const DomainGroupings::DomainCells* DomainGroupings::FindDomains(const LabelColumn& column) const {
  const auto tracked = absl::c_find_if(tracked_, [&](const TrackedSum& sum) {
    return sum.column == &column && sum.grouping == Grouping::kBySumOfCells;
  });
  return tracked == tracked_.end() ? nullptr : &tracked->cells;
}

}  // namespace berth
