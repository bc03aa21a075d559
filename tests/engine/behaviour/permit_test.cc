// SPDX-License-Identifier: Apache-2.0
// Permit with several plugins and timers, and what can happen to a pod that waits.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/scripted_plugin.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

auto WaitFor(absl::Duration timeout) {
  return [timeout](CycleState&, const PodInfo&, absl::Duration& out) {
    out = timeout;
    return Status::Wait();
  };
}

class Permit : public ::testing::Test {
 protected:
  Permit() : plugins_({"A", "B"}), world_(plugins_.configuration(), plugins_.registry()) {
    world_.Set(CpuNode("n0", "4").Object());
  }

  WaitingPod* Waiting(const std::string& pod) {
    WaitingPod* found = nullptr;
    plugins_["A"].handle->ForEachWaitingPod([&](WaitingPod& waiting) {
      if (waiting.pod().name() == pod) found = &waiting;
    });
    return found;
  }

  ScriptedPlugins plugins_;
  World world_;
};

TEST_F(Permit, TheShortestTimerEndsTheWait) {
  plugins_["A"].permit = WaitFor(absl::Seconds(60));
  plugins_["B"].permit = WaitFor(absl::Seconds(5));
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  const UnboundPod waiting = world_.Pending("p");
  EXPECT_EQ(waiting.state, UnboundPod::State::kWaiting);
  EXPECT_EQ(waiting.waiting.reason, WaitingReason::kWaitingForPermit);
  EXPECT_EQ(waiting.waiting.node, "n0");
  EXPECT_EQ(waiting.waiting.until, world_.clock.Now() + absl::Seconds(5));
  EXPECT_EQ(world_.Nominated("p"), "n0") << "the wait is announced";

  plugins_["A"].permit = [](auto&...) { return Status::Unschedulable("no more"); };
  world_.Advance(absl::Seconds(70));  // both are over: the one that ended first counts
  EXPECT_EQ(world_.Pending("p").state, UnboundPod::State::kBackoff) << "though nobody else waits";
  world_.Advance(absl::Seconds(2));
  EXPECT_EQ(world_.Notes("p", "FailedScheduling").front(),
            "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin B.");
  EXPECT_THAT(plugins_["B"].log,
              ElementsAre("Reserve p", "Unreserve p", "Reserve p", "Unreserve p"));
  EXPECT_EQ(world_.Nominated("p"), "");
}

TEST_F(Permit, ATimeoutMustBePositive) {
  for (const absl::Duration timeout : {absl::ZeroDuration(), -absl::Seconds(1)}) {
    SCOPED_TRACE(timeout);
    const int64_t faults = world_.scheduler->counters().plugin_faults;
    plugins_["A"].permit = WaitFor(timeout);
    world_.Set(CpuPod("p", "1").Object());
    world_.Run();
    const UnboundPod pending = world_.Pending("p");
    EXPECT_EQ(pending.state, UnboundPod::State::kBackoff);
    EXPECT_EQ(pending.waiting.reason, WaitingReason::kPluginError);
    EXPECT_THAT(pending.message,
                ::testing::HasSubstr("running Permit plugin \"A\": returned \"Wait\" with a "
                                     "timeout of "));
    EXPECT_EQ(world_.scheduler->counters().plugin_faults, faults + 1);
    world_.memory().Delete(Kind::kPod, "default/p");
    world_.Run();
  }
}

TEST_F(Permit, AWaitThatIsRejectedIsFollowedByABackoff) {
  plugins_["A"].permit = WaitFor(absl::Seconds(60));
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  Waiting("p")->Reject("A", "not today");
  world_.Run();
  EXPECT_EQ(Waiting("p"), nullptr);
  EXPECT_EQ(world_.Pending("p").state, UnboundPod::State::kBackoff);
  EXPECT_EQ(world_.scheduler->counters().attempts, 1);
  world_.Advance(absl::Seconds(2));
  EXPECT_NE(Waiting("p"), nullptr);
}

TEST_F(Permit, EveryPluginMustAllow) {
  plugins_["A"].permit = WaitFor(absl::Seconds(60));
  plugins_["B"].permit = WaitFor(absl::Seconds(60));
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  ASSERT_NE(Waiting("p"), nullptr);
  EXPECT_THAT(Waiting("p")->pending_plugins(), ElementsAre("A", "B"));
  Waiting("p")->Allow("A");
  world_.Run();
  EXPECT_EQ(world_.NodeOf("p"), "");
  Waiting("p")->Allow("B");
  world_.Run();
  EXPECT_EQ(world_.NodeOf("p"), "n0");
  EXPECT_EQ(world_.Nominated("p"), "");
}

TEST_F(Permit, OneWaitsAndAnotherRejects) {
  plugins_["A"].permit = WaitFor(absl::Seconds(60));
  plugins_["B"].permit = [](auto&...) { return Status::Unschedulable("not today"); };
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  EXPECT_EQ(Waiting("p"), nullptr);
  EXPECT_EQ(world_.Pending("p").plugin, "B");
  EXPECT_EQ(world_.Pending("p").message, "0/1 nodes are available: 1 not today.");
  EXPECT_THAT(plugins_["A"].log, ElementsAre("Reserve p", "Unreserve p"));
}

TEST_F(Permit, ATimeoutIsCutToFifteenMinutes) {
  plugins_["A"].permit = WaitFor(absl::Hours(2));
  PermitHold held;
  world_.scheduler->ObserveAttempts([&](const AttemptRecord& attempt) {
    ASSERT_EQ(attempt.outcomes.size(), 1u);
    ASSERT_EQ(attempt.outcomes[0].holds.size(), 1u);
    held = attempt.outcomes[0].holds[0];
  });
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  EXPECT_EQ(world_.Pending("p").waiting.until, world_.clock.Now() + absl::Minutes(15));
  EXPECT_EQ(held.plugin, "A");
  EXPECT_EQ(held.timeout, absl::Minutes(15));
  EXPECT_EQ(held.asked, absl::Hours(2));
}

TEST_F(Permit, AWaitingPodThatIsDeletedGivesItsPlaceBack) {
  plugins_["A"].permit = WaitFor(absl::Seconds(60));
  world_.Set(CpuPod("p", "4").Object());
  world_.Run();
  plugins_["A"].permit = nullptr;
  world_.Set(CpuPod("q", "4").Object());
  world_.Run();
  EXPECT_EQ(world_.NodeOf("q"), "");
  world_.memory().Delete(Kind::kPod, "default/p");
  world_.Advance(absl::Seconds(2));
  EXPECT_EQ(world_.NodeOf("q"), "n0");
  EXPECT_THAT(plugins_["A"].log, Contains("Unreserve p"));
}

TEST_F(Permit, AWaitingPodThatBeginsToLeaveGivesItsPlaceBack) {
  plugins_["A"].permit = WaitFor(absl::Seconds(60));
  world_.Set(CpuPod("p", "4").Object());
  world_.Run();
  world_.Set(CpuPod("p", "4").Deleted(world_.clock.Now()).Object());
  world_.Run();
  EXPECT_THAT(plugins_["A"].log, ElementsAre("Reserve p", "Unreserve p"));
  EXPECT_THAT(world_.scheduler->Unbound(), IsEmpty()) << "it is not tried again";
}

TEST_F(Permit, AWaitingPodThatSomebodyElseBindsIsLetGo) {
  plugins_["A"].permit = WaitFor(absl::Seconds(60));
  world_.Set(CpuNode("n1", "4").Object());
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  ASSERT_NE(Waiting("p"), nullptr);
  const std::string other(Waiting("p")->node_name() == "n0" ? "n1" : "n0");
  world_.Set(CpuPod("p", "1").NodeName(other).Object());
  world_.Run();
  EXPECT_THAT(plugins_["A"].log, ElementsAre("Reserve p", "Unreserve p"));
  EXPECT_EQ(world_.NodeOf("p"), other);
  EXPECT_THAT(world_.scheduler->Unbound(), IsEmpty());
}

TEST_F(Permit, AWaitingVictimIsRejectedNotEvicted) {
  plugins_["A"].permit = [](CycleState&, const PodInfo& pod, absl::Duration& timeout) {
    timeout = absl::Seconds(60);
    return pod.priority() > 0 ? Status::Success() : Status::Wait();
  };
  world_.Set(CpuPod("low", "4").Object());
  world_.Run();
  ASSERT_NE(Waiting("low"), nullptr);
  world_.Set(CpuPod("high", "4").Uid("u-high").Priority(10).Object());
  world_.Advance(absl::Seconds(2));
  EXPECT_EQ(world_.NodeOf("high"), "n0");
  EXPECT_THAT(world_.memory().Evictions(), IsEmpty());
  EXPECT_EQ(world_.scheduler->counters().evictions, 0);
  EXPECT_THAT(world_.Notes("low", "Preempted"), ElementsAre("Preempted by pod u-high on node n0"));
  EXPECT_THAT(world_.Notes("low", "FailedScheduling"),
              Contains("0/1 nodes are available: 1 preempted."));
}

TEST_F(Permit, PodsToActivateAreTriedWhenTheCycleOrTheBindingSucceeds) {
  // `asleep` is rejected by a plugin that no event ever wakes it for.
  bool asleep = true;
  plugins_["B"].pre_filter = [&](const PodInfo& pod) {
    return asleep && pod.name() == "sleeper" ? Status::Unschedulable("asleep") : Status::Success();
  };
  std::shared_ptr<const PodInfo> sleeper;
  world_.Set(CpuPod("sleeper", "1").Object());
  world_.Run();
  EXPECT_EQ(world_.Pending("sleeper").state, UnboundPod::State::kUnschedulable);

  sleeper = PodInfo::Create(world_.memory().List(Kind::kPod).front().Share<api::Pod>()).value();

  // A cycle that fails activates nobody.
  plugins_["A"].permit = [&](CycleState& state, const PodInfo&, absl::Duration&) {
    PodsToActivate::In(state).pods.push_back(sleeper);
    return Status::Unschedulable("no");
  };
  asleep = false;
  world_.Set(CpuPod("waker", "1").Object());
  world_.Run();
  EXPECT_EQ(world_.NodeOf("sleeper"), "");
  world_.memory().Delete(Kind::kPod, "default/waker");
  world_.Run();
  EXPECT_EQ(world_.NodeOf("sleeper"), "");

  // One that succeeds does, and so does what PostBind adds.
  plugins_["A"].permit = nullptr;
  plugins_["A"].post_bind = [&](CycleState& state, const PodInfo& pod) {
    if (pod.name() != "sleeper") PodsToActivate::In(state).pods.push_back(sleeper);
  };
  world_.Set(CpuPod("binder", "1").Object());
  world_.Run();
  EXPECT_EQ(world_.NodeOf("binder"), "n0");
  EXPECT_EQ(world_.NodeOf("sleeper"), "n0");
}

TEST(PermitOfAGroup, WhatWaitsIsNotBound) {
  ScriptedPlugins plugins({"A"});
  const LoadedConfiguration loaded = ParseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}, {name: A}], disabled: [{name: PrioritySort}]}
)",
                                                        "f", plugins.registry());
  ASSERT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  World world(loaded.configuration, plugins.registry());
  plugins["A"].permit = WaitFor(absl::Seconds(60));
  world.Set(CpuNode("n0", "3").Object());
  world.Set(MakeGroup("g", 3));
  for (const char* name : {"a", "b", "c", "d"}) {
    world.Set(CpuPod(name, "1").Label("scheduling.x-k8s.io/pod-group", "g").Object());
  }
  world.Run();
  const auto counts = [&] {
    const std::vector<PodGroupState> groups = world.scheduler->PodGroups();
    EXPECT_EQ(groups.size(), 1u);
    return std::vector<int>{groups[0].bound, groups[0].waiting_pods, groups[0].pending};
  };
  EXPECT_THAT(counts(), ElementsAre(0, 3, 1));
  plugins["A"].handle->ForEachWaitingPod([](WaitingPod& waiting) { waiting.Allow("A"); });
  world.Run();
  EXPECT_THAT(counts(), ElementsAre(3, 0, 1));
}

}  // namespace
}  // namespace berth
