// SPDX-License-Identifier: Apache-2.0
// What plugins put off or post: timers and calls from other threads, and counters.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/engine/scripted_plugin.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class PutOff : public ::testing::Test {
 protected:
  PutOff() : plugins_({"A"}), world_(plugins_.configuration(), plugins_.registry()) {
    world_.Set(CpuNode("n0", "4").Object());
    world_.Run();
  }

  Handle& handle() { return *plugins_["A"].handle; }
  absl::Time In(int seconds) { return world_.clock.Now() + absl::Seconds(seconds); }
  std::function<void()> Note(const std::string& what) {
    return [this, what] { done_.push_back(what); };
  }

  ScriptedPlugins plugins_;
  World world_;
  std::vector<std::string> done_;
};

TEST_F(PutOff, TimersRunAtTheirTimeInOrder) {
  handle().RunAt("A", In(10), Note("ten"));
  handle().RunAt("A", In(5), Note("five"));
  handle().RunAt("A", In(5), Note("five too"));
  handle().RunAt("A", In(-5), Note("past"));
  EXPECT_THAT(done_, IsEmpty()) << "never at once";
  world_.Run();
  EXPECT_THAT(done_, ElementsAre("past"));
  EXPECT_EQ(world_.scheduler->NextDue(), In(5));
  EXPECT_EQ(world_.scheduler->NextTimer(), In(5));
  EXPECT_EQ(world_.scheduler->NextRetry(), absl::InfiniteFuture());
  world_.Advance(absl::Seconds(20));
  EXPECT_THAT(done_, ElementsAre("past", "five", "five too", "ten"));
  EXPECT_EQ(world_.scheduler->NextDue(), absl::InfiniteFuture());
  EXPECT_EQ(world_.scheduler->counters().deferred_calls, 4);
}

TEST_F(PutOff, ATimerThatWasCancelledDoesNotRun) {
  const TimerId one = handle().RunAt("A", In(1), Note("one"));
  TimerId two = TimerId::kNone;
  handle().RunAt("A", In(1), [&] { EXPECT_TRUE(handle().CancelTimer(two)); });
  two = handle().RunAt("A", In(1), Note("two"));
  EXPECT_TRUE(handle().CancelTimer(one));
  EXPECT_FALSE(handle().CancelTimer(one));
  EXPECT_FALSE(handle().CancelTimer(TimerId::kNone));
  world_.Advance(absl::Seconds(2));
  EXPECT_THAT(done_, IsEmpty());
  EXPECT_FALSE(handle().CancelTimer(two));
}

TEST_F(PutOff, ATimerThatSetsItselfAgainHoldsUpNothing) {
  std::function<void()> again = [&] { handle().RunAt("A", world_.clock.Now(), again); };
  again();
  world_.Set(CpuPod("p", "1").Object());
  EXPECT_TRUE(world_.scheduler->RunSteps(100)) << "there is always more";
  EXPECT_EQ(world_.NodeOf("p"), "n0");
}

TEST_F(PutOff, ATimerEndsAHold) {
  plugins_["A"].permit = [&](CycleState&, const PodInfo& pod, absl::Duration& timeout) {
    handle().RunAt("A", In(30), [this, uid = pod.uid()] {
      if (WaitingPod* waiting = handle().FindWaitingPod(uid)) waiting->Allow("A");
    });
    timeout = absl::Seconds(60);
    return Status::Wait();
  };
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  EXPECT_EQ(world_.NodeOf("p"), "");
  world_.Advance(absl::Seconds(30));
  EXPECT_EQ(world_.NodeOf("p"), "n0");
}

TEST_F(PutOff, WhatIsPostedRunsLaterInOrder) {
  handle().Post("A", [&] {
    done_.push_back("first");
    handle().Post("A", Note("third"));
  });
  handle().Post("A", Note("second"));
  EXPECT_THAT(done_, IsEmpty());
  world_.Run();
  EXPECT_THAT(done_, ElementsAre("first", "second", "third"));
}

// The pod does not wait yet while Permit is being called.
TEST_F(PutOff, AnAllowanceThatIsPostedInPermitIsNotLost) {
  plugins_["A"].permit = [&](CycleState&, const PodInfo& pod, absl::Duration& timeout) {
    if (pod.name() == "good") handle().PostAllow("A", pod.uid());
    if (pod.name() == "bad") handle().PostReject("A", pod.uid(), "no licence");
    timeout = absl::Seconds(60);
    return Status::Wait();
  };
  for (const char* name : {"good", "bad"}) world_.Set(CpuPod(name, "1").Object());
  world_.Run();
  EXPECT_EQ(world_.NodeOf("good"), "n0");
  EXPECT_EQ(world_.Pending("bad").plugin, "A");
  EXPECT_EQ(world_.Pending("bad").message, "0/1 nodes are available: 1 no licence.");
  handle().PostAllow("A", "nobody");
  world_.Run();
}

TEST_F(PutOff, PostActivateRequeuesAPod) {
  bool open = false;
  std::shared_ptr<const PodInfo> sleeper;
  plugins_["A"].pre_filter = [&](const PodInfo& pod) {
    sleeper = PodInfo::Create(pod.packed()).value();
    return open ? Status::Success() : Status::Unschedulable("closed");
  };
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  EXPECT_EQ(world_.Pending("p").state, UnboundPod::State::kUnschedulable);
  open = true;
  handle().PostActivate("A", {sleeper});
  world_.Run();
  EXPECT_EQ(world_.NodeOf("p"), "n0");
}

TEST_F(PutOff, WhatItThrowsIsThePluginsFault) {
  handle().Post("A", [] { throw std::runtime_error("boom"); });
  handle().RunAt("A", In(1), [] { throw 1; });
  world_.Advance(absl::Seconds(1));
  const SchedulerCounters counters = world_.scheduler->counters();
  ASSERT_EQ(counters.troubles.size(), 2u);
  EXPECT_EQ(counters.troubles[0].point, "Post");
  EXPECT_EQ(counters.troubles[0].first_fault, "threw: boom");
  EXPECT_EQ(counters.troubles[1].point, "Timer");
  EXPECT_EQ(counters.troubles[1].first_fault, "threw: not a std::exception");
}

TEST_F(PutOff, AtTheEndItIsDroppedWithoutBeingRun) {
  const auto owned = std::make_shared<int>(1);
  handle().Post("A", [this, owned] { done_.push_back("posted"); });
  handle().RunAt("A", In(0), [this, owned] { done_.push_back("timer"); });
  world_.scheduler.reset();
  EXPECT_THAT(done_, IsEmpty());
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(PutOff, CountersAreSharedByName) {
  Counter& refused = handle().CounterOf("A/refused");
  refused.Add();
  handle().CounterOf("A/refused").Add(2);
  handle().CounterOf("A/held");
  EXPECT_EQ(refused.value(), 3);
  EXPECT_THAT(world_.scheduler->PluginCounters(),
              UnorderedElementsAre(Pair("A/refused", 3), Pair("A/held", 0)));
}

}  // namespace
}  // namespace berth
