// SPDX-License-Identifier: Apache-2.0
// Living beside other schedulers: what was placed is looked at again before it is bound, and what
// cannot be bound is taken back and placed again.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/scripted_plugin.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What the pods on a node request, in CPUs.
int64_t UsedOn(World& world, const std::string& node) {
  int64_t used = 0;
  for (const Object& object : world.memory().List(Kind::kPod)) {
    const auto pod = PodInfo::Create(object.Share<api::Pod>()).value();
    if (pod->node_name() == node) used += pod->requests().Get(kCpu) / 1000;
  }
  return used;
}

// A minute, for Permit of plugin A.
void MakePodsWait(ScriptedPlugins& plugins) {
  plugins["A"].permit = [](CycleState&, const PodInfo&, absl::Duration& timeout) {
    timeout = absl::Seconds(60);
    return Status::Wait();
  };
}

TEST(Conflict, AForeignPodOnTheNodeWhileOursWaits) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  MakePodsWait(plugins);
  world.Set(CpuPod("ours", "3").Object());
  world.Run();
  world.Set(CpuPod("foreign", "3").SchedulerName("other").NodeName("n0").Object());
  world.Run();
  plugins["A"].permit = nullptr;
  plugins["A"].handle->ForEachWaitingPod([](WaitingPod& waiting) { waiting.Allow("A"); });
  world.Run();
  EXPECT_EQ(world.NodeOf("ours"), "");
  ASSERT_FALSE(world.Notes("ours", "FailedScheduling").empty());
  EXPECT_EQ(world.Notes("ours", "FailedScheduling").front(),
            "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_THAT(plugins["A"].log, ElementsAre("Reserve ours", "Unreserve ours"));
  EXPECT_EQ(UsedOn(world, "n0"), 3);

  world.Set(CpuNode("n1", "4").Object());
  world.Advance(absl::Seconds(3));
  EXPECT_EQ(world.NodeOf("ours"), "n1");
}

// Its cycle evaluated no node, since the verdicts on pods like it are cached.
TEST(Conflict, AForeignPodOnTheNodeWhileOneOfManyWaits) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "8").Object());
  MakePodsWait(plugins);
  for (const char* name : {"p0", "p1", "p2"}) world.Set(CpuPod(name, "2").Object());
  world.Run();
  ASSERT_EQ(plugins["A"].log.size(), 3u);
  world.Set(CpuPod("foreign", "3").SchedulerName("other").NodeName("n0").Object());
  world.Run();
  plugins["A"].permit = nullptr;
  plugins["A"].handle->ForEachWaitingPod([](WaitingPod& waiting) { waiting.Allow("A"); });
  world.Run();
  EXPECT_LE(UsedOn(world, "n0"), 8);
  world.Advance(absl::Seconds(5));
  EXPECT_EQ(UsedOn(world, "n0"), 7);
}

// What the counts of pods by domain were when it was placed has moved since.
TEST(Conflict, AntiAffinityIsLookedAtAnewWithoutThePodItself) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  plugins["A"].permit = [](CycleState&, const PodInfo& pod, absl::Duration& timeout) {
    timeout = absl::Seconds(60);
    return pod.name() == "ours" ? Status::Wait() : Status::Success();
  };
  const auto host = [](const std::string& name) { return CpuNode(name, "8").Label("host", name); };
  const auto alone = [](const std::string& name) {
    return CpuPod(name, "1").Label("app", "a").PodAntiAffinity("host", {{"app", "a"}});
  };
  world.Set(host("n0").Object());
  world.Set(alone("ours").Object());
  world.Run();
  for (int i = 1; i < 100; ++i) world.Set(host(absl::StrCat("n", i)).Object());
  for (int i = 1; i < 50; ++i) world.Set(alone(absl::StrCat("p", i)).Object());
  world.Set(CpuPod("foreign", "3").SchedulerName("other").NodeName("n0").Object());
  world.Run();
  plugins["A"].handle->ForEachWaitingPod([](WaitingPod& waiting) { waiting.Allow("A"); });
  world.Run();
  EXPECT_EQ(world.NodeOf("ours"), "n0");
  EXPECT_EQ(world.memory().Bindings().size(), 50u);
}

TEST(Conflict, ANodeThatIsCordonedOrGoneIsNotBoundTo) {
  for (const bool gone : {false, true}) {
    ScriptedPlugins plugins({"A"});
    World world(plugins.configuration(), plugins.registry());
    world.Set(CpuNode("n0", "4").Object());
    MakePodsWait(plugins);
    world.Set(CpuPod("p", "1").Object());
    world.Run();
    if (gone) {
      world.memory().Delete(Kind::kNode, "n0");
    } else {
      world.Set(CpuNode("n0", "4").Unschedulable().Object());
    }
    world.Run();
    plugins["A"].permit = nullptr;
    plugins["A"].handle->ForEachWaitingPod([](WaitingPod& waiting) { waiting.Allow("A"); });
    world.Run();
    EXPECT_THAT(world.memory().Bindings(), IsEmpty());
    // The same name, and room again.
    world.Set(CpuNode("n0", "4").Object());
    world.Advance(absl::Seconds(3));
    EXPECT_EQ(world.NodeOf("p"), "n0");
  }
}

TEST(Conflict, AWholeGangIsTakenBackAndPlacedAgain) {
  World world(GangConfiguration(), Builtins());
  for (const char* name : {"n0", "n1", "n2"}) world.Set(MakeGpuNode(name, 8));
  world.scheduler->TakeEvents();
  world.Set(MakeGroup("g", 2));
  world.Set(MakeGpuPod("g-0", 8, "g"));
  world.Set(MakeGpuPod("g-1", 8, "g"));
  // Another scheduler is faster by a moment: its pod is there when ours are placed and not bound.
  bool stolen = false;
  world.scheduler->ObserveAttempts([&](const AttemptRecord& attempt) {
    if (std::exchange(stolen, true) || attempt.placed == 0) return;
    Object pod = MakeGpuPod("thief", 8);
    auto message = std::make_shared<api::Pod>(pod.As<api::Pod>());
    message->mutable_spec()->set_node_name("n0");
    message->mutable_spec()->set_scheduler_name("other");
    world.Set(Object::Of(std::move(message)));
  });
  world.Run();
  ASSERT_TRUE(stolen);
  EXPECT_EQ(world.scheduler->counters().attempts, 2);
  EXPECT_EQ(world.memory().Bindings().size(), 2u);
  EXPECT_NE(world.NodeOf("g-0"), "n0");
  EXPECT_NE(world.NodeOf("g-1"), "n0");
}

TEST(Conflict, ABindingThatTheClusterRefusesIsTriedAgain) {
  ScriptedPlugins plugins({"A", "B"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  int refusals = 2;
  world.memory().SetBindFault([&](const Identity&, const std::string&) {
    return refusals-- > 0 ? absl::AbortedError("the pod changed") : absl::OkStatus();
  });
  world.Set(CpuPod("p", "4").Object());
  world.Run();
  EXPECT_EQ(world.NodeOf("p"), "");
  const UnboundPod failed = world.Pending("p");
  EXPECT_EQ(failed.state, UnboundPod::State::kBackoff);
  EXPECT_EQ(failed.waiting.reason, WaitingReason::kBindingFailed);
  EXPECT_EQ(world.Condition("p", "PodScheduled").reason(), "SchedulerError");
  world.Advance(absl::Seconds(2));
  world.Advance(absl::Seconds(3));
  EXPECT_EQ(world.NodeOf("p"), "n0");
  EXPECT_EQ(world.scheduler->counters().bind_failures, 2);
}

TEST(Conflict, PreBindFailuresRollBackInReverseOrder) {
  ScriptedPlugins plugins({"A", "B"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  std::vector<std::string> undone;
  for (const char* name : {"A", "B"}) {
    plugins[name].unreserve = [&undone, name](const PodInfo&) { undone.push_back(name); };
  }
  int failures = 1;
  plugins["A"].pre_bind = [&](const PodInfo&) {
    return failures-- > 0 ? Status::Unschedulable("the volume is not there") : Status::Success();
  };
  world.Set(CpuPod("p", "4").Object());
  world.Run();
  EXPECT_THAT(undone, ElementsAre("B", "A"));
  EXPECT_EQ(world.Pending("p").message, "the volume is not there");
  EXPECT_EQ(world.Pending("p").state, UnboundPod::State::kBackoff)
      << "what fails after Permit waits for no event";
  // Nothing else is active, but it must rest all the same.
  world.Run();
  EXPECT_EQ(world.NodeOf("p"), "");
  world.Advance(absl::Seconds(2));
  EXPECT_EQ(world.NodeOf("p"), "n0");
}

TEST(Conflict, ABindingWhoseAnswerIsLostKeepsItsPlaceUntilTheClusterSaysWhatHappened) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  world.cluster.lost = RefusingCluster::Lost::kAnswer;
  world.cluster.unanswered_questions = 2;
  world.Set(CpuPod("p", "3").Object());
  const absl::Time start = world.clock.Now();
  world.Run();
  EXPECT_EQ(world.cluster.questions, 3);
  EXPECT_EQ(world.clock.Now() - start, absl::Seconds(1 + 2 + 4));
  EXPECT_EQ(world.NodeOf("p"), "n0");
  EXPECT_THAT(world.scheduler->Unbound(), IsEmpty());
  EXPECT_THAT(plugins["A"].log, ElementsAre("Reserve p"));
  EXPECT_EQ(world.scheduler->counters().bind_failures, 0);
  EXPECT_EQ(world.scheduler->counters().bound, 1);
  EXPECT_THAT(world.Notes("p", "Scheduled"), ElementsAre("Successfully assigned default/p to n0"));
}

TEST(Conflict, ABindingThatNeverArrivedIsTriedAgain) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  world.cluster.lost = RefusingCluster::Lost::kRequest;
  world.Set(CpuPod("p", "3").Object());
  world.Run();
  EXPECT_EQ(world.NodeOf("p"), "");
  EXPECT_EQ(world.scheduler->counters().bind_failures, 1);
  EXPECT_THAT(plugins["A"].log, ElementsAre("Reserve p", "Unreserve p"));
  world.cluster.lost = RefusingCluster::Lost::kNothing;
  world.Advance(absl::Seconds(5));
  EXPECT_EQ(world.NodeOf("p"), "n0");
}

TEST(Conflict, ABindPluginThatFailsAfterThePodWasBoundHasBoundIt) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  world.memory().SetBindFault([&](const Identity& pod, const std::string& node) {
    EXPECT_TRUE(world.memory().Find(Kind::kPod, "default/p") != nullptr) << pod.name();
    world.Set(CpuPod("p", "3").NodeName(node).Object());
    return absl::InternalError("something is wrong");
  });
  world.Set(CpuPod("p", "3").Object());
  world.Run();
  EXPECT_THAT(plugins["A"].log, ElementsAre("Reserve p"));
  EXPECT_THAT(world.scheduler->Unbound(), IsEmpty());
  EXPECT_EQ(world.scheduler->counters().bound, 1);
}

}  // namespace
}  // namespace berth
