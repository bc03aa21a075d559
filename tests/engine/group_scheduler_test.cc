// SPDX-License-Identifier: Apache-2.0
// Attempts on groups of unlike pods.
#include "engine/group_scheduler.h"

#include <set>
#include <string>

#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

std::unique_ptr<Simulation> Simulate(std::vector<Object> objects) {
  auto created = Simulation::Create({.configuration = GangConfiguration(),
                                     .registry = &Builtins(),
                                     .objects = std::move(objects)});
  EXPECT_TRUE(created.ok()) << created.status();
  (*created)->RunUntilQuiet();
  return *std::move(created);
}

// In the order of arrival the small pod would take a piece of the only node for the large one.
TEST(GroupScheduler, TheHardestPodOfAGroupIsPlacedFirst) {
  auto simulation = Simulate({MakeGpuNode("big", 8), MakeGpuNode("small", 2), MakeGroup("g", 2),
                              MakeGpuPod("g-a", 1, "g"), MakeGpuPod("g-b", 8, "g")});
  EXPECT_EQ(simulation->cluster().Bindings().size(), 2u);
}

TEST(GroupScheduler, SurplusMembersArePlacedIfThereIsRoom) {
  auto simulation =
      Simulate({MakeGpuNode("n0", 3), MakeGroup("g", 2), MakeGpuPod("g-0", 1, "g"),
                MakeGpuPod("g-1", 1, "g"), MakeGpuPod("g-2", 1, "g"), MakeGpuPod("g-3", 1, "g")});
  EXPECT_EQ(simulation->cluster().Bindings().size(), 3u);
  ASSERT_EQ(simulation->scheduler().Unbound().size(), 1u);
  EXPECT_NE(simulation->scheduler().Unbound()[0].message.find("Insufficient nvidia.com/gpu"),
            std::string::npos);
}

TEST(GroupScheduler, AFailedGroupLeavesTheClusterAsItWas) {
  auto simulation = Simulate({MakeGpuNode("n0", 9), MakeGroup("g", 10), MakeGpuPod("single", 9)});
  for (int i = 0; i < 10; ++i) {
    simulation->cluster().Set(MakeGpuPod(absl::StrCat("g-", i), 1, "g"));
  }
  simulation->cluster().Delete(Kind::kPod, "default/single");
  simulation->RunUntilQuiet();
  EXPECT_EQ(simulation->cluster().Bindings().size(), 1u) << "nine of ten is nothing";
  simulation->cluster().Set(MakeGpuPod("after", 9));
  simulation->RunUntilQuiet();
  EXPECT_EQ(simulation->cluster().Bindings().size(), 2u) << "all nine GPUs were free again";
}

// Its siblings went, or its PodGroup, while no scheduler ran.
TEST(GroupScheduler, AMemberThatTheFirstLookFindsAloneHoldsNothing) {
  for (const bool has_group : {false, true}) {
    SCOPED_TRACE(has_group);
    std::vector<Object> objects = {MakeGpuNode("n0", 8), MakeGpuPod("single", 8)};
    objects.push_back(testing::MakePod()
                          .Name("g-0")
                          .Namespace("default")
                          .Priority(100)
                          .Request("nvidia.com/gpu", "8")
                          .Label("scheduling.x-k8s.io/pod-group", "g")
                          .NominatedNodeName("n0")
                          .Object());
    if (has_group) objects.push_back(MakeGroup("g", 2));
    auto simulation = Simulate(std::move(objects));
    EXPECT_EQ(simulation->cluster().Bindings().size(), 1u);
    ASSERT_EQ(simulation->scheduler().Unbound().size(), 1u);
    EXPECT_EQ(simulation->scheduler().Unbound()[0].pod, "default/g-0");
  }
}

TEST(GroupScheduler, StoppedByAnObserverItIsTheLast) {
  std::vector<Object> objects = {MakeGpuNode("n0", 8)};
  for (int i = 0; i < 8; ++i) objects.push_back(MakeGpuPod(absl::StrCat("p-", i), 1));
  auto simulation = Simulation::Create({.configuration = GangConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = std::move(objects)});
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  int attempts = 0;
  (*simulation)->scheduler().ObserveAttempts([&](const AttemptRecord&) {
    if (++attempts == 3) (*simulation)->Stop();
  });
  (*simulation)->RunUntilIdle();
  EXPECT_EQ(attempts, 3);
}

}  // namespace
}  // namespace berth
