// SPDX-License-Identifier: Apache-2.0
// The Binder: batches are bound whole, waits end, faults stay with their pod.
#include "engine/binder.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

TEST(Binding, AGangIsNotBoundWhileAPreBindOrBindKeepsFailing) {
  auto created =
      Simulation::Create({.configuration = GangConfiguration(),
                          .registry = &Builtins(),
                          .objects = {MakeGpuNode("n0", 8), MakeGpuNode("n1", 8), MakeGroup("g", 2),
                                      MakeGpuPod("g-0", 8, "g"), MakeGpuPod("g-1", 8, "g")}});
  ASSERT_TRUE(created.ok()) << created.status();
  Simulation& simulation = **created;
  int refused = 0;
  simulation.cluster().SetBindFault([&](const Identity&, const std::string&) {
    ++refused;
    return absl::UnavailableError("down");
  });
  simulation.RunUntilIdle();
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(simulation.cluster().Bindings().empty());
  EXPECT_EQ(simulation.scheduler().counters().bind_failures, 2);

  simulation.cluster().SetBindFault(nullptr);
  simulation.RunUntilQuiet();
  EXPECT_EQ(simulation.cluster().Bindings().size(), 2u);
  EXPECT_TRUE(simulation.scheduler().Unbound().empty());
}

// Each binding takes ten seconds, and none waits for another.
TEST(Binding, TheMembersOfAGangAreBoundAtOnce) {
  std::vector<Object> objects = {MakeGroup("g", 8)};
  for (int i = 0; i < 8; ++i) {
    objects.push_back(MakeGpuNode(absl::StrCat("n", i), 8));
    objects.push_back(MakeGpuPod(absl::StrCat("g-", i), 8, "g"));
  }
  auto created = Simulation::Create({.configuration = GangConfiguration(),
                                     .registry = &Builtins(),
                                     .objects = std::move(objects)});
  ASSERT_TRUE(created.ok()) << created.status();
  Simulation& simulation = **created;
  simulation.cluster().SetBindDelay(
      [](const Identity&, const std::string&) { return absl::Seconds(10); });
  simulation.Advance(absl::Seconds(9));
  EXPECT_TRUE(simulation.cluster().Bindings().empty());
  simulation.Advance(absl::Seconds(2));
  EXPECT_EQ(simulation.cluster().Bindings().size(), 8u);
  EXPECT_TRUE(simulation.scheduler().Unbound().empty());
}

TEST(Binding, APodThatWasBoundAsTheSchedulerStoppedIsNotUnbound) {
  auto created = Simulation::Create({.configuration = GangConfiguration(),
                                     .registry = &Builtins(),
                                     .objects = {MakeGpuNode("n0", 8), MakeGpuPod("p", 1)}});
  ASSERT_TRUE(created.ok()) << created.status();
  Simulation& simulation = **created;
  simulation.cluster().SetBindFault([&](const Identity&, const std::string&) {
    simulation.scheduler().Stop();
    return absl::OkStatus();
  });
  simulation.scheduler().RunUntilIdle();
  EXPECT_EQ(simulation.cluster().Bindings().size(), 1u);
  EXPECT_TRUE(simulation.scheduler().Unbound().empty());
}

// One member of a gang is bound, the binding of the other is tried again after a pause, in which
// the pod ends: it is not bound any more, and its place is free.
TEST(Binding, APodThatEndsBeforeItsBindingIsTriedAgainGivesItsPlaceBack) {
  for (const bool deleted : {false, true}) {
    SCOPED_TRACE(deleted ? "deleted" : "finished");
    auto created =
        Simulation::Create({.configuration = GangConfiguration(),
                            .registry = &Builtins(),
                            .objects = {MakeGpuNode("n0", 8), MakeGroup("g", 2),
                                        MakeGpuPod("g-0", 4, "g"), MakeGpuPod("g-1", 4, "g")}});
    ASSERT_TRUE(created.ok()) << created.status();
    Simulation& simulation = **created;
    int asked = 0;
    simulation.cluster().SetBindFault([&](const Identity& pod, const std::string&) {
      if (pod.name() != "g-1") return absl::OkStatus();
      ++asked;
      return absl::UnavailableError("down");
    });
    simulation.RunUntilIdle();
    ASSERT_EQ(asked, 1);
    if (deleted) {
      simulation.cluster().Delete(Kind::kPod, "default/g-1");
    } else {
      simulation.cluster().Finish("default/g-1");
    }
    simulation.cluster().Set(MakeGpuPod("next", 4));
    simulation.RunUntilIdle();
    EXPECT_EQ(simulation.cluster().Bindings().back().first, "default/next");
    simulation.Advance(absl::Minutes(1));
    EXPECT_EQ(asked, 1) << "it is bound though it has ended";
    EXPECT_TRUE(simulation.scheduler().Unbound().empty());
  }
}

TEST(Binding, APodDeletedWhileItIsBoundLeavesNothingBehind) {
  auto created = Simulation::Create(
      {.configuration = GangConfiguration(),
       .registry = &Builtins(),
       .objects = {MakeGpuNode("n0", 8), MakeGpuPod("first", 8), MakeGpuPod("second", 8)}});
  ASSERT_TRUE(created.ok()) << created.status();
  Simulation& simulation = **created;
  simulation.cluster().SetBindFault([&](const Identity& pod, const std::string&) {
    return pod.name() == "first" ? absl::NotFoundError("gone") : absl::OkStatus();
  });
  simulation.scheduler().TakeEvents();
  simulation.cluster().Delete(Kind::kPod, "default/first");
  simulation.RunUntilQuiet();
  ASSERT_EQ(simulation.cluster().Bindings().size(), 1u);
  EXPECT_EQ(simulation.cluster().Bindings()[0].first, "default/second");
}

}  // namespace
}  // namespace berth
