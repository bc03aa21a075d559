// Implementation of nominated_rows.h.
#include "framework/nominated_rows.h"

#include <utility>

namespace berth {

void NominatedRows::Follow(const NodeTable& nodes, const Nominator& nominator) {
  const bool same_rows = table_ == nodes.id() && order_version_ == nodes.order_version();
  const auto changes = same_rows && nominations_version_.has_value()
                           ? nominator.ChangesSince(*nominations_version_)
                           : std::nullopt;
  if (changes.has_value()) {
    for (const Symbol node : *changes) {
      const NodeRow row = nodes.FindRow(node);
      if (row < 0) continue;
      if (nominator.NominatedPods(node).empty()) {
        Remove(row);
      } else {
        Add(row);
      }
    }
  } else {
    for (const NodeRow row : rows_) place_of_[row] = -1;
    rows_.clear();
    place_of_.resize(nodes.size(), -1);
    ForEachNominatedRow(nominator, nodes, [this](NodeRow row) { Add(row); });
  }
  table_ = nodes.id();
  order_version_ = nodes.order_version();
  nominations_version_ = nominator.version();
}

void NominatedRows::Add(NodeRow row) {
  if (contains(row)) return;
  place_of_[row] = static_cast<int32_t>(rows_.size());
  rows_.push_back(row);
}

void NominatedRows::Remove(NodeRow row) {
  if (!contains(row)) return;
  const int32_t place = std::exchange(place_of_[row], -1);
  if (rows_.back() != row) {
    rows_[place] = rows_.back();
    place_of_[rows_[place]] = place;
  }
  rows_.pop_back();
}

}  // namespace berth
