// SPDX-License-Identifier: Apache-2.0
// A remote Permit that waits, in a simulation: the answer comes in real time.
#include "berth/framework/permit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kThinkingTime = absl::Milliseconds(150);

// Answers after a while: "yes" is allowed, "no" rejected; of others nothing is heard.
class Thoughtful final : public Plugin, public PermitPlugin {
 public:
  explicit Thoughtful(Handle& handle) : handle_(handle) {}
  ~Thoughtful() override {
    for (std::thread& thread : threads_) thread.join();
  }
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs&, Handle& handle) {
    return std::make_unique<Thoughtful>(handle);
  }
  absl::string_view Name() const override { return "Thoughtful"; }
  Status Permit(CycleState&, const PodInfo& pod, absl::string_view,
                absl::Duration& timeout) override {
    timeout = pod.name() == "mute" ? absl::Milliseconds(300) : absl::Minutes(10);
    threads_.emplace_back([this, uid = pod.uid(), name = std::string(pod.name())] {
      absl::SleepFor(kThinkingTime);
      if (name == "yes") handle_.PostAllow(Name(), uid);
      if (name == "no") handle_.PostReject(Name(), uid, "no");
    });
    return Status::Wait();
  }

 private:
  Handle& handle_;
  std::vector<std::thread> threads_;
};

struct PermitStage {
  explicit PermitStage(const std::string& pod) {
    const std::string address = FreshAddress();
    auto started = PluginServer::Start(
        {.registration = WithPlugin("Thoughtful", &Thoughtful::Create)}, {.address = address});
    BERTH_CHECK(started.ok()) << started.status().ToString();
    server = *std::move(started);
    auto made = Simulate(RemoteProfile(address, "deadline: 20s, "),
                         {MakeNode().Name("n").Capacity("cpu", "8").Pods(20).Object(),
                          MakePod().Name(pod).Request("cpu", "1").Object()});
    BERTH_CHECK(made.ok()) << made.status().ToString();
    simulation = *std::move(made);
  }
  std::unique_ptr<PluginServer> server;
  std::unique_ptr<Simulation> simulation;
};

TEST(RemotePermit, IsWaitedForInASimulation) {
  PermitStage stage("yes");
  const absl::Time begin = stage.simulation->now();
  stage.simulation->RunUntilQuiet();
  EXPECT_THAT(stage.simulation->cluster().Bindings(), SizeIs(1));
  const absl::Duration took = stage.simulation->now() - begin;
  EXPECT_GE(took, kThinkingTime * 0.9);
  EXPECT_LT(took, absl::Minutes(9));
}

TEST(RemotePermit, MayRefuseLaterInASimulation) {
  PermitStage stage("no");
  stage.simulation->AdvanceTo(stage.simulation->now() + absl::Milliseconds(20));
  EXPECT_THAT(stage.simulation->scheduler().Unbound(), SizeIs(1));
  const absl::Time end = absl::Now() + absl::Seconds(60);
  std::string message;
  while (message.find("no") == message.npos && absl::Now() < end) {
    stage.simulation->Advance(absl::Milliseconds(20));
    message = stage.simulation->scheduler().Unbound().at(0).message;
  }
  EXPECT_THAT(message, HasSubstr("no"));
  EXPECT_THAT(stage.simulation->cluster().Bindings(), IsEmpty());
}

// The wait ends when its time is over, really and in the simulation.
TEST(RemotePermit, ThatNeverAnswersTimesOut) {
  PermitStage stage("mute");
  const absl::Time begin = absl::Now();
  stage.simulation->Advance(absl::Milliseconds(400));
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(250));
  ASSERT_THAT(stage.simulation->scheduler().Unbound(), SizeIs(1));
  EXPECT_THAT(stage.simulation->scheduler().Unbound()[0].message,
              HasSubstr("rejected due to timeout after waiting"));
}

// An observer may end the wait.
TEST(RemotePermit, CanBeStoppedWhileItIsWaitedFor) {
  PermitStage stage("mute-for-ten-minutes");
  int waits = 0;
  stage.simulation->set_on_wait([&] {
    if (++waits == 3) stage.simulation->Stop();
  });
  stage.simulation->RunUntilQuiet();
  EXPECT_TRUE(stage.simulation->stopped());
  EXPECT_EQ(waits, 3);
}

}  // namespace
}  // namespace berth::testing
