// SPDX-License-Identifier: Apache-2.0
// Preemption over time: the preemptor waits for its victims, and nobody is evicted twice.
#include <string>

#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KubeSchedulerConfiguration Defaults() { return DefaultConfiguration(Builtins()); }

TEST(Evictions, ThePreemptorIsGatedUntilTheyAreAnswered) {
  World world(Defaults(), Builtins(), World::Calls::kStepped);
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("a", "2").NodeName("n0").Object());
  world.Set(CpuPod("b", "2").NodeName("n0").Object());
  world.Set(CpuPod("other", "1").NodeName("n0").Phase("Running").Object());
  world.memory().Delete(Kind::kPod, "default/other");
  world.Set(CpuPod("high", "4").Priority(10).Object());
  world.Run();
  EXPECT_EQ(world.Pending("high").state, UnboundPod::State::kUnschedulable);
  EXPECT_THAT(world.cluster.evictions_asked, IsEmpty());

  // Something ends that the pod was waiting for: it may not be tried yet all the same.
  world.Set(CpuPod("passing", "1").NodeName("n0").Object());
  world.memory().Delete(Kind::kPod, "default/passing");
  world.Run();
  const UnboundPod gated = world.Pending("high");
  EXPECT_EQ(gated.state, UnboundPod::State::kGated);
  EXPECT_EQ(gated.plugin, "DefaultPreemption");
  EXPECT_EQ(gated.message, "waiting for the preemption for this pod to be finished");
  EXPECT_EQ(gated.waiting.reason, WaitingReason::kWaitingForVictims);
  EXPECT_EQ(gated.waiting.victims, 2);

  world.Settle();
  EXPECT_EQ(world.memory().Evictions().size(), 2u);
  EXPECT_EQ(world.Nominated("high"), "n0");
  EXPECT_NE(world.Pending("high").state, UnboundPod::State::kGated);
  world.Advance(absl::Seconds(29));
  EXPECT_EQ(world.NodeOf("high"), "");
  world.Advance(absl::Seconds(2));
  EXPECT_EQ(world.NodeOf("high"), "n0");
  EXPECT_EQ(world.memory().Evictions().size(), 2u);
}

TEST(Evictions, TheLastVictimIsAskedWhenTheOthersAreAnswered) {
  World world(Defaults(), Builtins(), World::Calls::kStepped);
  world.Set(CpuNode("n0", "6").Object());
  for (const char* name : {"a", "b", "c"}) world.Set(CpuPod(name, "2").NodeName("n0").Object());
  world.Set(CpuPod("high", "6").Priority(10).Object());
  world.Run();
  world.executor.RunAll();
  EXPECT_EQ(world.cluster.evictions_asked.size(), 2u);
  world.Run();
  world.executor.RunAll();
  EXPECT_EQ(world.cluster.evictions_asked.size(), 3u);
}

TEST(Evictions, AVictimUnderWayIsNotPickedAgain) {
  World world(Defaults(), Builtins(), World::Calls::kStepped);
  for (const char* n : {"0", "1"}) {
    world.Set(CpuNode(absl::StrCat("n", n), "4").Object());
    world.Set(CpuPod(absl::StrCat("low-", n), "4").NodeName(absl::StrCat("n", n)).Object());
  }
  world.Set(CpuPod("first", "4").Priority(10).Object());
  world.Run();  // planned; the cluster has not heard of it yet
  world.Set(CpuPod("second", "4").Priority(10).Object());
  world.Run();
  world.Settle();
  EXPECT_EQ(world.memory().Evictions().size(), 2u);
  EXPECT_NE(world.Nominated("first"), world.Nominated("second"));
  world.Advance(absl::Seconds(31));
  EXPECT_NE(world.NodeOf("first"), "");
  EXPECT_NE(world.NodeOf("second"), "");
}

TEST(Evictions, APreemptorThatIsTriedAgainDoesNotEvictMore) {
  World world(Defaults(), Builtins(), World::Calls::kStepped);
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuNode("n1", "4").Object());
  world.Set(CpuPod("low-0", "4").NodeName("n0").Object());
  world.Set(CpuPod("low-1", "4").NodeName("n1").Object());
  world.Set(CpuPod("high", "4").Priority(10).Object());
  world.Run();
  world.executor.RunAll();
  world.Run();
  // The victim is dying; a pod that ends elsewhere wakes the preemptor.
  world.Set(CpuPod("passing", "1").NodeName("n1").Object());
  world.memory().Delete(Kind::kPod, "default/passing");
  world.Advance(absl::Seconds(5));
  EXPECT_EQ(world.memory().Evictions().size(), 1u);
  EXPECT_THAT(world.Pending("high").message,
              HasSubstr("not eligible due to a terminating pod on the nominated node."));
  EXPECT_EQ(world.Pending("high").waiting.reason, WaitingReason::kWaitingForVictims);
}

TEST(Evictions, ARefusedEvictionIsTriedAgain) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("low", "4").NodeName("n0").Object());
  world.cluster.refuse_evictions["low"] = 1;
  world.Set(CpuPod("high", "4").Priority(10).Object());
  world.Run();
  EXPECT_THAT(world.memory().Evictions(), IsEmpty());
  EXPECT_EQ(world.scheduler->counters().eviction_failures, 1);
  EXPECT_EQ(world.scheduler->counters().evictions, 0);
  EXPECT_EQ(world.Pending("high").state, UnboundPod::State::kBackoff);
  world.Advance(absl::Seconds(3));
  EXPECT_THAT(world.memory().Evictions(), ElementsAre("default/low"));
  world.Advance(absl::Seconds(31));
  EXPECT_EQ(world.NodeOf("high"), "n0");
}

TEST(Evictions, SayWhatKubeSchedulerSays) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("low", "4").NodeName("n0").Object());
  world.Set(CpuPod("high", "4").Uid("u-high").Priority(10).Object());
  world.Run();
  EXPECT_THAT(world.Notes("low", "Preempted"), ElementsAre("Preempted by pod u-high on node n0"));
  const api::PodCondition target = world.Condition("low", "DisruptionTarget");
  EXPECT_EQ(target.reason(), "PreemptionByScheduler");
  EXPECT_EQ(target.message(), "default-scheduler: preempting to accommodate a higher priority pod");
  const api::PodCondition scheduled = world.Condition("high", "PodScheduled");
  EXPECT_EQ(scheduled.status(), "False");
  EXPECT_EQ(scheduled.reason(), "Unschedulable");
  EXPECT_EQ(scheduled.message(), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_THAT(world.Notes("high", "FailedScheduling"),
              ElementsAre("0/1 nodes are available: 1 Insufficient cpu."));
  world.Advance(absl::Seconds(31));
  EXPECT_THAT(world.Notes("high", "Scheduled"),
              ElementsAre("Successfully assigned default/high to n0"));
}

TEST(Evictions, AHigherPreemptorClearsLowerNominations) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("low", "2").NodeName("n0").Object());
  world.Set(CpuPod("other", "2").NodeName("n0").Priority(6).Object());
  world.Set(CpuPod("middle", "2").Priority(5).Object());
  world.Run();
  EXPECT_EQ(world.Nominated("middle"), "n0");
  world.Set(CpuPod("high", "4").Priority(10).Object());
  world.Run();
  EXPECT_EQ(world.Nominated("high"), "n0");
  EXPECT_EQ(world.Nominated("middle"), "");
  EXPECT_THAT(world.memory().Evictions(), ElementsAre("default/low", "default/other"));
}

// As kube-scheduler, which then starts no preemption: tests/cluster/steps/nominated_displaced.yaml.
TEST(Evictions, NominationsStayUntilTheNextAttemptWhereAllVictimsLeaveAlready) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("low", "4").NodeName("n0").Object());
  world.Set(CpuPod("middle", "4").Priority(5).Object());
  world.Run();
  EXPECT_EQ(world.Nominated("middle"), "n0");
  world.Set(CpuPod("high", "4").Priority(10).Object());
  world.Run();
  EXPECT_EQ(world.Nominated("high"), "n0");
  EXPECT_EQ(world.Nominated("middle"), "n0");
  EXPECT_THAT(world.memory().Evictions(), ElementsAre("default/low"));
  world.Advance(absl::Seconds(31));
  EXPECT_EQ(world.NodeOf("high"), "n0");
  EXPECT_EQ(world.NodeOf("middle"), "");
}

TEST(Evictions, ANominationGoesWithItsNode) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("low", "4").NodeName("n0").Object());
  world.Set(CpuPod("high", "4").Priority(10).Object());
  world.Run();
  EXPECT_EQ(world.Nominated("high"), "n0");
  world.memory().Delete(Kind::kNode, "n0");
  world.Advance(absl::Seconds(5));
  EXPECT_EQ(world.Nominated("high"), "");
  EXPECT_EQ(world.Pending("high").message, "no nodes available to schedule pods");
  world.Set(CpuNode("n1", "4").Object());
  world.Advance(absl::Seconds(5));
  EXPECT_EQ(world.NodeOf("high"), "n1");
}

TEST(Evictions, NeverMeansNever) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("low", "4").NodeName("n0").Object());
  world.Set(CpuPod("polite", "4").Priority(10).PreemptNever().Object());
  world.Run();
  EXPECT_THAT(world.memory().Evictions(), IsEmpty());
  EXPECT_THAT(world.Pending("polite").message,
              HasSubstr("preemption: not eligible due to preemptionPolicy=Never."));
}

}  // namespace
}  // namespace berth
