// SPDX-License-Identifier: Apache-2.0
// A search for victims that takes long stops for what happens meanwhile, and goes on.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kNodes = 20;

// Full nodes, on each of which somebody has to go, and a pod that needs room: a search that stops
// at every node.
class LongSearch : public ::testing::Test {
 protected:
  LongSearch() {
    std::vector<Object> objects;
    for (int i = 0; i < kNodes; ++i) {
      const std::string node = absl::StrCat("n", i);
      objects.push_back(CpuNode(node, "4").Object());
      objects.push_back(CpuPod(absl::StrCat("low-", i), "4").NodeName(node).HostPort(80).Object());
      // Pods of the pod's own priority, with the port that it wants: none of the others helps.
      objects.push_back(
          CpuPod(absl::StrCat("port-", i), "0").NodeName(node).Priority(10).HostPort(81).Object());
    }
    simulation_ = *Simulation::Create({.configuration = DefaultConfiguration(Builtins()),
                                       .registry = &Builtins(),
                                       .objects = std::move(objects),
                                       .work_budget_steps = 1});
    simulation_->scheduler().ObserveAttempts([this](const AttemptRecord& attempt) {
      EXPECT_GE(attempt.duration, spent_) << "of the attempt as a whole";
      spent_ = attempt.yielded ? attempt.duration : absl::ZeroDuration();
      if (!attempt.yielded) return records_.push_back(attempt.cycles);
      EXPECT_THAT(attempt.outcomes, IsEmpty());
      if (++stops_ == 5 && at_stop_ != nullptr) at_stop_();
      if (at_each_stop_ != nullptr && stops_ < 5'000) at_each_stop_();
    });
    simulation_->RunUntilIdle();
  }

  void Add(const std::string& name) {
    spent_ = absl::ZeroDuration();
    simulation_->cluster().Set(CpuPod(name, "1").Priority(10).HostPort(81).Object());
    simulation_->RunUntilIdle();
  }
  int64_t attempts() const { return simulation_->scheduler().counters().attempts; }

  std::unique_ptr<Simulation> simulation_;
  std::function<void()> at_stop_;       // the fifth
  std::function<void()> at_each_stop_;  // of the first 5,000
  int stops_ = 0;
  absl::Duration spent_;
  std::vector<int> records_;  // cycles of attempts that are over
};

TEST_F(LongSearch, IsOneAttempt) {
  Add("high");
  EXPECT_GE(stops_, kNodes - 1);  // after each node that was read but the last
  EXPECT_EQ(attempts(), 1);
  EXPECT_THAT(records_, SizeIs(1));
  EXPECT_EQ(simulation_->scheduler().counters().cycles, stops_ + 1);
  const std::vector<UnboundPod> unbound = simulation_->scheduler().Unbound();
  ASSERT_THAT(unbound, SizeIs(1));
  EXPECT_THAT(unbound[0].message, HasSubstr("0/20 nodes are available"));
  EXPECT_THAT(simulation_->cluster().RecordedEvents(), SizeIs(1));  // it was told once
}

TEST_F(LongSearch, FindsTheNodeThatCameMeanwhile) {
  at_stop_ = [this] { simulation_->cluster().Set(CpuNode("new", "4").Object()); };
  Add("high");
  EXPECT_EQ(stops_, 5);
  EXPECT_EQ(attempts(), 1);
  EXPECT_THAT(simulation_->cluster().Evictions(), IsEmpty());
  ASSERT_THAT(simulation_->cluster().Bindings(), SizeIs(1));
  EXPECT_EQ(simulation_->cluster().Bindings()[0].second, "new");
}

// All nodes were read before: what is left are their dry runs.
TEST_F(LongSearch, StopsBetweenDryRunsToo) {
  Add("high");
  const int stops = std::exchange(stops_, 0);
  Add("another");
  EXPECT_GE(stops_, 3);
  EXPECT_LT(stops_, stops);
  EXPECT_EQ(attempts(), 2);
  const std::vector<UnboundPod> unbound = simulation_->scheduler().Unbound();
  ASSERT_THAT(unbound, SizeIs(2));
  EXPECT_EQ(unbound[0].message, unbound[1].message);
}

// The pod that was in the way goes after its node was tried.
TEST_F(LongSearch, TriesAgainWhereSomethingChangedBetweenDryRuns) {
  Add("high");
  stops_ = 0;
  at_each_stop_ = [this] {
    if (stops_ == 3) simulation_->cluster().Delete(Kind::kPod, "default/port-0");
  };
  Add("another");
  EXPECT_THAT(simulation_->cluster().Evictions(), ElementsAre("default/low-0"));
}

TEST_F(LongSearch, EndsWithItsPod) {
  at_stop_ = [this] { simulation_->cluster().Delete(Kind::kPod, "default/high"); };
  Add("high");
  EXPECT_EQ(stops_, 5);
  EXPECT_EQ(attempts(), 0);
  EXPECT_THAT(simulation_->scheduler().Unbound(), IsEmpty());
  at_stop_ = nullptr;
  Add("another");
  EXPECT_EQ(attempts(), 1);
}

// As fast as they are read and dry-run.
TEST_F(LongSearch, EndsThoughNodesAndPodsChange) {
  int changes = 0;
  at_each_stop_ = [&] {
    for (int i = 0; i < 2; ++i, ++changes) {
      const std::string node = absl::StrCat("n", changes % kNodes);
      const std::string change = absl::StrCat(changes);
      simulation_->cluster().Set(CpuNode(node, "4").Label("change", change).Object());
      simulation_->cluster().Set(CpuPod(absl::StrCat("low-", changes % kNodes), "4")
                                     .NodeName(node)
                                     .HostPort(80)
                                     .Label("change", change)
                                     .Object());
    }
  };
  Add("high");
  EXPECT_EQ(attempts(), 1);
  EXPECT_LT(stops_, 100);
}

// The port is free for a moment, and taken again before it goes on.
TEST_F(LongSearch, IsNotRequeuedByWhatItHasSeen) {
  at_stop_ = [this] {
    simulation_->cluster().Delete(Kind::kPod, "default/port-3");
    simulation_->cluster().Set(
        CpuPod("port-3-too", "0").NodeName("n3").Priority(10).HostPort(81).Object());
  };
  Add("high");
  simulation_->Advance(absl::Seconds(30));
  EXPECT_EQ(attempts(), 1);
}

TEST_F(LongSearch, EndsWhenItsPodJoinsAGroup) {
  std::vector<Object> objects = {MakeGroup("g", 3)};
  for (Object& object : simulation_->cluster().List(Kind::kNode)) objects.push_back(object);
  for (Object& object : simulation_->cluster().List(Kind::kPod)) objects.push_back(object);
  simulation_ = *Simulation::Create({.configuration = GangConfiguration(),
                                     .registry = &Builtins(),
                                     .objects = std::move(objects),
                                     .work_budget_steps = 1});
  int stops = 0;
  simulation_->scheduler().ObserveAttempts([&](const AttemptRecord& attempt) {
    if (attempt.yielded && ++stops == 5) {
      simulation_->cluster().Set(CpuPod("high", "1")
                                     .Priority(10)
                                     .Uid("high")
                                     .Label("scheduling.x-k8s.io/pod-group", "g")
                                     .Object());
      simulation_->cluster().Set(CpuNode("new", "4").Object());
    }
  });
  simulation_->cluster().Set(CpuPod("high", "1").Priority(10).HostPort(81).Uid("high").Object());
  simulation_->RunUntilIdle();
  EXPECT_EQ(stops, 5);
  EXPECT_THAT(simulation_->cluster().Bindings(), IsEmpty());
  ASSERT_THAT(simulation_->scheduler().Unbound(), SizeIs(1));
  EXPECT_EQ(simulation_->scheduler().Unbound()[0].state, UnboundPod::State::kGated);
}

TEST_F(LongSearch, GoesOnForThePodAsItIsThen) {
  at_stop_ = [this] {  // it does without the port
    simulation_->cluster().Set(CpuPod("high", "1").Priority(10).Uid("high").Object());
  };
  simulation_->cluster().Set(CpuPod("high", "1").Priority(10).Uid("high").HostPort(81).Object());
  simulation_->RunUntilIdle();
  EXPECT_EQ(attempts(), 1);
  EXPECT_THAT(simulation_->cluster().Evictions(), SizeIs(1));
}

// Each node runs a member of a group and a pod on its own, of which the second is less dear to
// lose, whatever its priority. To find that out is a dry run of every node.
TEST(LongSearchForGroups, EvictsTheSameThoughItStops) {
  std::vector<std::string> evictions[2];
  int stops[2] = {0, 0};
  for (const int64_t steps : {0, 1}) {
    std::vector<Object> objects;
    for (int i = 0; i < kNodes; ++i) {
      const std::string node = absl::StrCat("n", i), group = absl::StrCat("g", i / 2);
      if (i % 2 == 0) objects.push_back(MakeGroup(group, 2));
      objects.push_back(CpuNode(node, "4").Object());
      objects.push_back(CpuPod(absl::StrCat("member-", i), "2")
                            .NodeName(node)
                            .Label("scheduling.x-k8s.io/pod-group", group)
                            .Object());
      objects.push_back(CpuPod(absl::StrCat("single-", i), "2")
                            .NodeName(node)
                            .Priority(i == 17 ? 1 : 2)
                            .Object());
    }
    const auto simulation = *Simulation::Create({.configuration = GangConfiguration(),
                                                 .registry = &Builtins(),
                                                 .objects = std::move(objects),
                                                 .work_budget_steps = steps});
    simulation->RunUntilIdle();
    simulation->scheduler().ObserveAttempts(
        [&](const AttemptRecord& attempt) { stops[steps] += attempt.yielded ? 1 : 0; });
    for (const char* const name : {"first", "second"}) {  // the first one has the nodes read
      stops[steps] = 0;
      simulation->cluster().Set(CpuPod(name, "2").Priority(10).Object());
      simulation->RunUntilIdle();
    }
    evictions[steps] = simulation->cluster().Evictions();
  }
  EXPECT_THAT(evictions[0], ElementsAre("default/single-17", "default/single-0"));
  EXPECT_EQ(evictions[0], evictions[1]);
  EXPECT_EQ(stops[0], 0);
  EXPECT_GE(stops[1], 3);
}

}  // namespace
}  // namespace berth
