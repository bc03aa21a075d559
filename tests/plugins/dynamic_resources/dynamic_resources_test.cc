// SPDX-License-Identifier: Apache-2.0
// Tests of DynamicResources, by extension point. What claims get is tested in tests/devices.
#include "plugins/dynamic_resources/dynamic_resources.h"

#include "absl/strings/str_replace.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/handle/gone_in_plan.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr char kClass[] =
    "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}\n---\n";

// A slice of a node with the devices x0, x1 ...
std::string SliceOf(absl::string_view node, int devices) {
  std::string yaml =
      absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", node,
                   "}, spec: {driver: d, nodeName: ", node, ", pool: {name: ", node,
                   ", generation: 1, resourceSliceCount: 1}, devices: [");
  for (int i = 0; i < devices; ++i) absl::StrAppend(&yaml, "{name: x", i, "}, ");
  return yaml + "]}}\n---\n";
}

constexpr char kOne[] = "requests: [{name: r, exactly: {deviceClassName: any}}]";
constexpr char kList[] =
    "requests: [{name: r, firstAvailable: [{name: two, deviceClassName: any, count: 2}, "
    "{name: one, deviceClassName: any}]}]";

std::string ClaimOf(absl::string_view name, absl::string_view devices = kOne,
                    absl::string_view status = "", absl::string_view metadata = "") {
  return absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: ",
                      name, ", namespace: default, uid: uid-", name, metadata,
                      "}, spec: {devices: {", devices, "}}", status, "}\n---\n");
}

// Allocated on a node, and reserved for pods by name.
std::string AllocatedOn(absl::string_view node, const std::vector<std::string>& pods = {}) {
  std::string yaml = absl::StrCat(
      ", status: {allocation: {devices: {results: [{request: r, driver: d, pool: ", node,
      ", device: x0}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, "
      "operator: In, values: [",
      node, "]}]}]}}, reservedFor: [");
  for (const std::string& pod : pods) {
    absl::StrAppend(&yaml, "{resource: pods, name: ", pod, ", uid: default/", pod, "}, ");
  }
  return yaml + "]}";
}

PodPtr PodOf(const std::vector<std::string>& claims, absl::string_view name = "p") {
  PodBuilder pod = MakePod();
  pod.Name(name);
  for (const std::string& claim : claims) {
    auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
    reference.set_name("ref-" + claim);
    reference.set_resource_claim_name(claim);
  }
  return pod.Obj();
}

// A pod that refers to a template, with the claim that was made for it, if any.
PodPtr PodOfTemplate(absl::string_view claim, bool no_claim_needed = false) {
  PodBuilder pod = MakePod();
  pod.Name("p");
  auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
  reference.set_name("ref");
  reference.set_resource_claim_template_name("t");
  if (!claim.empty() || no_claim_needed) {
    auto& status = *pod.Message().mutable_status()->add_resource_claim_statuses();
    status.set_name("ref");
    if (!claim.empty()) status.set_resource_claim_name(std::string(claim));
  }
  return pod.Obj();
}

std::vector<Object> Objects(const std::string& yaml) { return ObjectsFromYaml(yaml); }

// A small cluster: nodes n0 and n1 with a device each, unless said otherwise.
struct World {
  explicit World(const std::string& claims,
                 const std::string& slices = SliceOf("n0", 1) + SliceOf("n1", 1),
                 const std::string& args = "{}")
      : handle({MakeNode().Name("n0").Info(), MakeNode().Name("n1").Info()},
               Objects(kClass + slices + claims)),
        plugin(MakePlugin<DynamicResources, DynamicResourcesArgs>(handle, args)) {}

  Status PreFilter(const PodPtr& pod) {
    PreFilterResult narrowed;
    return plugin->PreFilter(state, *pod, handle.nodes(), narrowed);
  }
  Status Filter(const PodPtr& pod, NodeRow row) {
    return plugin->Filter(state, *pod, handle.nodes().node(row));
  }
  const api::ResourceClaim& Claim(absl::string_view name) {
    return *handle.objects().Find<api::ResourceClaim>("default", name);
  }

  FakeHandle handle;
  std::unique_ptr<DynamicResources> plugin;
  CycleState state;
};

// All nodes were rejected by the plugin.
class OwnStatuses final : public NodeStatuses {
 public:
  explicit OwnStatuses(absl::string_view plugin = DynamicResources::kName)
      : plugin_(Symbol::Intern(plugin)) {}
  Code code(NodeRow) const override { return Code::kUnschedulableAndUnresolvable; }
  Status status(NodeRow) const override {
    return Status::UnschedulableAndUnresolvable("x").WithPlugin(plugin_);
  }
  std::vector<NodeRow> RowsWith(Code) const override { return {}; }

 private:
  Symbol plugin_;
};

TEST(DynamicResourcesTest, PodWithoutClaims) {
  World world("");
  const PodPtr pod = MakePod().Obj();
  PostFilterResult result;
  EXPECT_TRUE(world.plugin->PreEnqueue(*pod).ok());
  EXPECT_TRUE(world.PreFilter(pod).IsSkip());
  EXPECT_EQ(world.plugin->PostFilter(world.state, *pod, OwnStatuses(), result),
            Status::Unschedulable("no new claims to deallocate"));
  EXPECT_EQ(RunScore(*world.plugin, pod, world.handle), (std::vector<int64_t>{0, 0}));
  EXPECT_TRUE(world.plugin->Reserve(world.state, *pod, "n0").ok());
  world.plugin->Unreserve(world.state, *pod, "n0");
  EXPECT_TRUE(world.plugin->PreBindPreFlight(world.state, *pod, "n0").IsSkip());
  PodSignature signature;
  EXPECT_TRUE(world.plugin->SignPod(*pod, signature).ok());
  EXPECT_FALSE(world.plugin->SignPod(*PodOf({"c"}), signature).ok());
}

TEST(DynamicResourcesTest, PreEnqueueAndPreFilterAskForUsableClaims) {
  struct Case {
    std::string name, claims;
    PodPtr pod;
    std::string want;
  };
  const std::string owned =
      ", ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: default/p, controller: true}]";
  const std::string others =
      ", ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: other, controller: true}]";
  const std::vector<Case> cases = {
      {"there", ClaimOf("c"), PodOf({"c"}), ""},
      {"missing", "", PodOf({"c"}), "could not find ResourceClaim \"default/c\""},
      {"goes", ClaimOf("c", kOne, "", ", deletionTimestamp: '2026-01-01T00:00:00Z'"), PodOf({"c"}),
       "resourceclaim \"c\" is being deleted"},
      {"not made yet", "", PodOfTemplate(""), "pod \"default/p\": ResourceClaim not created yet"},
      {"made", ClaimOf("c", kOne, "", owned), PodOfTemplate("c"), ""},
      {"another's", ClaimOf("c", kOne, "", others), PodOfTemplate("c"),
       "ResourceClaim default/c was not created for pod default/p (pod is not owner)"},
      {"none needed", "", PodOfTemplate("", true), ""},
  };
  for (const Case& c : cases) {
    World world(c.claims);
    const Status want = c.want.empty() ? Status::Success() : Unresolvable(c.want);
    EXPECT_EQ(world.plugin->PreEnqueue(*c.pod), want) << c.name;
    const Status pre_filter = world.PreFilter(c.pod);
    EXPECT_EQ(pre_filter.IsSkip() ? Status::Success() : pre_filter, want) << c.name;
  }
}

TEST(DynamicResourcesTest, PreFilterAsksForClasses) {
  World world(ClaimOf("c", "requests: [{name: r, exactly: {deviceClassName: gone}}]") +
              ClaimOf("l",
                      "requests: [{name: r, firstAvailable: [{name: a, deviceClassName: any}, "
                      "{name: b, deviceClassName: gone}]}]") +
              ClaimOf("e", "requests: [{name: r}]"));
  EXPECT_EQ(world.PreFilter(PodOf({"c"})),
            Unresolvable("request r: device class gone does not exist"));
  EXPECT_EQ(world.PreFilter(PodOf({"l"})),
            Unresolvable("request r/b: device class gone does not exist"));
  EXPECT_EQ(world.PreFilter(PodOf({"e"})),
            Unresolvable("resource claim default/e, request r: unknown request type"));
}

TEST(DynamicResourcesTest, FilterAllocatesOrLooksWhereClaimsAre) {
  World world(ClaimOf("new") + ClaimOf("there", kOne, AllocatedOn("n0")) +
              ClaimOf("two", "requests: [{name: r, exactly: {deviceClassName: any, count: 2}}]"));
  const Status unavailable = Unresolvable("resourceclaim not available on the node");
  const Status impossible = Unresolvable("cannot allocate all claims");
  ASSERT_TRUE(world.PreFilter(PodOf({"there"})).ok());
  EXPECT_TRUE(world.Filter(PodOf({"there"}), 0).ok());
  EXPECT_EQ(world.Filter(PodOf({"there"}), 1), unavailable);
  // The device of n0 is taken, and the allocator is asked first.
  ASSERT_TRUE(world.PreFilter(PodOf({"there", "new"})).ok());
  EXPECT_EQ(world.Filter(PodOf({"there", "new"}), 0), impossible);
  EXPECT_EQ(world.Filter(PodOf({"there", "new"}), 1), unavailable);
  EXPECT_EQ(RunFilter(*world.plugin, PodOf({"two"}), world.handle.nodes().node(1)), impossible);
  EXPECT_TRUE(RunFilter(*world.plugin, PodOf({"new"}), world.handle.nodes().node(1)).ok());
}

TEST(DynamicResourcesTest, AClaimThatIsNamedTwiceIsAllocatedOnce) {
  World world(ClaimOf("c"));
  const PodPtr pod = PodOf({"c", "c"});
  ASSERT_TRUE(world.PreFilter(pod).ok());
  ASSERT_TRUE(world.Filter(pod, 0).ok());
  ASSERT_TRUE(world.plugin->Reserve(world.state, *pod, "n0").ok());
  ASSERT_TRUE(world.plugin->PreBind(world.state, *pod, "n0").ok());
  EXPECT_EQ(world.Claim("c").status().allocation().devices().results_size(), 1);
  EXPECT_EQ(world.Claim("c").status().reserved_for_size(), 1);
}

TEST(DynamicResourcesTest, FilterSaysWhatIsWrongWithPoolsAndClaims) {
  World world(
      ClaimOf("c") + ClaimOf("bad",
                             "requests: [{name: r, exactly: {deviceClassName: any, "
                             "count: 33}}]"),
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s, uid: u}, spec: "
      "{driver: d, allNodes: true, pool: {name: s, generation: 1, resourceSliceCount: 1}, "
      "devices: [{name: x}, {name: x}]}}\n---\n");
  EXPECT_EQ(RunFilter(*world.plugin, PodOf({"c"}), world.handle.nodes().node(0)),
            Unresolvable("invalid resource pools were encountered"));
  ASSERT_TRUE(world.PreFilter(PodOf({"bad"})).ok());
  EXPECT_EQ(world.Filter(PodOf({"bad"}), 0),
            Status::Error("claim default/bad: number of requested devices 33 exceeds the claim "
                          "limit of 32"));
}

TEST(DynamicResourcesTest, ScoresTheAlternativesOfLists) {
  World world(ClaimOf("c", kList) + ClaimOf("there", kOne, AllocatedOn("n0")),
              SliceOf("n0", 3) + SliceOf("n1", 1));
  const PodPtr pod = PodOf({"there", "c"});
  ASSERT_TRUE(world.PreFilter(pod).ok());
  const std::vector<NodeRow> rows = {0, 1};
  std::vector<int64_t> scores(2);
  ASSERT_TRUE(
      world.plugin
          ->ScoreNodes(world.state, *pod, world.handle.nodes(), rows, absl::MakeSpan(scores))
          .ok());
  EXPECT_EQ(scores, (std::vector<int64_t>{8, 7}));
  ASSERT_TRUE(world.plugin->NormalizeScores(world.state, *pod, rows, absl::MakeSpan(scores)).ok());
  EXPECT_EQ(scores, (std::vector<int64_t>{100, 87}));
}

TEST(DynamicResourcesTest, ReserveTakesDevicesUntilUnreserve) {
  World world(ClaimOf("c") + ClaimOf("e"));
  const PodPtr pod = PodOf({"c"}), other = PodOf({"e"}, "q");
  ASSERT_TRUE(world.PreFilter(pod).ok());
  ASSERT_TRUE(world.Filter(pod, 0).ok());
  ASSERT_TRUE(world.plugin->Reserve(world.state, *pod, "n0").ok());
  EXPECT_EQ(RunFilter(*world.plugin, other, world.handle.nodes().node(0)),
            Unresolvable("cannot allocate all claims"));
  EXPECT_TRUE(RunFilter(*world.plugin, other, world.handle.nodes().node(1)).ok());
  world.plugin->Unreserve(world.state, *pod, "n0");
  world.plugin->Unreserve(world.state, *pod, "n0");
  EXPECT_TRUE(RunFilter(*world.plugin, other, world.handle.nodes().node(0)).ok());
  EXPECT_TRUE(world.handle.updates().empty());
}

TEST(DynamicResourcesTest, PodsShareAClaimInFlight) {
  World world(ClaimOf("c") + ClaimOf("e"));
  const PodPtr p = PodOf({"c"}), q = PodOf({"c"}, "q"), other = PodOf({"e"}, "r");
  ASSERT_TRUE(world.PreFilter(p).ok());
  ASSERT_TRUE(world.plugin->Reserve(world.state, *p, "n0").ok());
  CycleState second;
  PreFilterResult narrowed;
  ASSERT_TRUE(world.plugin->PreFilter(second, *q, world.handle.nodes(), narrowed).ok());
  EXPECT_TRUE(world.plugin->Filter(second, *q, world.handle.nodes().node(0)).ok());
  EXPECT_EQ(world.plugin->Filter(second, *q, world.handle.nodes().node(1)),
            Unresolvable("resourceclaim not available on the node"));
  PostFilterResult result;  // nobody takes away what is not there yet
  EXPECT_EQ(world.plugin->PostFilter(second, *q, OwnStatuses(), result),
            Status::Unschedulable("still not schedulable"));
  ASSERT_TRUE(world.plugin->Reserve(second, *q, "n0").ok());
  // The first one is not bound after all; the second one brings it to an end.
  world.plugin->Unreserve(world.state, *p, "n0");
  EXPECT_FALSE(RunFilter(*world.plugin, other, world.handle.nodes().node(0)).ok());
  ASSERT_TRUE(world.plugin->PreBind(second, *q, "n0").ok());
  EXPECT_TRUE(world.Claim("c").status().has_allocation());
  ASSERT_EQ(world.Claim("c").status().reserved_for_size(), 1);
  EXPECT_EQ(world.Claim("c").status().reserved_for(0).name(), "q");
}

// Slices of versions, as a cluster has them.
std::string Version(int version) { return absl::StrCat(", resourceVersion: '", version, "'"); }

TEST(DynamicResourcesTest, AnAllocationThatComesAndGoesDoesNotEndWhatOthersArePromised) {
  World world(ClaimOf("c", kOne, "", Version(1)) + ClaimOf("e"));
  const PodPtr slow = PodOf({"c"}), fast = PodOf({"c"}, "q"), other = PodOf({"e"}, "r");
  const NodeInfo& node = world.handle.nodes().node(0);
  const auto shows = [&](const std::string& claim) {
    world.handle.object_store().Set(Objects(claim)[0]);
  };
  ASSERT_TRUE(world.PreFilter(slow).ok());
  ASSERT_TRUE(world.plugin->Reserve(world.state, *slow, "n0").ok());
  CycleState second;
  PreFilterResult narrowed;
  ASSERT_TRUE(world.plugin->PreFilter(second, *fast, world.handle.nodes(), narrowed).ok());
  ASSERT_TRUE(world.plugin->Reserve(second, *fast, "n0").ok());
  ASSERT_TRUE(world.plugin->PreBind(second, *fast, "n0").ok());
  shows(ClaimOf("c", kOne, AllocatedOn("n0", {"q"}), Version(2)));
  EXPECT_FALSE(RunFilter(*world.plugin, other, node).ok());
  shows(ClaimOf("c", kOne, "", Version(3)));
  EXPECT_FALSE(RunFilter(*world.plugin, other, node).ok());
  // It writes at last. What the watch showed before does not count.
  ASSERT_TRUE(world.plugin->PreBind(world.state, *slow, "n0").ok());
  shows(ClaimOf("c", kOne, AllocatedOn("n0", {"q"}), Version(2)));
  EXPECT_FALSE(RunFilter(*world.plugin, other, node).ok());
  shows(ClaimOf("c", kOne, "", Version(3)));
  EXPECT_FALSE(RunFilter(*world.plugin, other, node).ok());
  shows(ClaimOf("c", kOne, AllocatedOn("n0", {"p"}), Version(4)));
  EXPECT_FALSE(RunFilter(*world.plugin, other, node).ok());
  shows(ClaimOf("c", kOne, "", Version(5)));
  EXPECT_TRUE(RunFilter(*world.plugin, other, node).ok());
}

TEST(DynamicResourcesTest, PreBindWritesAllocationReservationAndFinalizer) {
  World world(ClaimOf("c") + ClaimOf("there", kOne, AllocatedOn("n1", {"q"})), SliceOf("n1", 2));
  const PodPtr pod = PodOf({"there", "c"});
  ASSERT_TRUE(world.PreFilter(pod).ok());
  ASSERT_TRUE(world.Filter(pod, 1).ok());
  ASSERT_TRUE(world.plugin->Reserve(world.state, *pod, "n1").ok());
  ASSERT_TRUE(world.plugin->PreBindPreFlight(world.state, *pod, "n1").ok());
  ASSERT_TRUE(world.plugin->PreBind(world.state, *pod, "n1").ok());
  const api::ResourceClaim& made = world.Claim("c");
  EXPECT_THAT(made.metadata().finalizers(),
              ElementsAre("resource.kubernetes.io/delete-protection"));
  ASSERT_EQ(made.status().allocation().devices().results_size(), 1);
  EXPECT_EQ(made.status().allocation().devices().results(0).device(), "x1");
  ASSERT_EQ(made.status().reserved_for_size(), 1);
  EXPECT_EQ(made.status().reserved_for(0).resource(), "pods");
  EXPECT_EQ(made.status().reserved_for(0).name(), "p");
  EXPECT_EQ(made.status().reserved_for(0).uid(), "default/p");
  const api::ResourceClaim& shared = world.Claim("there");
  EXPECT_TRUE(shared.metadata().finalizers().empty());
  EXPECT_EQ(shared.status().reserved_for_size(), 2);
  // Again, since the answer was lost: nothing changes.
  const size_t written = world.handle.updates().size();
  ASSERT_TRUE(world.plugin->PreBind(world.state, *pod, "n1").ok());
  EXPECT_EQ(world.Claim("there").status().reserved_for_size(), 2);
  EXPECT_GE(world.handle.updates().size(), written);
  // The pod is not bound after all: it gives its reservations back, and the claims keep devices.
  world.plugin->Unreserve(world.state, *pod, "n1");
  EXPECT_EQ(world.Claim("c").status().reserved_for_size(), 0);
  EXPECT_TRUE(world.Claim("c").status().has_allocation());
  EXPECT_EQ(world.Claim("there").status().reserved_for_size(), 1);
}

TEST(DynamicResourcesTest, PreBindFailsIfTheClaimIsNotWhatItWas) {
  const auto text = [](const std::string& becomes) {
    World world(ClaimOf("c"));
    const PodPtr pod = PodOf({"c"});
    EXPECT_TRUE(world.PreFilter(pod).ok());
    EXPECT_TRUE(world.plugin->Reserve(world.state, *pod, "n0").ok());
    if (becomes.empty()) {
      world.handle.object_store().Remove(Kind::kResourceClaim, "default/c");
    } else {
      world.handle.object_store().Set(Objects(becomes)[0]);
    }
    const Status status = world.plugin->PreBind(world.state, *pod, "n0");
    EXPECT_TRUE(status.IsError());
    return status.message();
  };
  EXPECT_EQ(text(ClaimOf("c", kOne, AllocatedOn("n1"))),
            "add finalizer to claim default/c: claim default/c got allocated elsewhere in the "
            "meantime");
  EXPECT_EQ(text(ClaimOf("c", kOne, "", ", deletionTimestamp: '2026-01-01T00:00:00Z'")),
            "add finalizer to claim default/c: claim default/c got deleted in the meantime");
  EXPECT_THAT(text(""), HasSubstr("add finalizer to claim default/c: default/c is gone"));
}

TEST(DynamicResourcesTest, ParametersAreComparedAsJson) {
  const auto becomes = [](const std::string& parameters, bool has_time = false) {
    World world(ClaimOf("c", absl::StrCat(kOne,
                                          ", config: [{opaque: {driver: d, parameters: "
                                          "{kind: P, n: [1, 2.5], s: {a: b, c: null}}}}]")));
    const PodPtr pod = PodOf({"c"});
    EXPECT_TRUE(world.PreFilter(pod).ok());
    EXPECT_TRUE(world.plugin->Reserve(world.state, *pod, "n0").ok());
    EXPECT_TRUE(world.plugin->PreBind(world.state, *pod, "n0").ok());
    auto claim = std::make_shared<api::ResourceClaim>(world.Claim("c"));
    api::AllocationResult& allocation = *claim->mutable_status()->mutable_allocation();
    if (has_time) allocation.mutable_allocation_timestamp();
    allocation.mutable_devices()
        ->mutable_config(0)
        ->mutable_device_configuration()
        ->mutable_opaque()
        ->mutable_parameters()
        ->set_raw(parameters);
    world.handle.object_store().Set(Object(Kind::kResourceClaim, std::move(claim)));
    return world.plugin->PreBind(world.state, *pod, "n0").ok();
  };
  EXPECT_TRUE(becomes(R"({ "s": {"c": null, "a": "b"}, "n": [1, 2.50], "kind": "P" })", true));
  EXPECT_FALSE(becomes(R"({"s": {"c": null, "a": "b"}, "n": [2.5, 1], "kind": "P"})"));
  EXPECT_FALSE(becomes("{"));
}

// --- Binding conditions ---

constexpr char kWaits[] = "{featureGates: {DRADeviceBindingConditions: true}, bindingTimeout: 1m}";
constexpr char kAttachable[] =
    "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: d, "
    "nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: x0, "
    "bindingConditions: [Attached, Ready], bindingFailureConditions: [Broken]}]}}\n---\n";

// What the driver says of x0.
void SetConditions(World& world, const std::map<std::string, std::string>& conditions) {
  auto claim = std::make_shared<api::ResourceClaim>(world.Claim("c"));
  claim->mutable_status()->clear_devices();
  api::AllocatedDeviceStatus& device = *claim->mutable_status()->add_devices();
  device.set_driver("d");
  device.set_pool("n0");
  device.set_device("x0");
  for (const auto& [type, status] : conditions) {
    api::Condition& condition = *device.add_conditions();
    condition.set_type(type);
    condition.set_status(status);
    condition.set_reason("NoCable");
    condition.set_message("no \"cable\"");
  }
  world.handle.object_store().Set(Object(Kind::kResourceClaim, std::move(claim)));
}

// A pod is reserved on n0, and its device has conditions.
struct WaitingWorld : World {
  WaitingWorld() : World(ClaimOf("c"), kAttachable, kWaits) {
    EXPECT_TRUE(PreFilter(pod).ok());
    EXPECT_TRUE(Filter(pod, 0).ok());
    EXPECT_TRUE(plugin->Reserve(state, *pod, "n0").ok());
    EXPECT_EQ(plugin->PreBind(state, *pod, "n0").code(), Code::kWait);
  }
  Status Poll() { return plugin->PollPreBind(state, *pod, "n0"); }
  void Pass(absl::Duration time) { handle.AdvanceTo(handle.clock().Now() + time); }

  const PodPtr pod = PodOf({"c"});
};

TEST(DynamicResourcesTest, PreBindWaitsForBindingConditions) {
  WaitingWorld world;
  const api::AllocationResult& allocation = world.Claim("c").status().allocation();
  EXPECT_TRUE(allocation.has_allocation_timestamp());
  EXPECT_THAT(allocation.devices().results(0).binding_conditions(),
              ElementsAre("Attached", "Ready"));
  EXPECT_THAT(allocation.devices().results(0).binding_failure_conditions(), ElementsAre("Broken"));
  ASSERT_EQ(ObjectsToPollFor(world.state).size(), 1u);
  EXPECT_EQ(ObjectsToPollFor(world.state)[0].second, "default/c");
  EXPECT_EQ(world.Poll().code(), Code::kWait);
  SetConditions(world, {{"Attached", "True"}});
  EXPECT_EQ(world.Poll().code(), Code::kWait);
  SetConditions(world, {{"Attached", "True"}, {"Ready", "False"}, {"Broken", "False"}});
  EXPECT_EQ(world.Poll().code(), Code::kWait);
  SetConditions(world, {{"Attached", "True"}, {"Ready", "True"}, {"Broken", "Unknown"}});
  EXPECT_TRUE(world.Poll().ok());
}

TEST(DynamicResourcesTest, AFailedDeviceEndsTheWait) {
  WaitingWorld world;
  SetConditions(world, {{"Attached", "True"}, {"Ready", "True"}, {"Broken", "True"}});
  EXPECT_EQ(world.Poll(), Status::Error("claim c binding failed: reason=NoCable, "
                                        "message=\"no \\\"cable\\\"\""));
}

TEST(DynamicResourcesTest, TheWaitEndsAfterTheBindingTimeout) {
  WaitingWorld world;
  world.Pass(absl::Seconds(59));
  EXPECT_EQ(world.Poll().code(), Code::kWait);
  world.Pass(absl::Seconds(1));
  EXPECT_EQ(world.Poll(), Status::Error("device binding timeout"));
  world.Pass(absl::Seconds(1));
  EXPECT_EQ(world.Poll(), Status::Error("claim c binding timeout"));
  world.handle.object_store().Remove(Kind::kResourceClaim, "default/c");
  EXPECT_EQ(world.Poll(), Status::Error("could not find ResourceClaim \"default/c\""));
}

// Ready devices, and those of a claim that was allocated long ago without conditions, need no wait.
TEST(DynamicResourcesTest, PreBindOfReadyDevicesGoesOn) {
  World world(ClaimOf("c") + ClaimOf("there", kOne, AllocatedOn("n1")), SliceOf("n1", 2), kWaits);
  const PodPtr pod = PodOf({"there", "c"});
  ASSERT_TRUE(world.PreFilter(pod).ok());
  ASSERT_TRUE(world.plugin->Reserve(world.state, *pod, "n1").ok());
  EXPECT_TRUE(world.plugin->PreBind(world.state, *pod, "n1").ok());
  EXPECT_TRUE(world.Claim("there").status().allocation().has_allocation_timestamp());
}

TEST(DynamicResourcesTest, ALostDeviceIsGivenBack) {
  for (const bool has_failed : {true, false}) {
    WaitingWorld world;
    if (has_failed) SetConditions(world, {{"Broken", "True"}});
    world.Pass(absl::Seconds(has_failed ? 1 : 61));
    EXPECT_TRUE(world.Poll().IsError());
    world.plugin->Unreserve(world.state, *world.pod, "n0");
    world.state = CycleState();
    ASSERT_TRUE(world.PreFilter(world.pod).ok());
    EXPECT_EQ(world.Filter(world.pod, 0), Unresolvable("resourceclaim not available on the node"));
    const auto notes =
        world.plugin->ExplainNode(world.state, *world.pod, world.handle.nodes().node(0));
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_THAT(notes[0].text,
                HasSubstr(has_failed ? "its devices are lost: claim c binding failed"
                                     : "its devices are lost: claim c binding timeout"));
    PostFilterResult result;
    EXPECT_EQ(world.plugin->PostFilter(world.state, *world.pod, OwnStatuses(), result).message(),
              "deallocation of ResourceClaim completed");
    EXPECT_FALSE(world.Claim("c").status().has_allocation());
  }
}

TEST(DynamicResourcesTest, BindingConditionsNeedTheirGate) {
  World world(ClaimOf("c"), kAttachable);
  const PodPtr pod = PodOf({"c"});
  ASSERT_TRUE(world.PreFilter(pod).ok());
  EXPECT_EQ(world.Filter(pod, 0), Unresolvable("cannot allocate all claims"));
}

// ---

TEST(DynamicResourcesTest, ATaintRuleWakesPodsUnlessOnlyItsStatusChanges) {
  World world(ClaimOf("c"), SliceOf("n0", 1),
              "{featureGates: {DRADeviceTaints: true, DRADeviceTaintRules: true}}");
  const auto rule = [](const std::string& effect, const std::string& status) {
    return Objects(absl::StrCat("{apiVersion: resource.k8s.io/v1alpha3, kind: DeviceTaintRule, ",
                                "metadata: {name: r}, spec: {deviceSelector: {}, taint: {key: k, ",
                                "effect: ", effect, "}}", status, "}"))[0];
  };
  const auto wakes = [&](const Object& before, const Object& now) {
    ObjectChange change;
    change.old_object = &before;
    change.new_object = &now;
    return Queues(*world.plugin, EventResource::Of(Kind::kDeviceTaintRule), action::kUpdate,
                  PodOf({"c"}), change);
  };
  const PodPtr pod = PodOf({"c"});
  EXPECT_TRUE(world.PreFilter(pod).ok());
  EXPECT_TRUE(world.Filter(pod, 0).ok());
  const Object effective = rule("NoSchedule", ""), none = rule("None", "");
  world.handle.object_store().Set(effective);
  EXPECT_TRUE(world.PreFilter(pod).ok());
  EXPECT_EQ(world.Filter(pod, 0), Unresolvable("cannot allocate all claims"));
  EXPECT_TRUE(wakes(effective, none));
  EXPECT_FALSE(wakes(effective, rule("NoSchedule", ", status: {conditions: [{type: x}]}")));
  world.handle.object_store().Set(none);
  EXPECT_TRUE(world.PreFilter(pod).ok());
  EXPECT_TRUE(world.Filter(pod, 0).ok());
}

TEST(DynamicResourcesTest, PostFilterDeallocatesWhatIsInTheWay) {
  World world(ClaimOf("idle", kOne, AllocatedOn("n2")) +
              ClaimOf("mine", kOne, AllocatedOn("n2", {"p"})) +
              ClaimOf("used", kOne, AllocatedOn("n2", {"q"})) + ClaimOf("new"));
  const auto post_filter = [&](const std::vector<std::string>& claims, bool explains,
                               absl::string_view rejected_by = DynamicResources::kName) {
    const PodPtr pod = PodOf(claims);
    world.state = CycleState();
    if (explains) world.state.SetForExplanation();
    EXPECT_TRUE(world.PreFilter(pod).ok());
    PostFilterResult result;
    const Status status =
        world.plugin->PostFilter(world.state, *pod, OwnStatuses(rejected_by), result);
    EXPECT_EQ(status.code(), Code::kUnschedulable);
    return status.message();
  };
  EXPECT_EQ(post_filter({"used"}, false), "still not schedulable");
  EXPECT_EQ(post_filter({"idle"}, false, "NodeResourcesFit"), "still not schedulable");
  EXPECT_EQ(post_filter({"idle"}, true), "deallocation of ResourceClaim completed");
  EXPECT_TRUE(world.handle.updates().empty());  // that was a question
  EXPECT_EQ(post_filter({"used", "idle"}, false), "deallocation of ResourceClaim completed");
  EXPECT_FALSE(world.Claim("idle").status().has_allocation());
  EXPECT_EQ(post_filter({"mine"}, false), "deallocation of ResourceClaim completed");
  EXPECT_FALSE(world.Claim("mine").status().has_allocation());
  EXPECT_EQ(world.Claim("mine").status().reserved_for_size(), 0);
  EXPECT_TRUE(world.Claim("used").status().has_allocation());
}

// The pod was evicted from n0, and its claim's controller has not got there yet.
TEST(DynamicResourcesTest, APreemptorWaitsForTheDevicesOfPodsThatHaveGone) {
  DynamicResourcesArgs args;
  args.preempt_for_devices = true;
  const PodPtr user = PodOf({"theirs"}, "q");
  const auto post_filter = [&](const std::vector<NodeInfo>& nodes, absl::string_view nominated_to,
                               absl::Duration later) {
    FakeHandle handle(nodes,
                      Objects(kClass + SliceOf("n0", 1) + SliceOf("n1", 1) +
                              ClaimOf("theirs", kOne, AllocatedOn("n0", {"q"})) + ClaimOf("mine")));
    DynamicResources plugin(handle, args);
    handle.AddFilter(&plugin, &plugin);
    const PodPtr pod = PodOf({"mine"});
    if (!nominated_to.empty()) handle.fake_nominator().Nominate(pod, nominated_to);
    Status status;
    for (const absl::Duration passed : {absl::ZeroDuration(), later}) {
      handle.fake_clock().Advance(passed);
      CycleState state;
      PreFilterResult narrowed;
      EXPECT_TRUE(plugin.PreFilter(state, *pod, handle.nodes(), narrowed).ok());
      PostFilterResult result;
      status = plugin.PostFilter(state, *pod, OwnStatuses(), result);
      EXPECT_FALSE(result.nominated_node.has_value());  // stays
    }
    return status;
  };
  const NodeInfo n0 = MakeNode().Name("n0").Info(), n1 = MakeNode().Name("n1").Info();
  NodeInfo used = n0;
  used.AddPod(user);
  const Status waits = Status::UnschedulableAndUnresolvable(
      "waiting for the devices of claims that nobody uses any more on the nominated node");
  const Status does_not = Status::Unschedulable("still not schedulable");
  EXPECT_EQ(post_filter({n0, n1}, "n0", absl::Seconds(59)), waits);
  EXPECT_EQ(post_filter({n0, n1}, "n0", absl::Seconds(60)), does_not);  // for ever
  EXPECT_EQ(post_filter({n0, n1}, "", absl::Seconds(1)), does_not);
  EXPECT_EQ(post_filter({n0, n1}, "n1", absl::Seconds(1)), does_not);
  EXPECT_EQ(post_filter({used, n1}, "n0", absl::Seconds(1)), does_not);
  args.preempt_for_devices = false;
  EXPECT_EQ(post_filter({n0, n1}, "n0", absl::Seconds(1)), does_not);
}

// Its victims have gone, and the controller of claims has not got there yet.
TEST(DynamicResourcesTest, APlanOfAGangCountsDevicesOnTheirWayBackForAMinute) {
  DynamicResourcesArgs args;
  args.preempt_for_devices = true;
  const NodeInfo n0 = MakeNode().Name("n0").Info();
  NodeInfo used = n0;
  used.AddPod(PodOf({"theirs"}, "q"));
  enum class Plan { kNone, kOne };
  const auto fits_after = [&](const NodeInfo& node, const std::string& claim, Plan plan,
                              absl::Duration later) {
    FakeHandle handle({node}, Objects(kClass + SliceOf("n0", 1) + claim + ClaimOf("mine")));
    DynamicResources plugin(handle, args);
    const PodPtr pod = PodOf({"mine"});
    const auto made = handle.Shared<GoneInPlan>();
    bool fits = false;
    for (const absl::Duration passed : {absl::ZeroDuration(), later}) {
      handle.fake_clock().Advance(passed);
      made->number = plan == Plan::kOne ? ++made->plans : 0;
      CycleState state;
      PreFilterResult narrowed;
      EXPECT_TRUE(plugin.PreFilter(state, *pod, handle.nodes(), narrowed).ok());
      fits = plugin.Filter(state, *pod, handle.nodes().node(0)).ok();
      made->number = 0;
    }
    return fits;
  };
  const std::string of_q = ClaimOf("theirs", kOne, AllocatedOn("n0", {"q"}));
  const absl::Duration soon = absl::Seconds(59), late = absl::Seconds(60);
  EXPECT_TRUE(fits_after(n0, of_q, Plan::kOne, soon));
  EXPECT_FALSE(fits_after(n0, of_q, Plan::kOne, late));  // nobody frees it
  EXPECT_FALSE(fits_after(n0, of_q, Plan::kNone, soon));
  EXPECT_FALSE(fits_after(used, of_q, Plan::kOne, soon));
  const std::string of_something_else =
      absl::StrReplaceAll(of_q, {{"resource: pods", "resource: things"}});
  EXPECT_FALSE(fits_after(n0, of_something_else, Plan::kOne, soon));
  args.preempt_for_devices = false;
  EXPECT_FALSE(fits_after(n0, of_q, Plan::kOne, soon));
}

TEST(DynamicResourcesTest, IsQueuedAgainWhenItsClaimsOrDevicesChange) {
  World world(ClaimOf("c") + ClaimOf("e"));
  const PodPtr pod = PodOf({"c"});
  const auto after = [&](const std::string& before, const std::string& now) {
    return Queues(*world.plugin, pod, ChangedObject(before, now));
  };
  EXPECT_TRUE(after("", ClaimOf("c")));
  EXPECT_FALSE(after("", ClaimOf("e")));
  EXPECT_TRUE(after(ClaimOf("c"), ClaimOf("c", kOne, AllocatedOn("n0"))));
  EXPECT_FALSE(after(ClaimOf("c"), ClaimOf("c", kOne, "", ", labels: {a: b}")));
  EXPECT_FALSE(after(ClaimOf("e"), ClaimOf("e", kOne, AllocatedOn("n0"))));
  EXPECT_TRUE(after(ClaimOf("e", kOne, AllocatedOn("n0")), ClaimOf("e")));  // gave back a device
  world.handle.object_store().Remove(Kind::kResourceClaim, "default/c");
  EXPECT_FALSE(after(ClaimOf("e", kOne, AllocatedOn("n0")), ClaimOf("e")));
  EXPECT_TRUE(after("", SliceOf("n0", 1)));
  EXPECT_TRUE(after("", kClass));
  EXPECT_TRUE(Queues(*world.plugin, EventResource::Node(), action::kAdd, pod,
                     NodeAdded(MakeNode().Name("n"))));
}

TEST(DynamicResourcesTest, IsQueuedAgainWhenItsClaimIsMade) {
  World world(ClaimOf("c", kOne, "",
                      ", ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: default/p, "
                      "controller: true}]"));
  const auto after = [&](const PodPtr& now) {
    return Queues(*world.plugin, EventResource::Pod(), action::kUpdatePodGeneratedResourceClaim,
                  PodOfTemplate(""), PodUpdated(PodOfTemplate(""), now));
  };
  EXPECT_TRUE(after(PodOfTemplate("c")));
  EXPECT_FALSE(after(PodOfTemplate("gone")));
  EXPECT_FALSE(after(PodOf({"c"}, "other")));
}

TEST(DynamicResourcesTest, ExplainsWhatClaimsWouldGet) {
  World world(ClaimOf("c") + ClaimOf("there", kOne, AllocatedOn("n1")), SliceOf("n1", 2));
  const PodPtr pod = PodOf({"there", "c"});
  ASSERT_TRUE(world.PreFilter(pod).ok());
  const auto planned =
      world.plugin->ExplainAllocations(world.state, *pod, world.handle.nodes().node(1));
  ASSERT_EQ(planned.size(), 1u);
  EXPECT_EQ(planned[0].claim, "ref-c");
  EXPECT_EQ(planned[0].allocation->devices().results(0).device(), "x1");
  EXPECT_TRUE(
      world.plugin->ExplainAllocations(world.state, *pod, world.handle.nodes().node(0)).empty());
}

TEST(DynamicResourcesTest, SeveralProfilesShareWhatIsPromised) {
  World world(ClaimOf("c") + ClaimOf("e"), SliceOf("n0", 1));
  const auto other = MakePlugin<DynamicResources, DynamicResourcesArgs>(world.handle);
  const PodPtr pod = PodOf({"c"});
  ASSERT_TRUE(world.PreFilter(pod).ok());
  ASSERT_TRUE(world.plugin->Reserve(world.state, *pod, "n0").ok());
  EXPECT_EQ(RunFilter(*other, PodOf({"e"}, "q"), world.handle.nodes().node(0)),
            Unresolvable("cannot allocate all claims"));
}

TEST(DynamicResourcesTest, TheTimeoutIsCountedInSteps) {
  World world(ClaimOf("c", "requests: [{name: r, exactly: {deviceClassName: any, count: 12}}]") +
                  ClaimOf("e", "requests: [{name: r, exactly: {deviceClassName: any, count: 12}}]"),
              SliceOf("n0", 20));
  const auto plugin =
      MakePlugin<DynamicResources, DynamicResourcesArgs>(world.handle, "{filterTimeout: 1ms}");
  EXPECT_EQ(RunFilter(*plugin, PodOf({"c", "e"}), world.handle.nodes().node(0)),
            Unresolvable("timed out trying to allocate devices"));
}

TEST(DynamicResourcesTest, Args) {
  EXPECT_EQ(ArgsError<DynamicResourcesArgs>("{filterTimeout: 0s}"), "");
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>("{filterTimeout: -1s}"),
              HasSubstr("filterTimeout: Invalid value"));
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>("{bindingTimeout: 1m}"),
              HasSubstr("bindingTimeout: Forbidden: DRADeviceBindingConditions"));
  EXPECT_EQ(ArgsError<DynamicResourcesArgs>(kWaits), "");
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>(
                  "{featureGates: {DRADeviceBindingConditions: true}, bindingTimeout: 999ms}"),
              HasSubstr("bindingTimeout: Invalid value: \"999ms\": must be at least 1 second"));
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>("{featureGates: {DRADeviceTaintRules: true}}"),
              HasSubstr("\"DRADeviceTaintRules\": needs DRADeviceTaints, which is off"));
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>("{featureGates: {DRADeviceBindingConditions: true, "
                                              "DRAResourceClaimDeviceStatus: false}}"),
              HasSubstr("needs DRAResourceClaimDeviceStatus, which is off"));
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>("{featureGates: {DRA: true}}"),
              HasSubstr("no such feature gate; there are DRAAdminAccess, "));
  EXPECT_EQ(
      ArgsError<DynamicResourcesArgs>(
          "{featureGates: {DynamicResourceAllocation: true, DRASchedulerFilterTimeout: true}, "
          "filterTimeout: 1s}"),
      "");
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>("{featureGates: {DynamicResourceAllocation: false}}"),
              HasSubstr("cannot be set to false: it is locked to true"));
  EXPECT_EQ(ArgsError<DynamicResourcesArgs>("{featureGates: {DRASchedulerFilterTimeout: false}}"),
            "");
  EXPECT_THAT(
      ArgsError<DynamicResourcesArgs>(
          "{featureGates: {DRASchedulerFilterTimeout: false}, filterTimeout: 1s}"),
      HasSubstr("filterTimeout: Forbidden: DRASchedulerFilterTimeout feature gate is disabled"));
}

TEST(DynamicResourcesTest, TheFilterTimeoutHasADefaultAndAGate) {
  EXPECT_EQ(DynamicResourcesArgs().FilterTimeout(), absl::Seconds(10));
  DynamicResourcesArgs args;
  args.filter_timeout = absl::Seconds(2);
  EXPECT_EQ(args.FilterTimeout(), absl::Seconds(2));
  args.filter_timeout.reset();
  args.feature_gates["DRASchedulerFilterTimeout"] = false;
  EXPECT_EQ(args.FilterTimeout(), absl::ZeroDuration());
}

// As kube-scheduler v1.35 dynamicresources.go PreFilter: before any node is looked at.
TEST(DynamicResourcesTest, ListsNeedTheirGate) {
  World world(ClaimOf("c", kList), SliceOf("n0", 2), "{featureGates: {DRAPrioritizedList: false}}");
  EXPECT_EQ(world.PreFilter(PodOf({"c"})),
            Unresolvable("resource claim default/c, request r: has subrequests, but the "
                         "DRAPrioritizedList feature is disabled"));
}

// The allocator of 1.35 that knows binding conditions refuses them; the others do not look.
TEST(DynamicResourcesTest, CapacityRequestsWithoutTheirGate) {
  const std::string claims =
      ClaimOf("c",
              "requests: [{name: r, exactly: {deviceClassName: any, capacity: {requests: "
              "{memory: 1Gi}}}}]") +
      ClaimOf("e",
              "requests: [{name: r, firstAvailable: [{name: s, deviceClassName: any, capacity: "
              "{requests: {memory: 1Gi}}}]}]");
  World ignored(claims, SliceOf("n0", 2));
  EXPECT_TRUE(RunFilter(*ignored.plugin, PodOf({"c"}), ignored.handle.nodes().node(0)).ok());
  World refused(claims, SliceOf("n0", 2), "{featureGates: {DRADeviceBindingConditions: true}}");
  ASSERT_TRUE(refused.PreFilter(PodOf({"c"})).ok());
  EXPECT_EQ(refused.Filter(PodOf({"c"}), 0),
            Status::Error("claim default/c, request r: has capacity requests, but the "
                          "DRAConsumableCapacity feature is disabled"));
  ASSERT_TRUE(refused.PreFilter(PodOf({"e"})).ok());
  EXPECT_EQ(refused.Filter(PodOf({"e"}), 0),
            Status::Error("claim default/e, subrequest s: has capacity requests, but the "
                          "DRAConsumableCapacity feature is disabled"));
}

// --- DRAExtendedResource ---

constexpr char kExtended[] = "{featureGates: {DRAExtendedResource: true}}";
constexpr char kGpuClass[] =
    "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: "
    "{extendedResourceName: vendor.com/gpu}}\n---\n";

PodPtr PodWithGpus(absl::string_view gpus, absl::string_view name = "p") {
  return MakePod().Name(name).Request("vendor.com/gpu", gpus).Obj();
}

// The special claim of p, as an attempt before left it over.
constexpr char kLeftOver[] =
    "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: p-left, namespace: "
    "default, uid: left, annotations: {resource.kubernetes.io/extended-resource-claim: 'true'}, "
    "finalizers: [resource.kubernetes.io/delete-protection], ownerReferences: [{apiVersion: v1, "
    "kind: Pod, name: p, uid: default/p, controller: true}]}, spec: {devices: {requests: [{name: "
    "container-0-request-0, exactly: {deviceClassName: gpu}}]}}}\n---\n";

TEST(DynamicResourcesTest, DevicesStandForExtendedResources) {
  World world(kGpuClass, SliceOf("n1", 2), kExtended);
  const PodPtr pod = PodWithGpus("2");
  ASSERT_TRUE(world.PreFilter(pod).ok());
  EXPECT_EQ(world.Filter(pod, 0), Unresolvable("cannot allocate all claims"));
  ASSERT_TRUE(world.Filter(pod, 1).ok());
  ASSERT_TRUE(world.plugin->Reserve(world.state, *pod, "n1").ok());
  EXPECT_EQ(RunFilter(*world.plugin, PodWithGpus("1", "q"), world.handle.nodes().node(1)),
            Unresolvable("cannot allocate all claims"));
  EXPECT_TRUE(world.handle.objects().List(Kind::kResourceClaim).empty());
  ASSERT_TRUE(world.plugin->PreBind(world.state, *pod, "n1").ok());
  const api::ResourceClaim& claim = world.Claim("p-extended-resources-0");
  EXPECT_EQ(claim.metadata().annotations().at("resource.kubernetes.io/extended-resource-claim"),
            "true");
  EXPECT_EQ(claim.metadata().owner_references(0).uid(), "default/p");
  ASSERT_EQ(claim.spec().devices().requests_size(), 1);
  EXPECT_EQ(claim.spec().devices().requests(0).name(), "container-0-request-0");
  EXPECT_EQ(claim.spec().devices().requests(0).exactly().device_class_name(), "gpu");
  EXPECT_EQ(claim.spec().devices().requests(0).exactly().count(), 2);
  EXPECT_EQ(claim.status().allocation().devices().results_size(), 2);
  ASSERT_EQ(claim.status().reserved_for_size(), 1);
  EXPECT_EQ(claim.status().reserved_for(0).name(), "p");
  ASSERT_EQ(world.handle.patches().size(), 1U);
  const auto& written = world.handle.patches()[0].extended_resource_claim;
  ASSERT_NE(written, nullptr);
  EXPECT_EQ(written->resource_claim_name(), "p-extended-resources-0");
  ASSERT_EQ(written->request_mappings_size(), 1);
  EXPECT_EQ(written->request_mappings(0).resource_name(), "vendor.com/gpu");
  EXPECT_EQ(written->request_mappings(0).request_name(), "container-0-request-0");
  // What was promised is what the claim has now.
  EXPECT_EQ(RunFilter(*world.plugin, PodWithGpus("1", "q"), world.handle.nodes().node(1)),
            Unresolvable("cannot allocate all claims"));
  // The pod is not bound after all.
  world.plugin->Unreserve(world.state, *pod, "n1");
  EXPECT_TRUE(world.handle.objects().List(Kind::kResourceClaim).empty());
  EXPECT_TRUE(RunFilter(*world.plugin, PodWithGpus("2", "q"), world.handle.nodes().node(1)).ok());
}

// No API server lets such a pod through.
TEST(DynamicResourcesTest, AnAmountThatIsNotWholeIsSaid) {
  World world(kGpuClass, SliceOf("n1", 2), kExtended);
  const PodPtr pod = PodWithGpus("1100m");
  ASSERT_TRUE(world.PreFilter(pod).ok());
  EXPECT_THAT(std::string(world.Filter(pod, 0).message()),
              testing::HasSubstr("vendor.com/gpu: Invalid value: \"1100m\": must be an integer"));
}

TEST(DynamicResourcesTest, WithoutTheGateExtendedResourcesAreNoClaims) {
  World world(kGpuClass, SliceOf("n1", 2));
  EXPECT_TRUE(world.PreFilter(PodWithGpus("2")).IsSkip());
  World on("", SliceOf("n1", 2), kExtended);  // no class backs it
  EXPECT_TRUE(on.PreFilter(PodWithGpus("2")).IsSkip());
}

TEST(DynamicResourcesTest, ANodeThatHasTheResourceByItselfNeedsNoDevices) {
  FakeHandle handle({MakeNode().Name("n0").Allocatable("vendor.com/gpu", "4").Info(),
                     MakeNode().Name("n1").Info()},
                    Objects(absl::StrCat(kClass, kGpuClass, ClaimOf("c"), SliceOf("n0", 1))));
  const auto plugin = MakePlugin<DynamicResources, DynamicResourcesArgs>(handle, kExtended);
  const PodPtr pod = PodWithGpus("2");
  EXPECT_TRUE(RunFilter(*plugin, pod, handle.nodes().node(0)).ok());
  EXPECT_FALSE(RunFilter(*plugin, pod, handle.nodes().node(1)).ok());
  // With a claim of its own, too, for which there is one device: the special claim is not made.
  PodBuilder with_claim = MakePod();
  with_claim.Name("p").Request("vendor.com/gpu", "2");
  auto& reference = *with_claim.Message().mutable_spec()->add_resource_claims();
  reference.set_name("c");
  reference.set_resource_claim_name("c");
  const PodPtr both = with_claim.Obj();
  CycleState state;
  PreFilterResult narrowed;
  ASSERT_TRUE(plugin->PreFilter(state, *both, handle.nodes(), narrowed).ok());
  ASSERT_TRUE(plugin->Filter(state, *both, handle.nodes().node(0)).ok());
  ASSERT_TRUE(plugin->Reserve(state, *both, "n0").ok());
  ASSERT_TRUE(plugin->PreBind(state, *both, "n0").ok());
  EXPECT_EQ(handle.objects().List(Kind::kResourceClaim).size(), 1U);
  EXPECT_TRUE(handle.patches().empty());
}

TEST(DynamicResourcesTest, AResourceThatANodeHasNeitherWayDoesNotFit) {
  World world(kGpuClass, SliceOf("n1", 2), kExtended);
  PodBuilder pod = MakePod();
  pod.Name("p").Request("vendor.com/gpu", "1").Request("vendor.com/other", "1");
  EXPECT_EQ(RunFilter(*world.plugin, pod.Obj(), world.handle.nodes().node(1)),
            Unresolvable("cannot fit resource"));
}

TEST(DynamicResourcesTest, ASpecialClaimThatIsLeftOverIsDeletedFirst) {
  World world(absl::StrCat(kGpuClass, kLeftOver), SliceOf("n1", 2), kExtended);
  const PodPtr pod = PodWithGpus("1");
  ASSERT_TRUE(world.PreFilter(pod).ok());
  EXPECT_EQ(world.Filter(pod, 1), Unresolvable("cannot schedule extended resource claim"));
  PostFilterResult result;
  EXPECT_EQ(world.plugin->PostFilter(world.state, *pod, OwnStatuses(), result),
            Status::Unschedulable("deletion of ResourceClaim completed"));
  EXPECT_TRUE(world.handle.objects().List(Kind::kResourceClaim).empty());
  ASSERT_TRUE(world.PreFilter(pod).ok());
  EXPECT_TRUE(world.Filter(pod, 1).ok());
  // Another pod has nothing to do with it.
  World others(absl::StrCat(kGpuClass, kLeftOver), SliceOf("n1", 2), kExtended);
  EXPECT_TRUE(RunFilter(*others.plugin, PodWithGpus("1", "q"), others.handle.nodes().node(1)).ok());
}

// Upstream extendeddynamicresources.go createRequestsAndMappings.
TEST(DynamicResourcesTest, InitContainersUseTheDevicesOfLaterOnes) {
  const auto made = [](const std::string& containers) {
    const std::vector<Object> objects =
        Objects("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {" +
                containers + "}}");
    World world(kGpuClass, SliceOf("n1", 9), kExtended);
    const PodPtr pod = *PodInfo::Create(objects[0].packed());
    EXPECT_TRUE(world.PreFilter(pod).ok());
    EXPECT_TRUE(world.plugin->Reserve(world.state, *pod, "n1").ok());
    const Status bound = world.plugin->PreBind(world.state, *pod, "n1");
    EXPECT_TRUE(bound.ok()) << bound.ToString();
    std::vector<std::string> lines;
    for (const auto& request : world.Claim("p-extended-resources-0").spec().devices().requests()) {
      lines.push_back(absl::StrCat(request.name(), " ", request.exactly().count()));
    }
    for (const auto& mapping :
         world.handle.patches()[0].extended_resource_claim->request_mappings()) {
      lines.push_back(absl::StrCat(mapping.container_name(), ": ", mapping.request_name()));
    }
    return lines;
  };
  const auto gpus = [](int count) {
    return absl::StrCat("image: x, resources: {requests: {cpu: 1, vendor.com/gpu: '", count, "'}}");
  };
  EXPECT_THAT(
      made(absl::StrCat("containers: [{name: a, ", gpus(1), "}, {name: b, ", gpus(2), "}]")),
      ElementsAre("container-0-request-1 1", "container-1-request-1 2", "a: container-0-request-1",
                  "b: container-1-request-1"));
  // i needs one more than a and b have together, and j no more than a.
  EXPECT_THAT(
      made(absl::StrCat("initContainers: [{name: i, ", gpus(4), "}, {name: j, ", gpus(1),
                        "}], containers: [{name: a, ", gpus(1), "}, {name: b, ", gpus(2), "}]")),
      ElementsAre("container-0-request-1 1", "container-2-request-1 1", "container-3-request-1 2",
                  "a: container-2-request-1", "b: container-3-request-1",
                  "i: container-2-request-1", "i: container-3-request-1",
                  "i: container-0-request-1", "j: container-2-request-1"));
  // Two init containers share what the larger one needs; a sidecar before them has its own.
  EXPECT_THAT(
      made(absl::StrCat("initContainers: [{name: s, restartPolicy: Always, ", gpus(1),
                        "}, {name: i, ", gpus(2), "}, {name: j, ", gpus(3),
                        "}], containers: [{name: a, image: x}]")),
      ElementsAre("container-0-request-1 1", "container-2-request-1 3", "s: container-0-request-1",
                  "i: container-2-request-1", "j: container-2-request-1"));
}

// --- Explanations: `berth explain` shows both in its table and in its JSON ---

TEST(DynamicResourcesTest, ExplainsWhichDevicesAreTakenAndWhichSelectorRejectedWhich) {
  const std::string slice =
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
      "d, "
      "nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: x0, "
      "attributes: {model: {string: old}}}, {name: x1, attributes: {model: {string: "
      "new}}}]}}\n---\n";
  const std::string wants_new =
      "requests: [{name: r, exactly: {deviceClassName: any, selectors: [{cel: {expression: "
      "'device.attributes[\"d\"].model == \"new\"'}}]}}]";
  const auto explain = [&](World& world, const PodPtr& pod) {
    EXPECT_TRUE(world.PreFilter(pod).ok());
    std::vector<std::string> lines;
    const NodeInfo& node = world.handle.nodes().node(0);
    for (const NodeNote& note : world.plugin->ExplainNode(world.state, *pod, node)) {
      lines.push_back(absl::StrCat(note.name, ": ", note.text));
    }
    for (const PlannedAllocation& planned :
         world.plugin->ExplainAllocations(world.state, *pod, node)) {
      for (const auto& result : planned.allocation->devices().results()) {
        lines.push_back(absl::StrCat("planned ", planned.claim, ": ", result.device()));
      }
    }
    return lines;
  };
  constexpr char kOld[] = "d/n0/x0: selector #0: device.attributes[\"d\"].model == \"new\"";
  World free(ClaimOf("c", wants_new), slice);
  EXPECT_THAT(explain(free, PodOf({"c"})),
              ElementsAre("ref-c: gets r d/n0/x1", absl::StrCat("ref-c/r cannot have: ", kOld),
                          "planned ref-c: x1"));
  World taken(ClaimOf("c", wants_new) + ClaimOf("other", wants_new), slice);
  const PodPtr other = PodOf({"other"}, "q");
  ASSERT_TRUE(taken.PreFilter(other).ok());
  ASSERT_TRUE(taken.plugin->Reserve(taken.state, *other, "n0").ok());
  EXPECT_THAT(explain(taken, PodOf({"c"})),
              ElementsAre("ref-c/r: asks for 1 device, and can have none",
                          absl::StrCat("ref-c/r cannot have: d/n0/x1: in use; ", kOld)));
  World special(kGpuClass, SliceOf("n0", 1), kExtended);
  EXPECT_THAT(explain(special, PodWithGpus("1")),
              ElementsAre("<extended-resources>: gets container-0-request-0 (vendor.com/gpu of c1) "
                          "d/n0/x0",
                          "planned <extended-resources>: x0"));
}

}  // namespace
}  // namespace berth::testing
