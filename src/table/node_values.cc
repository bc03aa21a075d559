// SPDX-License-Identifier: Apache-2.0
// Implementation of berth/columns/node_values.h.
#include "berth/columns/node_values.h"

#include <utility>

#include "table/row_move.h"

namespace berth {

void NodeValuesBase::CatchUp(const NodeTable& nodes,
                             absl::FunctionRef<std::unique_ptr<Kept>()> make,
                             absl::FunctionRef<void(Kept&)> on_change,
                             absl::FunctionRef<void(Kept&)> on_remove,
                             absl::FunctionRef<void(Kept&, NodeRow)> on_add) {
  if (table_ == nodes.id() && version_ == nodes.version()) return;
  if (table_ != nodes.id()) {
    by_node_.ForEach([&](Symbol, const std::unique_ptr<Kept>& kept) { on_remove(*kept); });
    Clear();
  }
  bool added = false;
  const bool followed = table_ != 0 && nodes.Replay(
                                           version_,
                                           [&](const RowChange& change) {
                                             Kept* const kept = rows_[change.row];
                                             if (kept != nullptr) on_change(*kept);
                                           },
                                           [&](const RowMove& move) {
                                             for (const NodeRow row : move.gone()) {
                                               if (rows_[row] != nullptr)
                                                 Remove(*rows_[row], on_remove);
                                             }
                                             move.Apply(rows_);
                                             added |= !move.came().empty();
                                           });
  if (!followed) FindRows(nodes, on_change, on_remove);
  if (added || !followed) {
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (rows_[row] != nullptr) continue;
      std::unique_ptr<Kept>& kept = by_node_[nodes.node(row).name()] = make();
      kept->node = nodes.node(row).name();
      rows_[row] = kept.get();
      on_add(*kept, row);
    }
  }
  table_ = nodes.id();
  version_ = nodes.version();
}

// More happened than the table records: nodes are found by their names.
void NodeValuesBase::FindRows(const NodeTable& nodes, absl::FunctionRef<void(Kept&)> on_change,
                              absl::FunctionRef<void(Kept&)> on_remove) {
  rows_.assign(nodes.size(), nullptr);
  std::vector<Kept*> gone;
  by_node_.ForEach([&](Symbol node, const std::unique_ptr<Kept>& kept) {
    const NodeRow row = nodes.FindRow(node);
    if (row < 0) return gone.push_back(kept.get());
    rows_[row] = kept.get();
    if (nodes.row_version(row) > version_) on_change(*kept);
  });
  for (Kept* const kept : gone) Remove(*kept, on_remove);
}

void NodeValuesBase::Remove(Kept& kept, absl::FunctionRef<void(Kept&)> on_remove) {
  on_remove(kept);
  by_node_.Erase(Symbol(kept.node));
}

void NodeValuesBase::Clear() {
  by_node_.clear();
  rows_.clear();
  table_ = 0;
}

}  // namespace berth
