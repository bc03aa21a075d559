// SPDX-License-Identifier: Apache-2.0
// Plugins that would keep a scheduler busy for ever: a simulation ends all the same, and says why.
#include <memory>
#include <string>

#include "berth/simulation.h"
#include "gmock/gmock.h"
#include "tests/engine/scripted_plugin.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Endless : public ::testing::Test {
 protected:
  Endless() : plugins_({"A"}) {
    auto created = Simulation::Create(
        {.configuration = plugins_.configuration(), .registry = &plugins_.registry()});
    EXPECT_TRUE(created.ok()) << created.status();
    simulation_ = *std::move(created);
    simulation_->cluster().Set(CpuNode("n0", "4").Object());
  }

  Script& script() { return plugins_["A"]; }
  void Submit(const std::string& name) {
    simulation_->cluster().Set(CpuPod(name, "1").Uid(name).Object());
  }
  std::string NodeOf(const std::string& pod) {
    return std::static_pointer_cast<const api::Pod>(
               simulation_->cluster().Find(Kind::kPod, absl::StrCat("default/", pod)))
        ->spec()
        .node_name();
  }
  int64_t attempts() { return simulation_->scheduler().counters().attempts; }

  ScriptedPlugins plugins_;
  std::unique_ptr<Simulation> simulation_;
};

TEST_F(Endless, AWaitWithoutATimeoutIsTriedNoMoreOftenThanAnyError) {
  script().permit = [](auto&...) { return Status::Wait(); };
  Submit("p");
  simulation_->RunUntilQuiet();
  EXPECT_LT(attempts(), 200) << "15 minutes, mostly 10 s apart";
  EXPECT_EQ(NodeOf("p"), "");
  EXPECT_THAT(simulation_->gave_up(), IsEmpty());
}

TEST_F(Endless, PodsThatRejectEachOtherWaitTheirBackoffOut) {
  script().permit = [this](CycleState&, const PodInfo&, absl::Duration& timeout) {
    script().handle->ForEachWaitingPod(
        [](WaitingPod& waiting) { waiting.Reject("A", "somebody else came"); });
    timeout = absl::Minutes(1);
    return Status::Wait();
  };
  Submit("p");
  Submit("q");
  simulation_->RunUntilQuiet();
  EXPECT_LT(attempts(), 2000);
  EXPECT_THAT(simulation_->gave_up(), IsEmpty());
}

TEST_F(Endless, APodThatIsActivatedWheneverItWasTried) {
  script().pre_filter = [this](const PodInfo& pod) {
    const std::shared_ptr<const PodInfo> same = PodInfo::Create(pod.packed()).value();
    script().handle->Activate({&same, 1});
    return Status::Unschedulable("not yet");
  };
  Submit("p");
  simulation_->RunUntilQuiet();
  EXPECT_THAT(simulation_->gave_up(),
              HasSubstr("gave up: plugins keep the scheduler busy without end"));
  EXPECT_THAT(simulation_->gave_up(), HasSubstr("default/p: A: "));
  EXPECT_TRUE(simulation_->stopped());
}

TEST_F(Endless, TheSameWhileTimeIsAdvanced) {
  script().pre_filter = [this](const PodInfo& pod) {
    const std::shared_ptr<const PodInfo> same = PodInfo::Create(pod.packed()).value();
    script().handle->Activate({&same, 1});
    return Status::Unschedulable("not yet");
  };
  Submit("p");
  simulation_->Advance(absl::Hours(1));
  EXPECT_THAT(simulation_->gave_up(), HasSubstr("without end"));
}

TEST_F(Endless, TimersThatFollowEachOtherAtOnce) {
  Handle& handle = *script().handle;
  std::function<void()> again = [&] { handle.RunAt("A", handle.clock().Now(), again); };
  again();
  Submit("p");
  simulation_->RunUntilQuiet();
  EXPECT_THAT(simulation_->gave_up(), HasSubstr("without end"));
  EXPECT_EQ(NodeOf("p"), "n0");
}

TEST_F(Endless, PostedCallsThatFollowEachOtherAtOnce) {
  Handle& handle = *script().handle;
  std::function<void()> again = [&] { handle.Post("A", again); };
  again();
  Submit("p");
  simulation_->RunUntilQuiet();
  EXPECT_THAT(simulation_->gave_up(), HasSubstr("without end"));
  EXPECT_EQ(NodeOf("p"), "n0");
}

// A timer that was set when something happened is waited for, however late it is. One that sets
// itself again for ever is not.
TEST_F(Endless, TimersAreWaitedFor) {
  bool open = false;
  std::shared_ptr<const PodInfo> sleeper;
  script().pre_filter = [&](const PodInfo& pod) {
    sleeper = PodInfo::Create(pod.packed()).value();
    return open ? Status::Success() : Status::Unschedulable("closed");
  };
  Handle& handle = *script().handle;
  handle.RunAt("A", simulation_->now() + absl::Hours(5), [&] {
    open = true;
    handle.Activate({&sleeper, 1});
  });
  int ticks = 0;
  std::function<void()> tick = [&] {
    ++ticks;
    handle.RunAt("A", handle.clock().Now() + absl::Minutes(10), tick);
  };
  tick();
  Submit("p");
  simulation_->RunUntilQuiet();
  EXPECT_EQ(NodeOf("p"), "n0");
  EXPECT_LT(ticks, 40);
  EXPECT_THAT(simulation_->gave_up(), IsEmpty());
}

}  // namespace
}  // namespace berth
