// SPDX-License-Identifier: Apache-2.0
// Implementation of node_sets.h.
#include "table/node_sets.h"

#include <numeric>

#include "absl/algorithm/container.h"
#include "berth/columns/match_rows.h"

namespace berth {

// --- NodeSet -------------------------------------------------------------------------------------

absl::Span<const int> NodeSet::of_domains(const LabelColumn& column) const {
  auto it = absl::c_find_if(domains_, [&](const Domains& d) { return d.column == &column; });
  if (it != domains_.end() && it->version == column.version()) return it->nodes;
  if (it == domains_.end()) it = domains_.insert(it, {&column, 0, {}});
  it->version = column.version();
  it->nodes.assign(column.values().size(), 0);
  for (int slot = 0; slot < static_cast<int>(has_.size()); ++slot) {
    if (has_[slot] != 0) ++it->nodes[column.index(slots_.row_of_slot[slot])];
  }
  return it->nodes;
}

void NodeSet::Flip(int slot) {
  if (slot >= static_cast<int>(has_.size())) has_.resize(slots_.row_of_slot.size());
  has_[slot] ^= 1;
  const NodeRow row = slots_.row_of_slot[slot];
  if (row < 0) return;  // it is gone, and every column another one
  for (Domains& domains : domains_) {
    if (domains.version != domains.column->version()) continue;
    domains.nodes[domains.column->index(row)] += has_[slot] != 0 ? 1 : -1;
  }
}

// --- NodeSets ------------------------------------------------------------------------------------

std::shared_ptr<const NodeSet> NodeSets::Find(const NodeScope& scope) {
  const auto known = sets_.find(scope);
  if (known != sets_.end()) return known->second;
  absl::erase_if(sets_, [](const auto& entry) { return entry.second.use_count() == 1; });
  return sets_.emplace(scope, Make(scope)).first->second;
}

std::shared_ptr<NodeSet> NodeSets::Make(const NodeScope& scope) const {
  std::vector<NodeRow> rows(nodes_.size());
  std::iota(rows.begin(), rows.end(), 0);
  const RowMatches matches = MatchRows(scope, nodes_, rows);
  std::vector<uint8_t> has(slots_.row_of_slot.size());
  for (size_t slot = 0; slot < has.size(); ++slot) {
    const NodeRow row = slots_.row_of_slot[slot];
    has[slot] = row >= 0 ? matches[row] : 0;
  }
  return std::make_shared<NodeSet>(slots_, std::move(has));
}

NodeSets::Sets NodeSets::ToFlip(int slot, const NodeSpec* node) const {
  Sets sets;
  for (const auto& [scope, set] : sets_) {
    const bool is_in = node != nullptr && scope.Includes(*node);
    if (is_in != set->Has(slot)) sets.push_back(set.get());
  }
  return sets;
}

}  // namespace berth
