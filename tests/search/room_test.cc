// SPDX-License-Identifier: Apache-2.0
// Sums over columns against a count node by node.
#include "search/room.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

NodeInfo MakeInfo(const std::string& name, const std::string& cpu, int pods) {
  return testing::MakeNode()
      .Name(name)
      .Allocatable("cpu", cpu)
      .Allocatable("pods", absl::StrCat(pods))
      .Info();
}

TEST(Room, IsTheSumOfWhatFitsOnEachNode) {
  const ResourceId cpu = ResourceIdOf("cpu");
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<NodeInfo> infos;
    const int nodes = 1 + static_cast<int>(random() % 600);
    const int64_t each = 1 + static_cast<int64_t>(random() % 3000);
    int64_t sum = 0;
    for (int n = 0; n < nodes; ++n) {
      const int milli = static_cast<int>(random() % 9000);
      const int pods = static_cast<int>(random() % 9);
      infos.push_back(MakeInfo(absl::StrCat("n", n), absl::StrCat(milli, "m"), pods));
      sum += std::min<int64_t>(milli / each, pods);
    }
    const testing::TestNodes cluster(std::move(infos));
    const NeededResources needed{{{cpu, each}}};
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_EQ(Room(needed, cluster.table(), std::numeric_limits<int64_t>::max()), sum);
    ASSERT_EQ(Room(needed, cluster.table(), sum / 2), sum / 2) << "counts no further";
    ASSERT_EQ(RoomIfEmpty(needed, cluster.table(), std::numeric_limits<int64_t>::max()), sum);
  }
}

TEST(Room, NeverSaysTooLittleOfLargeAmounts) {
  const ResourceId memory = ResourceIdOf("example.com/large");
  for (int seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    const int64_t each = 1 + static_cast<int64_t>(random() >> (1 + random() % 60));
    const int64_t fits = static_cast<int64_t>(random() % 20);
    const __int128 all = __int128{each} * fits + (random() % static_cast<uint64_t>(each));
    if (all > std::numeric_limits<int64_t>::max()) continue;
    const testing::TestNodes cluster(
        {testing::MakeNode()
             .Name("n")
             .Allocatable("pods", "1000")
             .Allocatable("example.com/large", absl::StrCat(static_cast<int64_t>(all)))
             .Info()});
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const NeededResources needed{{{memory, each}}};
    ASSERT_GE(RoomOnRow(needed, cluster.table(), 0), fits);
  }
}

TEST(Room, NamesTheResourceOfWhichThereIsLeast) {
  const testing::TestNodes cluster({MakeInfo("a", "3", 100), MakeInfo("b", "4", 1)});
  const ShortResource by_cpu = FindShortResource({{{ResourceIdOf("cpu"), 2000}}}, cluster.table());
  EXPECT_EQ(by_cpu.name, "cpu");
  EXPECT_EQ(by_cpu.room, 3);
  EXPECT_EQ(by_cpu.all_free, 7000);
  EXPECT_EQ(FindShortResource({{{ResourceIdOf("cpu"), 10}}}, cluster.table()).name, "pods");
}

}  // namespace
}  // namespace berth
