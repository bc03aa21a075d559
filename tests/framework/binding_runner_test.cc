// SPDX-License-Identifier: Apache-2.0
// From Reserve to PostBind: when they stop, what PreBindPreFlight skips, who is blamed.
#include <stdexcept>
#include <thread>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;

using BindingRunnerTest = RunnerTest;

TEST_F(BindingRunnerTest, ReserveStopsAtTheFirstFailureAndUnreserveRunsBackwards) {
  for (const char* name : {"A", "B", "C"}) Add<FakeReserve>(name);
  const auto framework = Build("multiPoint: A B C");
  EXPECT_TRUE(framework->binding_points().RunReserve(state_, *pod_, "n0").ok());
  script("B").reserve = [] { return Status::Unschedulable("taken"); };
  log_.clear();
  EXPECT_EQ(framework->binding_points().RunReserve(state_, *pod_, "n0").ToString(),
            "Unschedulable by B: taken");
  script("B").unreserve = [] { throw std::runtime_error("boom"); };
  framework->binding_points().RunUnreserve(state_, *pod_, "n0");
  EXPECT_THAT(log_,
              ElementsAre("A.Reserve", "B.Reserve", "C.Unreserve", "B.Unreserve", "A.Unreserve"));
  EXPECT_EQ(framework->fault_log().faults(), 1);

  const struct {
    Status answer;
    absl::string_view want;
  } cases[] = {
      {Status::Error("broken"), "Error by B: running Reserve plugin \"B\": broken"},
      {Status::Pending("later"), "Pending by B: later"},
      {Status::Skip(),
       "Error by B: running Reserve plugin \"B\": returned \"Skip\", which is unsupported. It is "
       "supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Pending, or Error "
       "status"},
  };
  for (const auto& c : cases) {
    script("B").reserve = [&c] { return c.answer; };
    EXPECT_EQ(framework->binding_points().RunReserve(state_, *pod_, "n0").ToString(), c.want);
  }
  EXPECT_EQ(framework->fault_log().faults(), 2);
}

TEST_F(BindingRunnerTest, Permit) {
  const Status ok, wait = Status::Wait();
  const absl::Duration minute = absl::Minutes(1);
  const struct {
    absl::string_view what;
    Status a, b;
    absl::Duration a_timeout, b_timeout;
    std::string status, waits;
    int ran;
  } cases[] = {
      {"allowed", ok, ok, minute, minute, "Success", "", 2},
      {"one waits", wait, ok, minute, minute,
       "Wait: one or more plugins asked to wait and no plugin rejected pod \"p\"", "A 1m", 2},
      {"both wait", wait, wait, minute, 2 * minute,
       "Wait: one or more plugins asked to wait and no plugin rejected pod \"p\"", "A 1m,B 2m", 2},
      {"waits are capped", wait, wait, absl::Minutes(16), absl::InfiniteDuration(),
       "Wait: one or more plugins asked to wait and no plugin rejected pod \"p\"", "A 15m,B 15m",
       2},
      {"a rejection returns at once", Status::Unschedulable("no"), wait, minute, minute,
       "Unschedulable by A: no", "", 1},
      {"a rejection after a wait", wait, Status::UnschedulableAndUnresolvable("no"), minute, minute,
       "UnschedulableAndUnresolvable by B: no", "", 2},
      {"an error returns at once", Status::Error("broken"), ok, minute, minute,
       "Error by A: running Permit plugin \"A\": broken", "", 1},
      {"Skip is an error", Status::Skip(), ok, minute, minute,
       "Error by A: running Permit plugin \"A\": returned \"Skip\", which is unsupported. It is "
       "supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Wait, Pending, or "
       "Error status",
       "", 1},
      {"a wait without a timeout is an error", ok, wait, minute, absl::ZeroDuration(),
       "Error by B: running Permit plugin \"B\": returned \"Wait\" with a timeout of 0s; it must "
       "be "
       "positive",
       "", 2},
      {"and so is one of less", wait, ok, -minute, minute,
       "Error by A: running Permit plugin \"A\": returned \"Wait\" with a timeout of -1m0s; it "
       "must "
       "be positive",
       "", 1},
  };
  Add<FakePermit>("A");
  Add<FakePermit>("B");
  const auto framework = Build("multiPoint: A B");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    log_.clear();
    script("A").permit = [&c] { return c.a; };
    script("A").permit_timeout = c.a_timeout;
    script("B").permit = [&c] { return c.b; };
    script("B").permit_timeout = c.b_timeout;
    const PermitOutcome got = framework->binding_points().RunPermit(state_, *pod_, "n0");
    EXPECT_EQ(got.status.ToString(), c.status);
    EXPECT_EQ(absl::StrJoin(got.waits, ",",
                            [](std::string* out, const PermitOutcome::Wait& wait) {
                              absl::StrAppend(out, wait.plugin.view(), " ",
                                              absl::FormatDuration(wait.timeout));
                            }),
              c.waits);
    EXPECT_EQ(log_.size(), static_cast<size_t>(c.ran));
  }
}

TEST_F(BindingRunnerTest, PreBindPreFlight) {
  const Status ok, skip = Status::Skip();
  const struct {
    absl::string_view what;
    Status a, b;
    std::string status, pre_bind;
  } cases[] = {
      {"all work", ok, ok, "Success", "A.PreBind,B.PreBind"},
      {"one skips", skip, ok, "Success", "B.PreBind"},
      {"the other skips", ok, skip, "Success", "A.PreBind"},
      {"all skip", skip, skip, "Skip", ""},
  };
  Add<FakePreBind>("A");
  Add<FakePreBind>("B");
  const auto framework = Build("multiPoint: A B");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    script("A").pre_bind_pre_flight = [&c] { return c.a; };
    script("B").pre_bind_pre_flight = [&c] { return c.b; };
    EXPECT_EQ(framework->binding_points().RunPreBindPreFlight(state_, *pod_, "n0").ToString(),
              c.status);
    log_.clear();
    EXPECT_TRUE(framework->binding_points().RunPreBind(state_, *pod_, "n0").ok());
    EXPECT_EQ(absl::StrJoin(log_, ","), c.pre_bind);
  }
  script("A").pre_bind_pre_flight = [] { return Status::Error("broken"); };
  EXPECT_EQ(framework->binding_points().RunPreBindPreFlight(state_, *pod_, "n0").ToString(),
            "Error by A: running PreBindPreFlight \"A\": broken");
  script("A").pre_bind_pre_flight = [] { return Status::Unschedulable("no"); };
  EXPECT_EQ(
      framework->binding_points().RunPreBindPreFlight(state_, *pod_, "n0").ToString(),
      "Error by A: PreBindPreFlight A returned \"Unschedulable\", which is unsupported. It is "
      "supposed to return Success, Skip, or Error status");
  EXPECT_EQ(Build("")->binding_points().RunPreBindPreFlight(state_, *pod_, "n0").ToString(),
            "Skip");
}

TEST_F(BindingRunnerTest, APreBindThatWaitsMustBePolled) {
  class Plugin final : public PreBindPlugin {
   public:
    Status PreBind(CycleState&, const PodInfo&, absl::string_view) override {
      return Status::Wait();
    }
  };
  EXPECT_EQ(Plugin().PollPreBind(state_, *pod_, "n0").ToString(),
            "Error: PreBind waits, but the plugin has no PollPreBind");
}

TEST_F(BindingRunnerTest, PreBindGoesOnWhereItWaits) {
  for (const char* plugin : {"A", "B", "C"}) Add<FakePreBind>(plugin);
  const auto framework = Build("multiPoint: A B C");
  const BindingRunner& runner = framework->binding_points();
  script("B").pre_bind = [] { return Status::Wait(); };
  EXPECT_EQ(runner.RunPreBind(state_, *pod_, "n0").ToString(), "Wait by B");
  script("B").poll_pre_bind = [] { return Status::Wait(); };
  EXPECT_EQ(runner.RunPollPreBind(state_, *pod_, "n0").ToString(), "Wait by B");
  script("B").poll_pre_bind = [] { return Status::Error("broken"); };
  EXPECT_EQ(runner.RunPollPreBind(state_, *pod_, "n0").ToString(),
            "Error by B: running PreBind plugin \"B\": broken");
  script("B").poll_pre_bind = [] { return Status::Skip(); };
  EXPECT_TRUE(runner.RunPollPreBind(state_, *pod_, "n0").IsError());
  script("B").poll_pre_bind = [] { return Status::Success(); };
  EXPECT_TRUE(runner.RunPollPreBind(state_, *pod_, "n0").ok());
  log_.clear();
  EXPECT_TRUE(runner.RunPreBind(state_, *pod_, "n0").ok());
  EXPECT_THAT(log_, ElementsAre("C.PreBind"));
}

TEST_F(BindingRunnerTest, PreBindStopsAtTheFirstFailure) {
  Add<FakePreBind>("A");
  Add<FakePreBind>("B");
  const auto framework = Build("multiPoint: A B");
  script("A").pre_bind = [] { return Status::Unschedulable("no volume"); };
  EXPECT_EQ(framework->binding_points().RunPreBind(state_, *pod_, "n0").ToString(),
            "Unschedulable by A: no volume");
  script("A").pre_bind = [] { return Status::Error("broken"); };
  EXPECT_EQ(framework->binding_points().RunPreBind(state_, *pod_, "n0").ToString(),
            "Error by A: running PreBind plugin \"A\": broken");
  script("A").pre_bind = []() -> Status { throw std::runtime_error("boom"); };
  EXPECT_EQ(framework->binding_points().RunPreBind(state_, *pod_, "n0").ToString(),
            "Error by A: plugin \"A\" threw in PreBind: boom");
  EXPECT_THAT(log_, ElementsAre("A.PreBind", "A.PreBind", "A.PreBind"));
}

TEST_F(BindingRunnerTest, BindUntilOneDoesNotSkip) {
  const Status ok, skip = Status::Skip();
  const struct {
    absl::string_view what;
    Status a, b;
    std::string status;
    int ran;
  } cases[] = {
      {"the first binds", ok, ok, "Success", 1},
      {"the first skips", skip, ok, "Success", 2},
      {"all skip", skip, skip, "Error: all Bind plugins skip pod \"default/p\"", 2},
      {"a rejection", Status::Unschedulable("no"), ok, "Unschedulable by A: no", 1},
      {"an error", Status::Error("conflict"), ok, "Error by A: running Bind plugin \"A\": conflict",
       1},
      {"skip, then an error", skip, Status::Error("conflict"),
       "Error by B: running Bind plugin \"B\": conflict", 2},
      {"Wait", Status::Wait(), ok,
       "Error by A: running Bind plugin \"A\": returned \"Wait\", which is unsupported. It is "
       "supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Skip, Pending, or "
       "Error status",
       1},
  };
  Add<FakeBind>("A");
  Add<FakeBind>("B");
  const auto framework = Build("bind: A B");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    log_.clear();
    script("A").bind = [&c] { return c.a; };
    script("B").bind = [&c] { return c.b; };
    EXPECT_EQ(framework->binding_points().RunBind(state_, *pod_, "n0").ToString(), c.status);
    EXPECT_EQ(log_.size(), static_cast<size_t>(c.ran));
  }
}

TEST_F(BindingRunnerTest, PostBindRunsAll) {
  Add<FakePostBind>("A").post_bind = [] { throw std::runtime_error("boom"); };
  Add<FakePostBind>("B");
  const auto framework = Build("multiPoint: A B");
  framework->binding_points().RunPostBind(state_, *pod_, "n0");
  EXPECT_THAT(log_, ElementsAre("A.PostBind", "B.PostBind"));
  EXPECT_EQ(framework->fault_log().faults(), 1);
}

TEST_F(BindingRunnerTest, FaultsAreCountedFromManyThreads) {
  struct Throws final : Plugin, BindPlugin {
    absl::string_view Name() const override { return "Throws"; }
    Status Bind(CycleState&, const PodInfo&, absl::string_view) override {
      throw std::runtime_error("boom");
    }
  };
  Add({"Throws", [](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
         return std::make_unique<Throws>();
       }});
  const auto framework = Build("bind: Throws");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      CycleState state;
      for (int k = 0; k < 50; ++k) framework->binding_points().RunBind(state, *pod_, "n0");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(framework->fault_log().faults(), 200);
}

}  // namespace
}  // namespace berth::testing
