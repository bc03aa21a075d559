// SPDX-License-Identifier: Apache-2.0
// A PostFilter plugin in another process makes room for a pod that fits nowhere; what is wrong with
// its answer fails, or does not, as the policy says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "tests/remote/plugin/faulty_process.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Whatever their priority, pods that are labelled spare=true make room: all of the first node that
// has any and on which evicting may help.
class MakesRoom final : public Plugin, public PostFilterPlugin {
 public:
  explicit MakesRoom(Handle& handle) : handle_(handle) {}
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs&, Handle& handle) {
    return std::make_unique<MakesRoom>(handle);
  }
  absl::string_view Name() const override { return "MakesRoom"; }
  Status PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult& result) override {
    if (pod.name() == "hopeless") return Status::UnschedulableAndUnresolvable("nobody is spare");
    for (const NodeRow row : statuses.RowsWith(Code::kUnschedulable)) {
      const NodeInfo& node = handle_.nodes().node(row);
      for (const auto& there : node.pods()) {
        if (there->labels().Find("spare") != nullptr) result.victims.push_back(there);
      }
      if (result.victims.empty()) continue;
      result.nominated_node = std::string(node.name().view());
      return Status::Success();
    }
    return Status::Unschedulable("no pod is spare");
  }

 private:
  Handle& handle_;
};

Object FullNode(const std::string& name) {
  return MakeNode().Name(name).Capacity("cpu", "4").Pods(20).Object();
}
Object Bound(const std::string& name, const std::string& node, const std::string& spare = "") {
  PodBuilder pod = MakePod();
  pod.Name(name).Request("cpu", "2").NodeName(node).Priority(1000);
  if (!spare.empty()) pod.Label("spare", spare);
  return pod.Object();
}
std::vector<Object> FullCluster() {
  return {FullNode("n1"),   FullNode("n2"),           FullNode("n3"),
          Bound("a", "n1"), Bound("b", "n1"),         Bound("c", "n2", "true"),
          Bound("d", "n2"), Bound("e", "n3", "true"), Bound("f", "n3", "true")};
}
Object Pending(const std::string& name) {
  return MakePod().Name(name).Request("cpu", "2").Object();
}

std::string MessageOf(const Simulation& simulation, const std::string& pod) {
  for (const UnboundPod& unbound : simulation.scheduler().Unbound()) {
    if (unbound.pod == "default/" + pod) return unbound.message;
  }
  return "";
}

const std::string kNoPreemption = "{name: DefaultPreemption}";

TEST(RemotePostFilter, EvictsAndNominatesAsInProcess) {
  const std::string address = FreshAddress();
  auto server = PluginServer::Start({.registration = WithPlugin("MakesRoom", &MakesRoom::Create)},
                                    {.address = address});
  ASSERT_TRUE(server.ok()) << server.status();
  auto simulation =
      Simulate(RemoteProfile(address, "deadline: 20s, ", kNoPreemption), FullCluster());
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  (*simulation)->RunUntilIdle();
  (*simulation)->cluster().Set(Pending("p"));
  (*simulation)->RunUntilQuiet();
  EXPECT_THAT((*simulation)->cluster().Evictions(), ElementsAre("default/c"));
  EXPECT_THAT((*simulation)->cluster().Bindings(),
              ElementsAre(std::pair<std::string, std::string>("default/p", "n2")));

  // It knows of the evictions, and of pods that were placed meanwhile.
  (*simulation)->cluster().Set(Pending("q"));
  (*simulation)->RunUntilQuiet();
  EXPECT_THAT((*simulation)->cluster().Evictions(),
              ElementsAre("default/c", "default/e", "default/f"));
  EXPECT_EQ((*simulation)->cluster().Bindings().back().second, "n3");
  (*simulation)->cluster().Set(Pending("r"));  // finds the room that e and f left
  (*simulation)->RunUntilQuiet();
  (*simulation)->cluster().Set(Pending("s"));
  (*simulation)->cluster().Set(Pending("hopeless"));
  (*simulation)->RunUntilQuiet();
  EXPECT_THAT((*simulation)->cluster().Bindings(), SizeIs(3));
  EXPECT_THAT((*simulation)->cluster().Evictions(), SizeIs(3));
  EXPECT_THAT(MessageOf(**simulation, "s"), HasSubstr("no pod is spare"));
  EXPECT_THAT(MessageOf(**simulation, "hopeless"), HasSubstr("nobody is spare"));
  EXPECT_EQ((*simulation)->scheduler().PluginCounters()["Remote/failures"], 0);
}

// A process whose PostFilter comes before DefaultPreemption, a full node, and a pod that may
// preempt what is there.
struct PreemptionStage {
  PreemptionStage(Fault fault, const std::string& policy)
      : address(FreshAddress()), process(address, v1::POST_FILTER) {
    const std::string profile = absl::StrReplaceAll(
        RemoteProfile(address, absl::StrCat("deadline: 150ms, failurePolicy: ", policy, ", "),
                      "{name: DefaultPreemption}"),
        {{"{name: Remote, weight: 3}", "{name: Remote}, {name: DefaultPreemption}"}});
    auto made = Simulate(profile, {FullNode("n0"), Bound("low", "n0"), Bound("other", "n0")});
    BERTH_CHECK(made.ok()) << made.status().ToString();
    simulation = *std::move(made);
    simulation->RunUntilIdle();
    process.Set(fault);
    simulation->cluster().Set(MakePod().Name("q").Request("cpu", "2").Priority(3000).Object());
    simulation->RunUntilIdle();
  }

  const std::string address;
  FaultyProcess process;
  std::unique_ptr<Simulation> simulation;
};

class PostFilterFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(PostFilterFaults, FailAPodsCycleAndHeal) {
  PreemptionStage stage(GetParam(), "Fail");
  EXPECT_THAT(stage.simulation->cluster().Evictions(), IsEmpty());
  EXPECT_THAT(stage.simulation->cluster().Bindings(), IsEmpty());
  const std::string message = MessageOf(*stage.simulation, "q");
  EXPECT_THAT(message, HasSubstr("the remote plugin Remote at unix:"));
  stage.process.Set(Fault::kNone);
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (stage.simulation->cluster().Bindings().empty() && absl::Now() < end) {
    stage.simulation->Advance(absl::Minutes(6));
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_THAT(stage.simulation->cluster().Bindings(), SizeIs(1));
  EXPECT_THAT(stage.simulation->cluster().Evictions(), SizeIs(1));
}

// The next PostFilter plugin is asked.
TEST_P(PostFilterFaults, AreIgnoredIfTheProfileSaysSo) {
  PreemptionStage stage(GetParam(), "Ignore");
  stage.simulation->Advance(absl::Minutes(2));
  EXPECT_THAT(stage.simulation->cluster().Bindings(), SizeIs(1));
  EXPECT_THAT(stage.simulation->cluster().Evictions(), SizeIs(1));
  EXPECT_THAT(MessageOf(*stage.simulation, "q"), Not(HasSubstr("Remote")));
  EXPECT_GT(stage.simulation->scheduler().PluginCounters()["Remote/failures"], 0);
}

INSTANTIATE_TEST_SUITE_P(All, PostFilterFaults,
                         ::testing::Values(Fault::kHangs, Fault::kDies, Fault::kSlow,
                                           Fault::kGarbage, Fault::kOtherQuestion,
                                           Fault::kUnknownCode, Fault::kEmptyMessage,
                                           Fault::kUnknownVictim, Fault::kVictimsNowhere));

}  // namespace
}  // namespace berth::testing
