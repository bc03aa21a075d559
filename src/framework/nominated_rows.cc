// SPDX-License-Identifier: Apache-2.0
// Implementation of nominated_rows.h.
#include "framework/nominated_rows.h"

#include <utility>

namespace berth {

void NominatedRows::CatchUp(const NodeTable& nodes, const Nominator& nominator) {
  const auto changes = nominator.ChangesSince(nominations_version_);
  if (!changes.has_value() || !CatchUpWithMoves(nodes, nominator)) {
    Collect(nodes, nominator);
  } else {
    for (const Symbol node : *changes) {
      const NodeRow row = nodes.FindRow(node);
      if (row < 0) continue;
      if (nominator.NominatedPods(node).empty()) {
        Remove(row);
      } else {
        Add(row);
      }
    }
  }
  table_ = nodes.id();
  version_ = nodes.version();
  nominations_version_ = nominator.version();
}

// False if too much happened. A node that came may be one that pods were nominated to before.
bool NominatedRows::CatchUpWithMoves(const NodeTable& nodes, const Nominator& nominator) {
  bool moved = false;
  const bool followed = table_ == nodes.id() && nodes.Replay(
                                                    version_, [](const RowChange&) {},
                                                    [&](const RowMove& move) {
                                                      moved = true;
                                                      move.Apply(place_of_, kCame);
                                                    });
  if (!followed || !moved) return followed;
  rows_.clear();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (place_of_[row] == kNone) continue;
    const bool came = std::exchange(place_of_[row], kNone) == kCame;
    if (!came || !nominator.NominatedPods(nodes.node(row).name()).empty()) Add(row);
  }
  return true;
}

void NominatedRows::Collect(const NodeTable& nodes, const Nominator& nominator) {
  rows_.clear();
  place_of_.assign(nodes.size(), kNone);
  ForEachNominatedRow(nominator, nodes, [this](NodeRow row) { Add(row); });
}

void NominatedRows::Add(NodeRow row) {
  if (contains(row)) return;
  place_of_[row] = static_cast<int32_t>(rows_.size());
  rows_.push_back(row);
}

void NominatedRows::Remove(NodeRow row) {
  if (!contains(row)) return;
  const int32_t place = std::exchange(place_of_[row], kNone);
  if (rows_.back() != row) {
    rows_[place] = rows_.back();
    place_of_[rows_[place]] = place;
  }
  rows_.pop_back();
}

}  // namespace berth
