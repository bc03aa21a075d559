// SPDX-License-Identifier: Apache-2.0
// The points of a pod that has a node, served remotely: Reserve to PostBind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "berth/framework/bind.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/reserve.h"
#include "berth/mutex.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// What the plugin was called for; it holds each pod in Permit until it is allowed from another
// thread.
class Steps final : public Plugin,
                    public ReservePlugin,
                    public PermitPlugin,
                    public PreBindPlugin,
                    public PostBindPlugin {
 public:
  explicit Steps(Handle& handle) : handle_(handle) {}
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs&, Handle& handle) {
    return std::make_unique<Steps>(handle);
  }
  absl::string_view Name() const override { return "Steps"; }
  Status Reserve(CycleState&, const PodInfo& pod, absl::string_view node) override {
    Note("Reserve", pod, node);
    return pod.name() == "refused" ? Status::Unschedulable("it is refused") : Status::Success();
  }
  void Unreserve(CycleState&, const PodInfo& pod, absl::string_view node) override {
    Note("Unreserve", pod, node);
  }
  Status Permit(CycleState&, const PodInfo& pod, absl::string_view node,
                absl::Duration& timeout) override {
    Note("Permit", pod, node);
    timeout = absl::Minutes(10);
    handle_.PostAllow(Name(), pod.uid());
    return Status::Wait();
  }
  Status PreBind(CycleState&, const PodInfo& pod, absl::string_view node) override {
    Note("PreBind", pod, node);
    return Status::Success();
  }
  void PostBind(CycleState&, const PodInfo& pod, absl::string_view node) override {
    Note("PostBind", pod, node);
  }

  static std::vector<std::string> Noted() {
    MutexLock lock(mutex_);
    return noted_;
  }

 private:
  static void Note(absl::string_view point, const PodInfo& pod, absl::string_view node) {
    MutexLock lock(mutex_);
    noted_.push_back(absl::StrCat(point, " ", pod.name(), " ", node));
  }

  Handle& handle_;
  inline static Mutex mutex_;
  inline static std::vector<std::string> noted_;
};

TEST(RemotePlugin, IsCalledFromReserveToPostBind) {
  const std::string address = FreshAddress();
  auto server = PluginServer::Start({.registration = WithPlugin("Steps", &Steps::Create)},
                                    {.address = address});
  ASSERT_TRUE(server.ok()) << server.status();
  auto simulation = Simulate(RemoteProfile(address, "deadline: 20s, "),
                             {MakeNode().Name("n").Capacity("cpu", "8").Pods(20).Object(),
                              MakePod().Name("p").Request("cpu", "1").Object()});
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const absl::Time end = absl::Now() + absl::Seconds(60);
  const auto run = [&] {
    (*simulation)->RunUntilIdle();
    absl::SleepFor(absl::Milliseconds(5));
    return absl::Now() < end;
  };
  while (Steps::Noted().size() < 4 && run()) {
  }
  EXPECT_THAT((*simulation)->cluster().Bindings(), SizeIs(1));
  EXPECT_THAT(Steps::Noted(),
              ElementsAre("Reserve p n", "Permit p n", "PreBind p n", "PostBind p n"));

  (*simulation)->cluster().Set(MakePod().Name("refused").Request("cpu", "1").Object());
  while (Steps::Noted().size() < 6 && run()) {
  }
  EXPECT_EQ(Steps::Noted().at(4), "Reserve refused n");
  EXPECT_EQ(Steps::Noted().at(5), "Unreserve refused n");
  ASSERT_THAT((*simulation)->scheduler().Unbound(), SizeIs(1));
  EXPECT_THAT((*simulation)->scheduler().Unbound()[0].message, HasSubstr("it is refused"));

  // Nobody can allow a pod that waits when the process goes: it is rejected, and tried again later.
  server->reset();
  (*simulation)->cluster().Set(MakePod().Name("late").Request("cpu", "1").Object());
  while ((*simulation)->scheduler().Unbound().size() < 2 && run()) {
  }
  (*simulation)->RunUntilIdle();
  EXPECT_THAT((*simulation)->cluster().Bindings(), SizeIs(1));
}

}  // namespace
}  // namespace berth::testing
