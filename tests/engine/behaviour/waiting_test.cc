// SPDX-License-Identifier: Apache-2.0
// Explained waiting: one reason for each pending pod and group, with true numbers.
#include "berth/extensions/waiting.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/scripted_plugin.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<Simulation> Settled(std::vector<Object> objects,
                                    KubeSchedulerConfiguration configuration) {
  auto created = Simulation::Create({.configuration = std::move(configuration),
                                     .registry = &Builtins(),
                                     .objects = std::move(objects)});
  EXPECT_TRUE(created.ok()) << created.status();
  (*created)->RunUntilIdle();
  return *std::move(created);
}

std::unique_ptr<Simulation> Settled(std::vector<Object> objects) {
  return Settled(std::move(objects), DefaultConfiguration(Builtins()));
}

WaitingFor Waiting(const Simulation& simulation, const std::string& pod) {
  auto& scheduler = const_cast<Simulation&>(simulation).scheduler();
  for (const UnboundPod& unbound : scheduler.Unbound()) {
    if (unbound.pod == pod) return unbound.waiting;
  }
  ADD_FAILURE() << pod << " is not pending";
  return {};
}

testing::PodBuilder Pod(const std::string& name) {
  return testing::MakePod().Name(name).Namespace("default").Request("cpu", "1");
}

testing::NodeBuilder Node(const std::string& name) {
  return testing::MakeNode().Name(name).Allocatable("cpu", "4").Allocatable("memory", "8Gi");
}

TEST(ExplainedWaiting, AResourceThatIsShortHasItsNumbers) {
  std::vector<Object> objects;
  for (int i = 0; i < 5; ++i) {
    objects.push_back(MakeGpuNode(absl::StrCat("n", i), 8));
    objects.push_back(testing::MakePod()
                          .Name(absl::StrCat("busy-", i))
                          .Namespace("default")
                          .NodeName(absl::StrCat("n", i))
                          .Request("nvidia.com/gpu", absl::StrCat(4 + i % 2))
                          .Object());
  }
  objects.push_back(Node("cpu-only").Taint("reserved", "", TaintEffect::kNoSchedule).Object());
  objects.push_back(MakeGpuPod("big", 8));
  const auto simulation = Settled(std::move(objects));
  const WaitingFor waiting = Waiting(*simulation, "default/big");
  EXPECT_EQ(waiting.reason, WaitingReason::kInsufficientResources);
  EXPECT_EQ(waiting.plugin, "NodeResourcesFit");
  EXPECT_EQ(waiting.resource, "nvidia.com/gpu");
  EXPECT_EQ(waiting.needed, 8);
  EXPECT_EQ(waiting.most_free, 4);
  EXPECT_EQ(waiting.all_free, 18);  // 4 + 3 + 4 + 3 + 4
  EXPECT_EQ(waiting.nodes, 6);
  EXPECT_EQ(waiting.rejecting_nodes, 5);
  ASSERT_EQ(waiting.nodes_by_plugin.size(), 2u);
  EXPECT_EQ(waiting.nodes_by_plugin[0].plugin, "TaintToleration");
  EXPECT_EQ(waiting.nodes_by_plugin[0].nodes, 1);
  EXPECT_EQ(waiting.nodes_by_plugin[1].plugin, "NodeResourcesFit");
  EXPECT_EQ(waiting.nodes_by_plugin[1].nodes, 5);
  EXPECT_THAT(waiting.next_events, ElementsAre("Pod/Delete", "Pod/UpdatePodScaleDown", "Node/Add",
                                               "Node/UpdateNodeAllocatable"));
  EXPECT_EQ(waiting.ToString(),
            "Insufficient nvidia.com/gpu on 5 of 6 nodes; needs 8, most free on a node is 4");
}

TEST(ExplainedWaiting, AFragmentedGangNamesTheMemberThatDidNotFit) {
  std::vector<Object> objects = {MakeGpuNode("n0", 4),      MakeGpuNode("n1", 4),
                                 MakeGpuNode("n2", 8),      MakeGroup("g", 2),
                                 MakeGpuPod("g-0", 8, "g"), MakeGpuPod("g-1", 8, "g")};
  const auto simulation = Settled(std::move(objects), GangConfiguration());
  for (const char* pod : {"default/g-0", "default/g-1"}) {
    const WaitingFor waiting = Waiting(*simulation, pod);
    EXPECT_EQ(waiting.reason, WaitingReason::kGangFragmented);
    EXPECT_EQ(waiting.members_needed, 2);
    EXPECT_EQ(waiting.members_placeable, 1);
    EXPECT_EQ(waiting.blocking_pod, "default/g-1");
    EXPECT_EQ(waiting.resource, "nvidia.com/gpu");
    EXPECT_EQ(waiting.needed, 8);
    EXPECT_EQ(waiting.most_free, 4);
    EXPECT_EQ(waiting.all_free, 16);
    EXPECT_EQ(waiting.ToString(),
              "needs 2 pods at once, 1 fits; default/g-1: needs 8, most free on a node is 4 though "
              "16 nvidia.com/gpu are free");
  }
}

TEST(ExplainedWaiting, AGangThatIsSimplyTooBigIsNotFragmented) {
  const auto simulation = Settled({MakeGpuNode("n0", 8), MakeGroup("g", 2),
                                   MakeGpuPod("g-0", 8, "g"), MakeGpuPod("g-1", 8, "g")},
                                  GangConfiguration());
  const WaitingFor waiting = Waiting(*simulation, "default/g-0");
  EXPECT_EQ(waiting.reason, WaitingReason::kInsufficientResources);
  EXPECT_EQ(waiting.members_placeable, 1);
  EXPECT_EQ(waiting.all_free, 8);
  EXPECT_EQ(
      waiting.ToString(),
      "needs 2 pods at once, 1 fits; default/g-1: Insufficient nvidia.com/gpu on 1 of 1 node; "
      "needs 8, most free on a node is 0");
}

TEST(ExplainedWaiting, AGroupSaysHowManyOfItsPodsAreThere) {
  auto simulation = Settled({MakeGpuNode("n0", 8), MakeGpuPod("g-0", 1, "g")}, GangConfiguration());
  EXPECT_EQ(Waiting(*simulation, "default/g-0").reason, WaitingReason::kGroupNotFound);
  simulation->cluster().Set(MakeGroup("g", 3));
  simulation->cluster().Set(MakeGpuPod("g-1", 1, "g"));
  simulation->RunUntilIdle();
  const WaitingFor waiting = Waiting(*simulation, "default/g-0");
  EXPECT_EQ(waiting.reason, WaitingReason::kWaitingForMembers);
  EXPECT_EQ(waiting.members_needed, 3);
  EXPECT_EQ(waiting.members_placeable, 2);
  EXPECT_EQ(waiting.ToString(), "2 of 3 pods are there");
  EXPECT_THAT(waiting.next_events, Contains("Pod/Add"));
}

TEST(ExplainedWaiting, PlainReasonsOfSinglePods) {
  auto simulation = Settled(
      {Node("n0").Label("zone", "a").Object(), Pod("gated").SchedulingGate("hold").Object(),
       Pod("selects").NodeSelector("zone", "b").Object(), Pod("huge").Request("cpu", "5").Object(),
       Pod("foreign").SchedulerName("other").Object()});
  EXPECT_EQ(Waiting(*simulation, "default/gated").reason, WaitingReason::kGated);
  EXPECT_EQ(Waiting(*simulation, "default/gated").ToString(),
            "waiting for scheduling gates: [hold]");
  EXPECT_EQ(Waiting(*simulation, "default/selects").reason, WaitingReason::kAffinity);
  EXPECT_EQ(Waiting(*simulation, "default/selects").ToString(),
            "node(s) didn't match Pod's node affinity/selector on 1 of 1 node");
  const WaitingFor huge = Waiting(*simulation, "default/huge");
  EXPECT_EQ(huge.ToString(), "Insufficient cpu on 1 of 1 node; needs 5, most free on a node is 4");

  const auto foreign = simulation->cluster().List(Kind::kPod).back();
  const auto waiting = simulation->scheduler().ExplainWaiting(foreign.uid());
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->reason, WaitingReason::kUnknownProfile);
  EXPECT_EQ(waiting->detail, "profile not found for scheduler name \"other\"");
  EXPECT_FALSE(simulation->scheduler().ExplainWaiting("nobody").has_value());
}

TEST(ExplainedWaiting, NoNodesAndTaints) {
  auto simulation = Settled({Pod("p").Object()});
  EXPECT_EQ(Waiting(*simulation, "default/p").reason, WaitingReason::kNoNodes);
  EXPECT_THAT(Waiting(*simulation, "default/p").next_events, ElementsAre("Node/Add"));
  simulation->cluster().Set(Node("n0").Taint("reserved", "", TaintEffect::kNoSchedule).Object());
  simulation->RunUntilQuiet();
  EXPECT_EQ(Waiting(*simulation, "default/p").reason, WaitingReason::kTaints);
}

TEST(ExplainedWaiting, ABindingThatFailsWaitsForItsBackoff) {
  auto created = Simulation::Create({.configuration = DefaultConfiguration(Builtins()),
                                     .registry = &Builtins(),
                                     .objects = {Node("n0").Object(), Pod("p").Object()}});
  ASSERT_TRUE(created.ok()) << created.status();
  Simulation& simulation = **created;
  simulation.cluster().SetBindFault(
      [](const Identity&, const std::string&) { return absl::UnavailableError("down"); });
  simulation.RunUntilIdle();
  const WaitingFor waiting = Waiting(simulation, "default/p");
  EXPECT_EQ(waiting.reason, WaitingReason::kBindingFailed);
  EXPECT_THAT(waiting.ToString(), HasSubstr("down"));
  EXPECT_GT(waiting.until, simulation.now());
  EXPECT_LT(waiting.until, absl::InfiniteFuture());
  EXPECT_THAT(waiting.next_events, ElementsAre("BackoffComplete"));
}

TEST(ExplainedWaiting, VictimsThatHaveNotGoneYet) {
  auto simulation = Settled({Node("n0").Object(), Pod("low").Request("cpu", "4").Object()});
  simulation->cluster().Set(Pod("high").Request("cpu", "4").Priority(10).Object());
  simulation->RunUntilIdle();
  const WaitingFor waiting = Waiting(*simulation, "default/high");
  EXPECT_EQ(waiting.reason, WaitingReason::kWaitingForVictims);
  EXPECT_EQ(waiting.node, "n0");
  EXPECT_EQ(waiting.victims, 1);
  EXPECT_EQ(waiting.ToString(), "waiting for 1 pod to leave node n0");
  simulation->RunUntilQuiet();
  EXPECT_THAT(simulation->scheduler().Unbound(), IsEmpty());
}

TEST(ExplainedWaiting, QuotasHaveTheirNumbers) {
  LoadedConfiguration loaded = LoadConfigurationFile("config/quota.yaml", Builtins());
  ASSERT_TRUE(loaded.problems.ok());
  auto quota = [](const std::string& name, const std::string& min, const std::string& max) {
    auto object = std::make_shared<api::ElasticQuota>();
    object->mutable_metadata()->set_name("quota");
    object->mutable_metadata()->set_namespace_(name);
    (*object->mutable_spec()->mutable_min())["nvidia.com/gpu"].set_string(min);
    (*object->mutable_spec()->mutable_max())["nvidia.com/gpu"].set_string(max);
    return Object::Of(std::move(object));
  };
  const auto pod = [](const std::string& team, const std::string& name, const std::string& gpus) {
    return testing::MakePod().Name(name).Namespace(team).Request("nvidia.com/gpu", gpus).Object();
  };
  const auto simulation = Settled(
      {MakeGpuNode("n0", 16), quota("a", "2", "4"), quota("b", "4", "16"), pod("a", "first", "3"),
       pod("a", "second", "2"), pod("a", "huge", "5"), pod("b", "all", "3"), pod("b", "more", "1")},
      loaded.configuration);
  const WaitingFor max = Waiting(*simulation, "a/second");
  EXPECT_EQ(max.reason, WaitingReason::kQuotaMax);
  EXPECT_EQ(max.quota, "ElasticQuota a");
  EXPECT_EQ(max.resource, "nvidia.com/gpu");
  EXPECT_EQ(max.needed, 2);
  EXPECT_EQ(max.quota_used, 3);
  EXPECT_EQ(max.quota_limit, 4);
  EXPECT_THAT(max.ToString(), HasSubstr("; needs 2 nvidia.com/gpu, 3 of 4 are used"));
  EXPECT_EQ(Waiting(*simulation, "a/huge").reason, WaitingReason::kQuotaMisconfigured);
  const WaitingFor sum = Waiting(*simulation, "b/more");
  EXPECT_EQ(sum.reason, WaitingReason::kWaitingForQuota);
  EXPECT_EQ(sum.quota_used, 6);
  EXPECT_EQ(sum.quota_limit, 6);
}

TEST(ExplainedWaiting, PluginsSeeItThroughTheirHandle) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("huge", "8").Uid("u").Object());
  world.Run();
  const std::optional<WaitingFor> waiting = plugins["A"].handle->ExplainWaiting("u");
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->reason, WaitingReason::kInsufficientResources);
  EXPECT_FALSE(plugins["A"].handle->ExplainWaiting("nobody").has_value());
}

TEST(ExplainedWaiting, APluginThatSaysNoMoreIsNamed) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  plugins["A"].filter = [](const PodInfo&, const NodeInfo&) {
    return Status::Unschedulable("node(s) had bad karma");
  };
  world.Set(CpuPod("p", "1").Object());
  world.Run();
  const WaitingFor waiting = world.Pending("p").waiting;
  EXPECT_EQ(waiting.reason, WaitingReason::kRejected);
  EXPECT_EQ(waiting.plugin, "A");
  EXPECT_EQ(waiting.ToString(), "node(s) had bad karma on 1 of 1 node");
  EXPECT_THAT(waiting.next_events, ElementsAre("*/*"));
}

TEST(ExplainedWaiting, ARejectionWithoutAReasonNamesThePlugin) {
  for (const Status& status : {Status::Make(Code::kUnschedulable, {}), Status::Unschedulable("")}) {
    ScriptedPlugins plugins({"A"});
    World world(plugins.configuration(), plugins.registry());
    world.Set(CpuNode("n0", "4").Object());
    world.Set(CpuNode("n1", "4").Object());
    plugins["A"].filter = [&](const PodInfo&, const NodeInfo&) { return status; };
    world.Set(CpuPod("p", "1").Object());
    world.Run();
    EXPECT_EQ(world.Pending("p").waiting.ToString(),
              "rejected by A without a reason on 2 of 2 nodes");
  }
}

}  // namespace
}  // namespace berth
