// SPDX-License-Identifier: Apache-2.0
// Sums over columns against a count node by node.
#include "search/room.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/fake_handle.h"
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

// Nodes with and without the nominated pods on them, of which the difference is what is held.
TEST(Room, HeldForNominatedPodsIsNoMoreThanTheyTake) {
  const ResourceId cpu = ResourceIdOf("cpu");
  int64_t held_in_all = 0;
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
    const int nodes = 1 + below(30);
    const int64_t each = 1 + below(3000);
    const int32_t priority = below(3);
    testing::FakeNominator nominator;
    std::vector<NodeInfo> infos, with_those_that_count;
    std::vector<NodeRow> own_rows;
    bool all_count = true;  // on every node all or none
    for (int n = 0; n < nodes; ++n) {
      const std::string name = absl::StrCat("n", n);
      infos.push_back(MakeInfo(name, absl::StrCat(below(9000), "m"), below(9)));
      NodeInfo counted = infos.back();
      const bool is_own = below(8) == 0;
      if (is_own) own_rows.push_back(n);
      int counts = 0;
      const int nominated = below(4);
      for (int i = 0; i < nominated; ++i) {
        const int of = below(3);
        const auto pod = testing::MakePod()
                             .Name(absl::StrCat("p", n, "-", i))
                             .Priority(of)
                             .Request("cpu", absl::StrCat(below(4000), "m"))
                             .Obj();
        nominator.Nominate(pod, name);
        if (is_own || of < priority) continue;
        counted.AddPod(pod);
        ++counts;
      }
      all_count = all_count && (is_own || counts == 0 || counts == nominated);
      with_those_that_count.push_back(std::move(counted));
    }
    const testing::TestNodes cluster(std::move(infos));
    const testing::TestNodes beside(std::move(with_those_that_count));
    NominatedRows rows;
    rows.CatchUp(cluster.table(), nominator);
    const NeededResources needed{{{cpu, each}}};
    constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
    const int64_t difference =
        Room(needed, cluster.table(), kAll) - Room(needed, beside.table(), kAll);
    const int64_t held = HeldRoom(needed, cluster.table(), rows, priority, own_rows);
    ASSERT_LE(held, difference);
    if (all_count) {
      ASSERT_EQ(held, difference);
    }
    held_in_all += held;
  }
  EXPECT_GT(held_in_all, 1000);
}

TEST(Room, NamesTheResourceOfWhichThereIsLeast) {
  const testing::TestNodes cluster({MakeInfo("a", "3", 100), MakeInfo("b", "4", 1)});
  const ShortResource by_cpu = FindShortResource({{{ResourceIdOf("cpu"), 2000}}}, cluster.table());
  EXPECT_EQ(by_cpu.name, "cpu");
  EXPECT_EQ(by_cpu.room, 3);
  EXPECT_EQ(by_cpu.all_free, 7000);
  EXPECT_EQ(FindShortResource({{{ResourceIdOf("cpu"), 10}}}, cluster.table()).name, "pods");
}

// Amounts of all sizes, also beyond what doubles hold.
TEST(Room, ColumnsSayOfTheShortestWhatRowsSay) {
  const ResourceId resources[] = {ResourceIdOf("memory"), ResourceIdOf("example.com/large")};
  int large = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const int bits = seed % 2 == 0 ? 45 : 62;
    const auto amount = [&] {
      return static_cast<int64_t>(random() >> (64 - bits + random() % bits));
    };
    std::vector<NodeInfo> infos;
    const int nodes = 1 + static_cast<int>(random() % 20);
    for (int n = 0; n < nodes; ++n) {
      testing::NodeBuilder node = testing::MakeNode().Name(absl::StrCat("n", n));
      node.Allocatable("pods", absl::StrCat(random() % 20));
      testing::PodBuilder pod = testing::MakePod().Name(absl::StrCat("p", n));
      for (const ResourceId resource : resources) {
        const int64_t has = amount();
        large += has >= int64_t{1} << 46;
        node.Allocatable(ResourceName(resource), absl::StrCat(has));
        pod.Request(ResourceName(resource), absl::StrCat(random() % 3 == 0 ? amount() : 0));
      }
      infos.push_back(node.Info());
      infos.back().AddPod(pod.Obj());
    }
    const testing::TestNodes cluster(std::move(infos));
    const NeededResources needed{{{resources[0], 1 + amount() % 5}, {resources[1], 1 + amount()}}};
    std::vector<NodeRow> rows(nodes);
    std::iota(rows.begin(), rows.end(), 0);
    const ShortResource of_all = FindShortResource(needed, cluster.table());
    const ShortResource of_rows = FindShortResource(needed, cluster.table(), rows);
    EXPECT_EQ(of_all.name, of_rows.name);
    EXPECT_EQ(of_all.per_pod, of_rows.per_pod);
    EXPECT_EQ(of_all.room, of_rows.room);
    ASSERT_EQ(of_all.all_free, of_rows.all_free);
  }
  EXPECT_GT(large, 1000);
}

// The column of the lowest priorities only saves looks at pods.
TEST(Room, WithoutPodsBelowAPriorityIsThatOfNodesWithoutThem) {
  const ResourceId cpu = ResourceIdOf("cpu");
  for (int seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const int32_t priority = static_cast<int32_t>(random() % 4);
    std::vector<NodeInfo> infos, without;
    const int nodes = 1 + static_cast<int>(random() % 600);
    for (int n = 0; n < nodes; ++n) {
      const std::string name = absl::StrCat("n", n);
      infos.push_back(MakeInfo(name, absl::StrCat(random() % 9000, "m"), 3));
      without.push_back(infos.back());
      for (unsigned p = random() % 4; p > 0; --p) {
        const auto pod = testing::MakePod()
                             .Name(absl::StrCat(name, "-", p))
                             .Priority(static_cast<int32_t>(random() % 4))
                             .Request("cpu", absl::StrCat(random() % 3000, "m"))
                             .Obj();
        infos.back().AddPod(pod);
        if (pod->priority() >= priority) without.back().AddPod(pod);
      }
    }
    std::vector<NodeRow> rows(nodes);
    std::iota(rows.begin(), rows.end(), 0);
    const testing::TestNodes cluster(std::move(infos));
    const testing::TestNodes emptier(std::move(without));
    const NeededResources needed{{{cpu, 1 + static_cast<int64_t>(random() % 2000)}}};
    constexpr int64_t kAll = 1'000'000;
    const int64_t room = Room(needed, emptier.table(), kAll);
    ASSERT_EQ(RoomWithoutPodsBelow(needed, cluster.table(), priority, kAll), room);
    ASSERT_EQ(RoomWithoutPodsBelow(needed, cluster.table(), rows, priority, kAll), room);
  }
}

}  // namespace
}  // namespace berth
