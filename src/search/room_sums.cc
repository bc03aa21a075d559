// SPDX-License-Identifier: Apache-2.0
// Implementation of room_sums.h.
#include "search/room_sums.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "search/room.h"

namespace berth {
namespace {

constexpr size_t kMostTiers = 4;

}  // namespace

RoomSums::Room& RoomSums::For(const NeededResources& needed, const NodeTable& nodes) {
  const auto known =
      absl::c_find_if(kept_, [&](const auto& room) { return room->needed_ == needed; });
  if (known != kept_.end()) {
    std::rotate(known, known + 1, kept_.end());
  } else {
    if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
    kept_.push_back(std::make_unique<Room>());
    kept_.back()->needed_ = needed;
  }
  kept_.back()->Refresh(nodes);
  return *kept_.back();
}

void RoomSums::Room::Refresh(const NodeTable& nodes) {
  std::optional<absl::Span<const RowChange>> changes;
  if (table_ == nodes.id() && by_row.size() == static_cast<size_t>(nodes.size())) {
    changes = nodes.ChangesSince(version_);
  }
  if (!changes.has_value() || changes->size() > by_row.size() / 4) {
    RoomByRow(needed_, nodes, by_row);
    for (double& room : by_row) room = std::min(room, kMostPerRow);
    tiers_.clear();
  } else {
    for (const RowChange& change : *changes) {
      const double now =
          std::min<double>(static_cast<double>(RoomOnRow(needed_, nodes, change.row)), kMostPerRow);
      const double more = now - std::exchange(by_row[change.row], now);
      if (more == 0) continue;
      for (TierSums& tier : tiers_) {
        const int placement = tier.placement_of[change.row];
        if (placement >= 0) tier.sums[placement] += more;
      }
    }
  }
  table_ = nodes.id();
  version_ = nodes.version();
}

const std::vector<double>& RoomSums::Room::Of(const std::shared_ptr<const PlacementTier>& tier) {
  const auto known =
      absl::c_find_if(tiers_, [&](const TierSums& sums) { return sums.tier == tier; });
  if (known != tiers_.end()) {
    if (known->overlaps) Sum(*known);
    return known->sums;
  }
  if (tiers_.size() == kMostTiers) tiers_.erase(tiers_.begin());
  TierSums& made = tiers_.emplace_back();
  made.tier = tier;
  made.placement_of.assign(by_row.size(), -1);
  for (size_t i = 0; i < tier->placements.size(); ++i) {
    for (const NodeRow row : tier->placements[i]->rows) {
      made.overlaps = made.overlaps || made.placement_of[row] >= 0;
      made.placement_of[row] = static_cast<int>(i);
    }
  }
  Sum(made);
  return made.sums;
}

void RoomSums::Room::Sum(TierSums& tier) const {
  tier.sums.assign(tier.tier->placements.size(), 0);
  for (size_t i = 0; i < tier.sums.size(); ++i) {
    for (const NodeRow row : tier.tier->placements[i]->rows) tier.sums[i] += by_row[row];
  }
}

}  // namespace berth
