// SPDX-License-Identifier: Apache-2.0
// Sums that are kept against sums made again, over clusters that change.
#include "search/room_sums.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"
#include "search/room.h"

namespace berth {
namespace {

TEST(RoomSums, AreThoseOfARecount) {
  const ResourceId cpu = ResourceIdOf("cpu");
  int asked = 0;
  for (int seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    std::vector<NodeInfo> infos;
    const int nodes = 8 + static_cast<int>(random() % 60);
    for (int n = 0; n < nodes; ++n) {
      infos.push_back(testing::MakeNode()
                          .Name(absl::StrCat("n", n))
                          .Allocatable("cpu", absl::StrCat(random() % 9000, "m"))
                          .Allocatable("pods", absl::StrCat(random() % 9))
                          .Info());
    }
    NodeTable table;
    std::vector<const NodeInfo*> order;
    for (const NodeInfo& info : infos) order.push_back(&info);
    table.SetOrder(order);
    std::vector<std::shared_ptr<PlacementTier>> tiers;
    for (const bool overlap : {false, true}) {
      auto tier = std::make_shared<PlacementTier>();
      for (int p = 0; p < 4; ++p) {
        auto placement = std::make_shared<NodePlacement>();
        for (NodeRow row = 0; row < nodes; ++row) {
          if (row % 5 == p || (overlap && row % 3 == 0)) placement->rows.push_back(row);
        }
        tier->placements.push_back(std::move(placement));
      }
      tiers.push_back(std::move(tier));
    }
    RoomSums sums;
    for (int step = 0; step < 60; ++step) {
      const NodeRow row = static_cast<NodeRow>(random() % nodes);
      if (random() % 20 == 0) {
        std::swap(order[row], order[0]);
        table.SetOrder(order);
      } else {
        infos[row].AddPod(testing::MakePod()
                              .Name(absl::StrCat("p", step))
                              .Request("cpu", absl::StrCat(random() % 2000, "m"))
                              .Obj());
        for (NodeRow at = 0; at < nodes; ++at) {
          if (order[at] == &infos[row]) table.RefreshRow(at);
        }
      }
      const NeededResources needed{{{cpu, 100 * (1 + static_cast<int64_t>(random() % 3))}}};
      RoomSums::Room& room = sums.For(needed, table);
      std::vector<double> by_row;
      RoomByRow(needed, table, by_row);
      ASSERT_EQ(room.by_row, by_row);
      for (const auto& tier : tiers) {
        const std::vector<double>& found = room.Of(tier);
        for (size_t p = 0; p < tier->placements.size(); ++p) {
          double sum = 0;
          for (const NodeRow of : tier->placements[p]->rows) sum += by_row[of];
          ASSERT_EQ(found[p], sum);
          ++asked;
        }
      }
    }
  }
  EXPECT_GT(asked, 10000);
}

}  // namespace
}  // namespace berth
