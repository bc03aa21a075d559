// SPDX-License-Identifier: Apache-2.0
// RoomSums: for how many pods the placements of a group have room, remembered from one group to the
// next. What changed since is what an answer costs.
#ifndef BERTH_SRC_SEARCH_ROOM_SUMS_H_
#define BERTH_SRC_SEARCH_ROOM_SUMS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/columns/node_table.h"
#include "berth/framework/placement.h"
#include "berth/incremental/resource_filter.h"

namespace berth {

// As RoomByRow() and sums of it. Scheduling thread.
class RoomSums {
 public:
  // More pods than that are no group; sums of so many rows are exact.
  static constexpr double kMostPerRow = 1e9;

  // For pods that need so much, as the nodes are when it is asked for.
  struct Room {
    std::vector<double> by_row;  // up to kMostPerRow
    // The room of each placement of the tier, in order. Valid until the next question.
    const std::vector<double>& Of(const std::shared_ptr<const PlacementTier>& tier);

   private:
    friend class RoomSums;
    struct TierSums {
      std::shared_ptr<const PlacementTier> tier;
      std::vector<int> placement_of;  // by row; -1: in none
      bool overlaps = false;          // a row is in several: then the sums are made again
      std::vector<double> sums;
    };
    void Refresh(const NodeTable& nodes);
    void Sum(TierSums& tier) const;

    NeededResources needed_;
    uint64_t table_ = 0, version_ = 0;
    std::vector<TierSums> tiers_;  // the last one that was new is the last
  };
  // Valid until kMostKept other needs were asked about.
  Room& For(const NeededResources& needed, const NodeTable& nodes);

  static constexpr size_t kMostKept = 16;

 private:
  std::vector<std::unique_ptr<Room>> kept_;  // the last one that was asked for is the last
};

}  // namespace berth

#endif  // BERTH_SRC_SEARCH_ROOM_SUMS_H_
