// SPDX-License-Identifier: Apache-2.0
// Nodes and pods of the cache, rule by rule.
#include "cache/cache.h"

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "table/row_move.h"

namespace berth::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Change = Cache::PodChange;

// Writes down what it is told.
class Diary final : public AssignmentObserver {
 public:
  void OnPodAssigned(const PodInfo& pod, const NodeInfo& node) override {
    Write("+", pod, node, /*counted=*/true);
  }
  void OnPodUnassigned(const PodInfo& pod, const NodeInfo& node) override {
    Write("-", pod, node, /*counted=*/false);
  }
  std::vector<std::string> Read() { return std::exchange(entries_, {}); }

 private:
  void Write(absl::string_view sign, const PodInfo& pod, const NodeInfo& node, bool counted) {
    bool found = false;
    for (const auto& other : node.pods()) found |= other->uid() == pod.uid();
    EXPECT_EQ(found, counted) << pod.uid();
    entries_.push_back(absl::StrCat(sign, pod.name(), "@", node.name().view()));
  }
  std::vector<std::string> entries_;
};

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() { cache_.AddObserver(&diary_); }
  ~CacheTest() override {
    EXPECT_TRUE(cache_.CheckInvariants().ok()) << cache_.CheckInvariants();
    cache_.Refresh();
    EXPECT_EQ(cache_.table().size(), cache_.node_count());
  }

  static Symbol Name(absl::string_view name) { return Symbol::Intern(name); }
  static PodBuilder Pod(absl::string_view name, absl::string_view node = "") {
    PodBuilder pod = MakePod().Name(name).Request("cpu", "1");
    if (!node.empty()) pod.NodeName(node);
    return pod;
  }
  static std::string Uid(absl::string_view name) { return absl::StrCat("default/", name); }
  void SetNode(absl::string_view name) {
    cache_.SetNode(MakeNode().Name(name).Capacity("cpu", "8").Obj());
  }
  int64_t RequestedCpu(absl::string_view node) {
    const NodeInfo* info = cache_.FindNode(Name(node));
    return info == nullptr ? -1 : info->requested().Get(kCpu) / 1000;
  }
  std::vector<std::string> Rows() {
    cache_.Refresh();
    std::vector<std::string> rows;
    for (NodeRow row = 0; row < cache_.table().size(); ++row) {
      rows.push_back(absl::StrCat(cache_.table().node(row).name().view(), "=",
                                  cache_.table().requested(kCpu)[row] / 1000));
    }
    return rows;
  }

  Diary diary_;
  Cache cache_;
};

TEST_F(CacheTest, ABoundPodCountsOnItsNode) {
  SetNode("n");
  EXPECT_EQ(cache_.SetPod(Pod("a").Obj()), Change::kNone) << "no node yet";
  EXPECT_EQ(cache_.SetPod(Pod("a", "n").Obj()), Change::kAdded);
  EXPECT_THAT(Rows(), ElementsAre("n=1"));
  EXPECT_EQ(cache_.SetPod(Pod("a", "n").Request("cpu", "3").Obj()), Change::kUpdated);
  EXPECT_THAT(Rows(), ElementsAre("n=3"));
  EXPECT_TRUE(cache_.RemovePod(Uid("a")));
  EXPECT_FALSE(cache_.RemovePod(Uid("a")));
  EXPECT_THAT(Rows(), ElementsAre("n=0"));
  EXPECT_THAT(diary_.Read(), ElementsAre("+a@n", "-a@n", "+a@n", "-a@n"));
}

TEST_F(CacheTest, ATerminalPodCountsNowhere) {
  SetNode("n");
  EXPECT_EQ(cache_.SetPod(Pod("a", "n").Phase("Succeeded").Obj()), Change::kNone);
  cache_.SetPod(Pod("b", "n").Obj());
  EXPECT_EQ(cache_.SetPod(Pod("b", "n").Phase("Failed").Obj()), Change::kRemoved);
  ASSERT_TRUE(cache_.AssumePod(Pod("c").Obj(), Name("n")).ok());
  EXPECT_EQ(cache_.SetPod(Pod("c").Phase("Failed").Obj()), Change::kRemoved);
  EXPECT_EQ(cache_.pod_count(), 0);
  EXPECT_THAT(Rows(), ElementsAre("n=0"));
}

TEST_F(CacheTest, AnAssumedPodIsConfirmed) {
  SetNode("n");
  ASSERT_TRUE(cache_.AssumePod(Pod("a").Obj(), Name("n")).ok());
  EXPECT_TRUE(cache_.FindPod(Uid("a"))->assumed());
  EXPECT_EQ(cache_.assumed_count(), 1);
  EXPECT_THAT(Rows(), ElementsAre("n=1"));
  EXPECT_EQ(cache_.SetPod(Pod("a").Label("x", "y").Obj()), Change::kNone)
      << "an update of the pending pod takes nothing back";
  cache_.FinishBinding(Uid("a"));
  EXPECT_EQ(cache_.FindPod(Uid("a"))->state, CachedPod::State::kBinding);
  EXPECT_EQ(cache_.SetPod(Pod("a", "n").Obj()), Change::kConfirmed);
  EXPECT_EQ(cache_.assumed_count(), 0);
  EXPECT_EQ(cache_.FindPod(Uid("a"))->pod->node_name(), "n");
  EXPECT_THAT(Rows(), ElementsAre("n=1"));
}

TEST_F(CacheTest, ConfirmedOnAnotherNodeItMoves) {
  SetNode("n");
  SetNode("m");
  ASSERT_TRUE(cache_.AssumePod(Pod("a").Obj(), Name("n")).ok());
  EXPECT_EQ(cache_.SetPod(Pod("a", "m").Obj()), Change::kConfirmed);
  EXPECT_THAT(Rows(), ElementsAre("n=0", "m=1"));
  EXPECT_EQ(cache_.SetPod(Pod("a", "n").Obj()), Change::kUpdated) << "upstream would exit";
  EXPECT_THAT(Rows(), ElementsAre("n=1", "m=0"));
  EXPECT_THAT(diary_.Read(), ElementsAre("+a@n", "-a@n", "+a@m", "-a@m", "+a@n"));
}

TEST_F(CacheTest, OnlyAnAssumedPodCanBeForgotten) {
  SetNode("n");
  EXPECT_FALSE(cache_.ForgetPod(Uid("a")));
  ASSERT_TRUE(cache_.AssumePod(Pod("a").Obj(), Name("n")).ok());
  EXPECT_TRUE(cache_.ForgetPod(Uid("a")));
  EXPECT_THAT(Rows(), ElementsAre("n=0"));
  cache_.SetPod(Pod("a", "n").Obj());
  EXPECT_FALSE(cache_.ForgetPod(Uid("a")));
  cache_.FinishBinding(Uid("a"));
  EXPECT_EQ(cache_.FindPod(Uid("a"))->state, CachedPod::State::kBound);
  EXPECT_THAT(Rows(), ElementsAre("n=1"));
}

TEST_F(CacheTest, ImpossibleAssumptionsAreRefused) {
  SetNode("n");
  EXPECT_EQ(cache_.AssumePod(Pod("a").Obj(), Name("m")).code(), absl::StatusCode::kNotFound);
  cache_.SetPod(Pod("ghost", "m").Obj());
  EXPECT_EQ(cache_.AssumePod(Pod("a").Obj(), Name("m")).code(), absl::StatusCode::kNotFound)
      << "a node without an object is no place to go";
  ASSERT_TRUE(cache_.AssumePod(Pod("a").Obj(), Name("n")).ok());
  EXPECT_EQ(cache_.AssumePod(Pod("a").Obj(), Name("n")).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(CacheTest, AnAssumedPodMayBeDeleted) {
  SetNode("n");
  ASSERT_TRUE(cache_.AssumePod(Pod("a").Obj(), Name("n")).ok());
  EXPECT_TRUE(cache_.RemovePod(Uid("a")));
  EXPECT_EQ(cache_.assumed_count(), 0);
  EXPECT_THAT(Rows(), ElementsAre("n=0"));
}

TEST_F(CacheTest, ABoundPodWithoutANodeIsGone) {
  SetNode("n");
  cache_.SetPod(Pod("a", "n").Obj());
  EXPECT_EQ(cache_.SetPod(Pod("a").Obj()), Change::kRemoved);
  EXPECT_THAT(Rows(), ElementsAre("n=0"));
}

TEST_F(CacheTest, PodsMayComeBeforeTheirNode) {
  cache_.SetPod(Pod("a", "n").Obj());
  EXPECT_THAT(Rows(), IsEmpty());
  EXPECT_EQ(cache_.node_count(), 0);
  SetNode("n");
  EXPECT_THAT(Rows(), ElementsAre("n=1"));
}

TEST_F(CacheTest, PodsMayStayWhenTheirNodeGoes) {
  SetNode("n");
  SetNode("m");
  cache_.SetPod(Pod("a", "n").Obj());
  EXPECT_THAT(Rows(), ElementsAre("n=1", "m=0"));
  EXPECT_TRUE(cache_.RemoveNode(Name("n")));
  EXPECT_FALSE(cache_.RemoveNode(Name("n")));
  EXPECT_THAT(Rows(), ElementsAre("m=0"));
  EXPECT_EQ(RequestedCpu("n"), 1);
  SetNode("n");
  EXPECT_THAT(Rows(), ElementsAre("m=0", "n=1"));
  cache_.RemoveNode(Name("n"));
  cache_.RemovePod(Uid("a"));
  EXPECT_EQ(RequestedCpu("n"), -1) << "nothing keeps it";
}

TEST_F(CacheTest, TheTableOutlivesItsNodesUntilItIsRefreshed) {
  SetNode("n");
  SetNode("m");
  cache_.Refresh();
  cache_.RemoveNode(Name("n"));
  EXPECT_EQ(cache_.table().node(0).name(), Name("n"));
  SetNode("n");
  EXPECT_THAT(Rows(), ElementsAre("m=0", "n=0"));
}

TEST_F(CacheTest, OnlyChangedRowsAreRefreshed) {
  for (const char* node : {"n", "m", "o"}) SetNode(node);
  cache_.Refresh();
  const uint64_t order = cache_.table().order_version();
  const uint64_t before = cache_.table().version();
  cache_.Refresh();
  EXPECT_EQ(cache_.table().version(), before) << "nothing changed";
  ASSERT_TRUE(cache_.AssumePod(Pod("a").Obj(), Name("m")).ok());
  cache_.Refresh();
  EXPECT_EQ(cache_.table().order_version(), order);
  EXPECT_LE(cache_.table().row_version(0), before);
  EXPECT_GT(cache_.table().row_version(1), before);
  EXPECT_LE(cache_.table().row_version(2), before);
}

TEST_F(CacheTest, ANodeThatChangesItsZoneChangesTheOrder) {
  const char* const kZone = "topology.kubernetes.io/zone";
  cache_.SetNode(MakeNode().Name("a").Label(kZone, "1").Obj());
  cache_.SetNode(MakeNode().Name("b").Label(kZone, "1").Obj());
  cache_.SetNode(MakeNode().Name("c").Label(kZone, "2").Obj());
  EXPECT_THAT(Rows(), ElementsAre("a=0", "c=0", "b=0"));
  cache_.SetNode(MakeNode().Name("a").Label(kZone, "2").Obj());
  EXPECT_THAT(Rows(), ElementsAre("b=0", "c=0", "a=0"));
}

TEST_F(CacheTest, RowsMoveOneByOneOrAllAtOnce) {
  const auto name = [](int i) { return absl::StrCat("n", i); };
  for (int i = 0; i < 100; ++i) SetNode(name(i));
  cache_.Refresh();
  // How many nodes came and went, move by move.
  const auto refresh = [&] {
    const uint64_t before = cache_.table().version();
    cache_.Refresh();
    std::vector<std::pair<size_t, size_t>> moves;
    EXPECT_TRUE(cache_.table().Replay(
        before, [](const RowChange&) {},
        [&](const RowMove& move) {
          moves.push_back({move.came().size(), move.gone().size()});
        }));
    return moves;
  };
  cache_.RemoveNode(Name(name(50)));
  for (int i = 0; i < 1000; ++i) SetNode(name(i % 50));  // which moves nothing more
  EXPECT_THAT(refresh(), ElementsAre(Pair(0, 1)));
  for (int i = 0; i < 40; ++i) cache_.RemoveNode(Name(name(i)));
  EXPECT_THAT(refresh(), ElementsAre(Pair(0, 40)));
  EXPECT_EQ(cache_.table().size(), 59);
  for (int i = 0; i < 10; ++i) SetNode(name(i));
  EXPECT_THAT(refresh(), AllOf(SizeIs(10), Each(Pair(1, 0)))) << "each comes last";
  cache_.RemoveNode(Name(name(95)));
  SetNode(name(50));
  EXPECT_THAT(refresh(), ElementsAre(Pair(0, 1), Pair(1, 0)));
}

TEST_F(CacheTest, ALateObserverHearsOfWhatIsThere) {
  SetNode("n");
  cache_.SetPod(Pod("a", "n").Obj());
  cache_.SetPod(Pod("ghost", "gone").Obj());
  ASSERT_TRUE(cache_.AssumePod(Pod("b").Obj(), Name("n")).ok());
  Diary late;
  cache_.AddObserver(&late);
  EXPECT_THAT(late.Read(), ElementsAre("+a@n", "+b@n", "+ghost@gone"));
  cache_.RemoveObserver(&late);
  cache_.RemovePod(Uid("a"));
  EXPECT_THAT(late.Read(), IsEmpty());
}

}  // namespace
}  // namespace berth::testing
