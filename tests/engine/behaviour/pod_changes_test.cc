// SPDX-License-Identifier: Apache-2.0
// Pods and what they depend on change while they are queued, placed or waiting.
#include <string>

#include "berth/api/scheduling_v1.pb.h"
#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

KubeSchedulerConfiguration Defaults() { return DefaultConfiguration(Builtins()); }

Object PriorityClass(const std::string& name, int32_t value, bool global_default = false,
                     const std::string& policy = "") {
  auto object = std::make_shared<api::PriorityClass>();
  object->mutable_metadata()->set_name(name);
  object->set_value(value);
  object->set_global_default(global_default);
  if (!policy.empty()) object->set_preemption_policy(policy);
  return Object::Of(std::move(object));
}

// A manifest that no API server has seen: it names its class and no priority.
Object PodOfClass(const std::string& name, const std::string& cpu, const std::string& class_name) {
  const Object object = CpuPod(name, cpu).Object();
  auto pod = std::make_shared<api::Pod>(object.As<api::Pod>());
  pod->mutable_spec()->clear_priority();
  pod->mutable_spec()->clear_preemption_policy();
  if (!class_name.empty()) pod->mutable_spec()->set_priority_class_name(class_name);
  return Object::Of(std::move(pod));
}

TEST(PriorityClasses, GiveTheirPriorityAndPolicy) {
  World world(Defaults(), Builtins());
  world.Set(PriorityClass("high", 100));
  world.Set(PriorityClass("polite", 100, false, "Never"));
  world.Set(PriorityClass("usual", 10, true));
  world.Set(CpuNode("n0", "4").Object());
  world.Set(PodOfClass("low", "4", ""));  // the global default: 10
  world.Run();
  EXPECT_EQ(world.NodeOf("low"), "n0");
  world.Set(PodOfClass("same", "4", ""));
  world.Set(PodOfClass("polite", "4", "polite"));
  world.Run();
  EXPECT_THAT(world.memory().Evictions(), IsEmpty());
  world.Set(PodOfClass("high", "4", "high"));
  world.Run();
  EXPECT_THAT(world.memory().Evictions(), ElementsAre("default/low"));
  world.Advance(absl::Seconds(31));
  EXPECT_EQ(world.NodeOf("high"), "n0");
  world.Set(PodOfClass("system", "4", "system-node-critical"));
  world.Run();
  world.Advance(absl::Seconds(31));
  EXPECT_EQ(world.NodeOf("system"), "n0");
}

TEST(PriorityClasses, ThatAreGoneLeaveTheirPodsWhatTheyHad) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("low", "4").NodeName("n0").Priority(1).Object());
  world.Set(PriorityClass("high", 100));
  world.Set(PodOfClass("high", "8", "high"));
  world.memory().Delete(Kind::kPriorityClass, "high");
  world.Set(PodOfClass("late", "4", "high"));  // of a class that nobody knows: priority 0
  world.Run();
  EXPECT_THAT(world.memory().Evictions(), IsEmpty());
  world.Set(PodOfClass("high", "4", "high"));  // changed by somebody who leaves out its priority
  world.Advance(absl::Seconds(2));
  EXPECT_THAT(world.memory().Evictions(), ElementsAre("default/low"));
  world.Advance(absl::Seconds(40));
  EXPECT_EQ(world.NodeOf("high"), "n0");
}

TEST(PodChanges, ALowerRequestRequeuesThePod) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("p", "8").Object());
  world.Run();
  EXPECT_EQ(world.NodeOf("p"), "");
  world.Set(CpuPod("p", "2").Object());
  world.Advance(absl::Seconds(2));
  EXPECT_EQ(world.NodeOf("p"), "n0");
}

TEST(PodChanges, ARunningPodThatIsResizedGivesRoom) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("running", "4").NodeName("n0").Object());
  world.Set(CpuPod("p", "2").Object());
  world.Run();
  EXPECT_EQ(world.NodeOf("p"), "");
  world.Set(CpuPod("running", "2").NodeName("n0").Object());
  world.Advance(absl::Seconds(2));
  EXPECT_EQ(world.NodeOf("p"), "n0");
}

TEST(PodChanges, APodThatIsBeingBoundCountsAsItIsNow) {
  World world(Defaults(), Builtins(), World::Calls::kStepped);
  world.Set(CpuNode("n0", "4").Label("kubernetes.io/hostname", "n0").Object());
  world.Set(CpuPod("slow", "3").Label("app", "db").Object());
  const auto alone = [](const std::string& name) {
    return CpuPod(name, "1").PodAntiAffinity("kubernetes.io/hostname", {{"app", "db"}});
  };
  world.Run();
  world.Set(alone("p").Object());
  world.Set(CpuPod("q", "2").Object());
  world.Run();
  EXPECT_EQ(world.Pending("slow").state, UnboundPod::State::kBinding);
  EXPECT_EQ(world.Pending("p").state, UnboundPod::State::kUnschedulable);
  EXPECT_EQ(world.Pending("q").state, UnboundPod::State::kUnschedulable);

  world.Set(CpuPod("slow", "1").Label("app", "web").Object());
  world.clock.Advance(absl::Seconds(2));
  world.Run();
  EXPECT_EQ(world.Pending("p").state, UnboundPod::State::kBinding);
  EXPECT_EQ(world.Pending("q").state, UnboundPod::State::kBinding);
  world.Settle();
  EXPECT_EQ(world.NodeOf("slow"), "n0");
  EXPECT_EQ(world.NodeOf("p"), "n0");
  EXPECT_EQ(world.NodeOf("q"), "n0");
}

TEST(PodChanges, WhatAWatchSkippedWhileThePodWasBeingBoundIsNotLost) {
  World world(Defaults(), Builtins(), World::Calls::kStepped);
  world.Set(CpuNode("n0", "4").Label("kubernetes.io/hostname", "n0").Object());
  world.Set(CpuPod("slow", "3").Label("app", "db").Object());
  world.Run();
  world.Set(CpuPod("p", "1").PodAntiAffinity("kubernetes.io/hostname", {{"app", "db"}}).Object());
  world.Run();
  EXPECT_EQ(world.Pending("p").state, UnboundPod::State::kUnschedulable);
  world.Set(CpuPod("slow", "3").Label("app", "web").NodeName("n0").Object());
  world.clock.Advance(absl::Seconds(2));
  world.Settle();
  EXPECT_EQ(world.NodeOf("p"), "n0");
}

TEST(PodChanges, TheLastGateLetsThePodIn) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("p", "1").SchedulingGate("a").SchedulingGate("b").Object());
  world.Run();
  EXPECT_EQ(world.Pending("p").message, "waiting for scheduling gates: [a b]");
  EXPECT_EQ(world.Condition("p", "PodScheduled").status(), "False");
  EXPECT_EQ(world.Condition("p", "PodScheduled").reason(), "SchedulingGated");
  world.Set(CpuPod("p", "1").SchedulingGate("b").Object());
  world.Run();
  EXPECT_EQ(world.Pending("p").state, UnboundPod::State::kGated);
  world.Set(CpuPod("p", "1").Object());
  world.Run();
  EXPECT_EQ(world.NodeOf("p"), "n0");
}

TEST(PodChanges, AFinishedPodGivesItsRoomBack) {
  World world(Defaults(), Builtins());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("running", "4").NodeName("n0").Object());
  world.Set(CpuPod("p", "4").Object());
  world.Run();
  EXPECT_EQ(world.NodeOf("p"), "");
  world.memory().Finish("default/running");
  world.Advance(absl::Seconds(2));
  EXPECT_EQ(world.NodeOf("p"), "n0");
}

// Hands the events of a stream to the scheduler as they are, losses included.
class ScriptedStream final : public Cluster {
 public:
  absl::Status Watch(WatchSink& sink, const std::vector<Kind>&) override {
    sink_ = &sink;
    sink.Deliver({{WatchEvent::Type::kSynced, std::nullopt}});
    return absl::OkStatus();
  }
  void StopWatching() override { sink_ = nullptr; }
  absl::Status Bind(const PodBinding& binding) override {
    bound.push_back(absl::StrCat(binding.pod->uid(), " to ", binding.node_name));
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> AssignedNode(const Identity&) override { return ""; }
  absl::Status Evict(const Identity&, const std::string&) override { return absl::OkStatus(); }
  absl::Status PatchPodStatus(const PodStatusPatch&) override { return absl::OkStatus(); }
  void Record(RecordedEvent) override {}

  void Set(Object object) { sink_->Deliver({{WatchEvent::Type::kSet, std::move(object)}}); }
  WatchSink& sink() { return *sink_; }

  std::vector<std::string> bound;

 private:
  WatchSink* sink_ = nullptr;
};

TEST(PodChanges, APodCreatedAnewUnderItsNameReplacesTheOldOne) {
  struct Case {
    const char* name;
    testing::PodBuilder old;
    bool bound_first;
  };
  const Case cases[] = {
      {"queued", CpuPod("p", "8").Uid("old"), false},
      {"gated", CpuPod("p", "4").Uid("old").SchedulingGate("g"), false},
      {"bound by us, not confirmed", CpuPod("p", "4").Uid("old"), true},
      {"running", CpuPod("p", "4").Uid("old").NodeName("n0"), false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    SimulatedClock clock(absl::UnixEpoch());
    InlineExecutor executor;
    ScriptedStream cluster;
    auto scheduler = Scheduler::Create({.configuration = Defaults(),
                                        .registry = &Builtins(),
                                        .cluster = &cluster,
                                        .clock = &clock,
                                        .executor = &executor});
    ASSERT_TRUE(scheduler.ok());
    cluster.Set(CpuNode("n0", "4").Object());
    cluster.Set(testing::PodBuilder(c.old).Object());
    (*scheduler)->RunUntilIdle();
    EXPECT_EQ(!cluster.bound.empty(), c.bound_first);
    cluster.bound.clear();
    // Nobody tells of the end of the old one.
    cluster.Set(CpuPod("p", "4").Uid("new").Object());
    clock.Advance(absl::Seconds(5));
    (*scheduler)->RunUntilIdle();
    EXPECT_THAT(cluster.bound, ElementsAre("new to n0"));
    EXPECT_THAT((*scheduler)->Unbound(), IsEmpty());
  }
}

// One by one or several at once, more than are taken in without an attempt.
TEST(PodChanges, EventsCountInTheOrderInWhichTheyWereDelivered) {
  SimulatedClock clock(absl::UnixEpoch());
  InlineExecutor executor;
  ScriptedStream cluster;
  auto scheduler = Scheduler::Create({.configuration = Defaults(),
                                      .registry = &Builtins(),
                                      .cluster = &cluster,
                                      .clock = &clock,
                                      .executor = &executor});
  ASSERT_TRUE(scheduler.ok());
  const Object small = CpuPod("p", "1").Uid("p").Object();
  const Object large = CpuPod("p", "8").Uid("p").Object();
  for (int i = 0; i < 100; ++i) {
    cluster.sink().DeliverOne({WatchEvent::Type::kSet, small});
    cluster.sink().Deliver({{WatchEvent::Type::kSet, large}, {WatchEvent::Type::kDeleted, large}});
    cluster.sink().DeliverOne({WatchEvent::Type::kSet, large});
  }
  cluster.sink().DeliverOne({WatchEvent::Type::kSet, CpuNode("n0", "4").Object()});
  (*scheduler)->RunUntilIdle();
  EXPECT_THAT(cluster.bound, IsEmpty());
  cluster.sink().Deliver({{WatchEvent::Type::kSet, large}, {WatchEvent::Type::kSet, small}});
  clock.Advance(absl::Seconds(60));
  (*scheduler)->RunUntilIdle();
  EXPECT_THAT(cluster.bound, ElementsAre("p to n0"));
}

}  // namespace
}  // namespace berth
