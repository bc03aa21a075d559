// SPDX-License-Identifier: Apache-2.0
// Devices that nominated pods are about to take: who cannot have them, and until when.
#include "plugins/dynamic_resources/nominated_devices.h"

#include <utility>

#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "plugins/dynamic_resources/dynamic_resources.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

// Of a pool for all nodes.
std::string Slice(absl::string_view devices) {
  return absl::StrCat(
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}\n---\n"
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
      "d, allNodes: true, pool: {name: net, generation: 1, resourceSliceCount: 1}, devices: [",
      devices, "]}}\n---\n");
}

std::string Claim(absl::string_view name, absl::string_view request = "",
                  absl::string_view status = "") {
  return absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: ",
                      name, ", namespace: default, uid: uid-", name,
                      "}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: any",
                      request, "}}]}}", status, "}\n---\n");
}

// Of the device, reserved for the pod.
std::string Has(absl::string_view device, absl::string_view pod) {
  return absl::StrCat(
      ", status: {allocation: {devices: {results: [{request: r, driver: d, pool: net, device: ",
      device, "}]}}, reservedFor: [{resource: pods, name: ", pod, ", uid: default/", pod, "}]}");
}

PodBuilder BuildPod(absl::string_view claim, int priority) {
  PodBuilder pod = MakePod();
  pod.Name(absl::StrCat("p-", claim)).Priority(priority).SchedulerName("default-scheduler");
  auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
  reference.set_name("ref");
  reference.set_resource_claim_name(std::string(claim));
  return pod;
}
PodPtr PodWith(absl::string_view claim, int priority) { return BuildPod(claim, priority).Obj(); }

struct World {
  World(std::vector<NodeInfo> nodes, const std::string& yaml,
        const std::string& args = "{preemptForDevices: true}")
      : handle(std::move(nodes), ObjectsFromYaml(yaml)),
        plugin(MakePlugin<DynamicResources, DynamicResourcesArgs>(handle, args)) {}

  Status FilterOn(const PodPtr& pod, NodeRow row) {
    return RunFilter(*plugin, pod, handle.nodes().node(row));
  }
  bool Fits(const PodPtr& pod, NodeRow row) { return FilterOn(pod, row).ok(); }

  FakeHandle handle;
  std::unique_ptr<DynamicResources> plugin;
};

std::vector<NodeInfo> TwoNodes(const PodPtr& on_first = nullptr) {
  std::vector<NodeInfo> nodes = {MakeNode().Name("n0").Info(), MakeNode().Name("n1").Info()};
  if (on_first != nullptr) nodes[0].AddPod(on_first);
  return nodes;
}

TEST(NominatedDevicesTest, AreForNobodyWhoIsNotMoreImportant) {
  World world(TwoNodes(), Slice("{name: x0}") + Claim("a") + Claim("b"));
  const PodPtr nominated = PodWith("a", 100);
  EXPECT_TRUE(world.Fits(PodWith("b", 0), 1));
  world.handle.fake_nominator().Nominate(nominated, "n0");
  EXPECT_FALSE(world.Fits(PodWith("b", 0), 0));
  EXPECT_FALSE(world.Fits(PodWith("b", 0), 1)) << "a device of a network counts on all nodes";
  EXPECT_FALSE(world.Fits(PodWith("b", 100), 1));
  EXPECT_TRUE(world.Fits(PodWith("b", 101), 1));
  EXPECT_TRUE(world.Fits(nominated, 0));
  EXPECT_TRUE(world.Fits(nominated, 1));
  EXPECT_TRUE(world.Fits(BuildPod("a", 0).Name("q").Obj(), 1)) << "shares the claim";
  PodSignature less_important, more_important;
  EXPECT_TRUE(world.plugin->SignPod(*PodWith("b", 0), less_important).ok());
  EXPECT_TRUE(world.plugin->SignPod(*PodWith("b", 101), more_important).ok());
  EXPECT_NE(less_important.bytes(), more_important.bytes());
}

TEST(NominatedDevicesTest, OnlyWhereDevicesArePreempted) {
  World world(TwoNodes(), Slice("{name: x0}") + Claim("a") + Claim("b"), "{}");
  world.handle.fake_nominator().Nominate(PodWith("a", 100), "n0");
  EXPECT_TRUE(world.Fits(PodWith("b", 0), 1));
}

// What leaving pods have is planned for only if what is free is not enough, and of these as little
// as will do.
TEST(NominatedDevicesTest, TakeWhatIsFreeAndThenWhatComesFree) {
  const PodPtr victim = BuildPod("v", 0).Deleted().Obj();
  const std::string held = Slice("{name: x0}, {name: x1}") + Claim("v", "", Has("x0", "p-v")) +
                           Claim("a", ", count: 2") + Claim("one") + Claim("b");
  World waits_for_both(TwoNodes(victim), held);
  waits_for_both.handle.fake_nominator().Nominate(PodWith("a", 100), "n0");
  EXPECT_FALSE(waits_for_both.Fits(PodWith("b", 0), 1)) << "x1 is for the nominated pod";
  World takes_the_free_one(TwoNodes(victim), held);
  takes_the_free_one.handle.fake_nominator().Nominate(PodWith("one", 100), "n0");
  EXPECT_FALSE(takes_the_free_one.Fits(PodWith("b", 0), 1));
  EXPECT_TRUE(takes_the_free_one.Fits(PodWith("b", 101), 1));
  World finds_nothing(TwoNodes(PodWith("v", 0)), held);
  finds_nothing.handle.fake_nominator().Nominate(PodWith("a", 100), "n0");
  EXPECT_TRUE(finds_nothing.Fits(PodWith("b", 0), 1)) << "nobody leaves: nothing is kept";
}

TEST(NominatedDevicesTest, NobodyJoinsAClaimThatIsToBeFreed) {
  const PodPtr victim = BuildPod("v", 0).Deleted().Obj();
  const auto user = [](int priority) { return BuildPod("v", priority).Name("q").Obj(); };
  std::vector<NodeInfo> nodes = TwoNodes(victim);
  nodes[1].AddPod(user(101));
  World world(std::move(nodes),
              Slice("{name: x0}") + Claim("v", "", Has("x0", "p-v")) + Claim("a") + Claim("b"));
  EXPECT_TRUE(world.Fits(user(0), 1));
  const PodPtr nominated = PodWith("a", 100);
  world.handle.fake_nominator().Nominate(nominated, "n0");
  EXPECT_EQ(world.FilterOn(user(0), 1), Unresolvable("resourceclaim not available on the node"));
  EXPECT_TRUE(world.Fits(user(101), 1));
  CycleState state;
  PreFilterResult narrowed;
  ASSERT_TRUE(world.plugin->PreFilter(state, *user(0), world.handle.nodes(), narrowed).ok());
  const auto notes = world.plugin->ExplainNode(state, *user(0), world.handle.nodes().node(1));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].text, "is to lose its devices for default/p-a, which is nominated");
  // A more important user joins: the plan is given up, and nothing is kept.
  std::string joined = Has("x0", "p-v");
  joined.resize(joined.size() - 2);  // "]}"
  joined += ", {resource: pods, name: q, uid: default/q}]}";
  world.handle.object_store().Set(ObjectsFromYaml(Claim("v", "", joined))[0]);
  EXPECT_TRUE(world.Fits(BuildPod("v", 0).Name("r").Obj(), 1));
}

// The one that can only have x1 comes second, and the first one finds x0.
TEST(NominatedDevicesTest, PlansGiveWayToEachOther) {
  const std::string only_x1 =
      ", selectors: [{cel: {expression: 'device.attributes[\"d\"].model == \"m\"'}}]";
  World world(TwoNodes(), Slice("{name: x0, attributes: {model: {string: m}}}, {name: x1}") +
                              Claim("a") + Claim("picky", only_x1) + Claim("b"));
  world.handle.fake_nominator().Nominate(PodWith("a", 100), "n0");
  world.handle.fake_nominator().Nominate(PodWith("picky", 100), "n1");
  EXPECT_FALSE(world.Fits(PodWith("b", 0), 0));
  EXPECT_TRUE(world.Fits(PodWith("picky", 100), 1));
  EXPECT_TRUE(world.Fits(PodWith("a", 100), 0));
}

TEST(NominatedDevicesTest, SharesCountWithOthers) {
  const std::string shared =
      Slice("{name: x0, allowMultipleAllocations: true, capacity: {memory: {value: 10Gi}}}");
  const auto wants = [](absl::string_view amount) {
    return absl::StrCat(", capacity: {requests: {memory: ", amount, "}}");
  };
  World world(
      TwoNodes(),
      shared + Claim("a", wants("6Gi")) + Claim("b", wants("5Gi")) + Claim("c", wants("4Gi")),
      "{preemptForDevices: true, featureGates: {DRAConsumableCapacity: true}}");
  world.handle.fake_nominator().Nominate(PodWith("a", 100), "n0");
  EXPECT_FALSE(world.Fits(PodWith("b", 0), 1));
  EXPECT_TRUE(world.Fits(PodWith("c", 0), 1));
  EXPECT_TRUE(world.Fits(PodWith("b", 101), 1));
}

TEST(NominatedDevicesTest, WhatIsNotTakenAfterAllWakesOthers) {
  const std::string only_n0 = "{name: x0}, {name: x1}";
  World world(TwoNodes(), Slice(only_n0) + Claim("a") + Claim("b") + Claim("c"));
  const PodPtr nominated = PodWith("a", 100), first = PodWith("c", 200), waiting = PodWith("b", 0);
  world.handle.fake_nominator().Nominate(nominated, "n0");
  EXPECT_TRUE(world.Fits(waiting, 1));
  // A more important pod takes x0, which was planned for it, and its plan is x1 by now.
  CycleState state_of_first;
  PreFilterResult narrowed;
  ASSERT_TRUE(world.plugin->PreFilter(state_of_first, *first, world.handle.nodes(), narrowed).ok());
  ASSERT_TRUE(world.plugin->Reserve(state_of_first, *first, "n1").ok());
  EXPECT_FALSE(world.Fits(waiting, 1));
  world.plugin->Unreserve(state_of_first, *first, "n1");
  // It takes x0, so that x1 is free.
  CycleState state;
  ASSERT_TRUE(world.plugin->PreFilter(state, *nominated, world.handle.nodes(), narrowed).ok());
  ASSERT_TRUE(world.plugin->Reserve(state, *nominated, "n0").ok());
  EXPECT_TRUE(
      Queues(*world.plugin, waiting, ChangedObject(Claim("a"), Claim("a", "", Has("x0", "p-a")))));
}

TEST(NominatedDevicesTest, AreExplained) {
  World world(TwoNodes(), Slice("{name: x0}") + Claim("a") + Claim("b"));
  world.handle.fake_nominator().Nominate(PodWith("a", 100), "n0");
  CycleState state;
  PreFilterResult narrowed;
  const PodPtr pod = PodWith("b", 0);
  ASSERT_TRUE(world.plugin->PreFilter(state, *pod, world.handle.nodes(), narrowed).ok());
  std::vector<std::string> lines;
  for (const NodeNote& note :
       world.plugin->ExplainNode(state, *pod, world.handle.nodes().node(1))) {
    lines.push_back(absl::StrCat(note.name, ": ", note.text));
  }
  EXPECT_THAT(
      lines,
      ElementsAre("ref/r: asks for 1 device, and can have none",
                  "ref/r cannot have: d/net/x0: planned for default/p-a, which is nominated"));
}

}  // namespace
}  // namespace berth::testing
