// SPDX-License-Identifier: Apache-2.0
// Scores of nodes whose extended resource is devices: as kube-scheduler v1.35 noderesources
// resource_allocation.go calculateDRAExtendedResourceAllocatableRequest.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "plugins/dynamic_resources/dynamic_resources.h"
#include "plugins/node_resources/node_resources_balanced_allocation.h"
#include "plugins/node_resources/node_resources_fit.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr char kGates[] = "{featureGates: {DRAExtendedResource: true}}";
constexpr char kClassOfDriver[] =
    "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: "
    "{extendedResourceName: example.com/gpu, selectors: [{cel: {expression: 'device.driver == "
    "\"d\"'}}]}}\n---\n";

// A pool of the driver with the devices x0, x1 ... for `where`: "nodeName: n0", for instance.
std::string Pool(absl::string_view name, int devices, absl::string_view where,
                 absl::string_view driver = "d", int generation = 1) {
  std::string yaml = absl::Substitute(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: $0-$1-$4}, spec: "
      "{driver: $1, $2, pool: {name: $0, generation: $4, resourceSliceCount: $3}, devices: [",
      name, driver, where, 1, generation);
  for (int i = 0; i < devices; ++i) absl::StrAppend(&yaml, "{name: x", i, "}, ");
  return yaml + "]}}\n---\n";
}
std::string PoolOf(absl::string_view node, int devices) {
  return Pool(node, devices, absl::StrCat("nodeName: ", node));
}

// A claim that has devices x0, x1 ... of the pool. `more`: of each.
std::string Taken(absl::string_view pool, int devices, absl::string_view more = "",
                  absl::string_view driver = "d") {
  std::string yaml = absl::Substitute(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: $0-$1, namespace: "
      "default, uid: $0-$1}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: "
      "gpu}}]}}, status: {allocation: {devices: {results: [",
      pool, driver);
  for (int i = 0; i < devices; ++i) {
    absl::StrAppend(&yaml, "{request: r, driver: ", driver, ", pool: ", pool, ", device: x", i,
                    more, "}, ");
  }
  return yaml + "]}}}}\n---\n";
}

// Two nodes with 10 CPUs, and objects.
struct World {
  explicit World(const std::string& objects, absl::string_view args = kGates,
                 const NodeBuilder& n1 = MakeNode().Capacity("cpu", "10"))
      : handle(
            {MakeNode().Name("n0").Capacity("cpu", "10").Info(), NodeBuilder(n1).Name("n1").Info()},
            ObjectsFromYaml(kClassOfDriver + objects)),
        devices(MakePlugin<DynamicResources, DynamicResourcesArgs>(handle, args)) {}

  // Of a pod that wants a CPU and two GPUs.
  template <class P, class Args>
  std::vector<int64_t> Scores(absl::string_view args, int gpus = 2) {
    const PodPtr pod =
        gpus == 0
            ? MakePod().Request("cpu", "1").Obj()
            : MakePod().Request("cpu", "1").Request("example.com/gpu", absl::StrCat(gpus)).Obj();
    CycleState state;
    PreFilterResult narrowed;
    const Status status = devices->PreFilter(state, *pod, handle.nodes(), narrowed);
    EXPECT_TRUE(status.ok() || status.IsSkip());
    return RunScore(*MakePlugin<P, Args>(handle, args), pod, handle).value();
  }
  std::vector<int64_t> Fit(absl::string_view type, absl::string_view more = "") {
    return Scores<NodeResourcesFit, NodeResourcesFitArgs>(absl::Substitute(
        "{scoringStrategy: {type: $0, resources: [{name: cpu, weight: 1}, {name: example.com/gpu, "
        "weight: 3}]$1}}",
        type, more));
  }
  std::vector<int64_t> Balanced(int gpus = 2) {
    return Scores<NodeResourcesBalancedAllocation, NodeResourcesBalancedAllocationArgs>(
        "{resources: [{name: cpu, weight: 1}, {name: example.com/gpu, weight: 1}]}", gpus);
  }

  FakeHandle handle;
  std::unique_ptr<DynamicResources> devices;
};

// n0 has 8 devices, all free; n1 has 8, 4 of them taken. 1 of 10 CPUs is requested.
const std::string kHalfTaken = PoolOf("n0", 8) + PoolOf("n1", 8) + Taken("n1", 4);

TEST(DeviceScoreTest, FitCountsDevicesAsCapacity) {
  // (90 + 3 * (8-2)*100/8) / 4 = (90 + 3*75) / 4, and (90 + 3 * (8-4-2)*100/8) / 4.
  EXPECT_THAT(World(kHalfTaken).Fit("LeastAllocated"), ElementsAre(78, 41));
  // (10 + 3 * 2*100/8) / 4, and (10 + 3 * (4+2)*100/8) / 4.
  EXPECT_THAT(World(kHalfTaken).Fit("MostAllocated"), ElementsAre(21, 58));
  // Utilisation is the score: (10 + 3*25) / 4 = 21.25, and (10 + 3*75) / 4 = 58.75, rounded.
  EXPECT_THAT(World(kHalfTaken)
                  .Fit("RequestedToCapacityRatio",
                       ", requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, "
                       "{utilization: 100, score: 10}]}"),
              ElementsAre(21, 59));
}

TEST(DeviceScoreTest, BalancedAllocationCountsDevicesAsCapacity) {
  // 100 * (1 - |0.1 - 0.25| / 2), and 100 * (1 - |0.1 - 0.75| / 2).
  EXPECT_THAT(World(kHalfTaken).Balanced(), ElementsAre(92, 67));
  // A pod that does not ask for them: CPU alone.
  EXPECT_THAT(World(kHalfTaken).Balanced(0), ElementsAre(100, 100));
}

TEST(DeviceScoreTest, ANodeThatHasTheResourceByItselfIsScoredByThat) {
  // n1: (90 + 3 * (4-2)*100/4) / 4.
  EXPECT_THAT(World(PoolOf("n0", 8) + PoolOf("n1", 8), kGates,
                    MakeNode().Capacity("cpu", "10").Capacity("example.com/gpu", "4"))
                  .Fit("LeastAllocated"),
              ElementsAre(78, 60));
}

TEST(DeviceScoreTest, ANodeWithoutDevicesIsScoredByTheRest) {
  EXPECT_THAT(World(PoolOf("n0", 8)).Fit("LeastAllocated"), ElementsAre(78, 90));
  EXPECT_THAT(World(PoolOf("n0", 8)).Balanced(), ElementsAre(92, 100));
  // As all nodes without the gate.
  EXPECT_THAT(World(kHalfTaken, "{}").Fit("LeastAllocated"), ElementsAre(90, 90));
}

TEST(DeviceScoreTest, WhichDevicesCount) {
  struct Case {
    absl::string_view name;
    std::string objects;
    std::vector<int64_t> want;
  };
  const std::vector<Case> cases = {
      {"those of other drivers do not match the class",
       PoolOf("n0", 8) + PoolOf("n1", 8) + Pool("n1", 8, "nodeName: n1", "other") +
           Taken("n1", 8, "", "other"),
       {78, 78}},
      {"admin access takes none",
       PoolOf("n0", 8) + PoolOf("n1", 8) + Taken("n1", 4, ", adminAccess: true"),
       {78, 78}},
      {"devices for all nodes are those of each",
       Pool("net", 8, "allNodes: true") + Taken("net", 4),
       {41, 41}},
      {"an older generation is gone",
       PoolOf("n0", 8) + Pool("n1", 8, "nodeName: n1") + Pool("n1", 4, "nodeName: n1", "d", 2),
       // n1: (90 + 3 * (4-2)*100/4) / 4
       {78, 60}},
  };
  for (const Case& c : cases) EXPECT_EQ(World(c.objects).Fit("LeastAllocated"), c.want) << c.name;
}

// As structured.IsDeviceAllocated: a device of which a claim has a share counts as taken.
TEST(DeviceScoreTest, AShareTakesTheDevice) {
  const std::string objects =
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
      "d, "
      "nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: x0, "
      "allowMultipleAllocations: true, capacity: {memory: {value: 8Gi}}}, {name: x1}, {name: x2}, "
      "{name: x3}]}}\n---\n" +
      Taken("n0", 1, ", shareID: s, consumedCapacity: {memory: 1Gi}");
  // (90 + 3 * (4-1-2)*100/4) / 4.
  EXPECT_THAT(
      World(objects, "{featureGates: {DRAExtendedResource: true, DRAConsumableCapacity: true}}")
          .Fit("LeastAllocated"),
      ElementsAre(41, 90));
}

// What pods are promised counts before their claims say so, and no longer when it is given back.
TEST(DeviceScoreTest, PromisedDevicesCount) {
  World world(PoolOf("n0", 8) + PoolOf("n1", 8));
  const PodPtr other = MakePod().Name("other").Request("example.com/gpu", "4").Obj();
  CycleState state;
  PreFilterResult narrowed;
  ASSERT_TRUE(world.devices->PreFilter(state, *other, world.handle.nodes(), narrowed).ok());
  ASSERT_TRUE(world.devices->Reserve(state, *other, "n1").ok());
  EXPECT_THAT(world.Fit("LeastAllocated"), ElementsAre(78, 41));
  world.devices->Unreserve(state, *other, "n1");
  EXPECT_THAT(world.Fit("LeastAllocated"), ElementsAre(78, 78));
}

// deviceScoring scores the devices of the special claim as those of any other.
TEST(DeviceScoreTest, DeviceScoringSeesExtendedResources) {
  const auto scores = [&](absl::string_view scoring) {
    World world(PoolOf("n0", 8) + PoolOf("n1", 8) + Taken("n1", 4),
                absl::Substitute("{deviceScoring: $0, featureGates: {DRAExtendedResource: true}}",
                                 scoring));
    const PodPtr pod = MakePod().Request("example.com/gpu", "2").Obj();
    CycleState state;
    PreFilterResult narrowed;
    EXPECT_TRUE(world.devices->PreFilter(state, *pod, world.handle.nodes(), narrowed).ok());
    std::vector<int64_t> of_nodes(2);
    const std::vector<NodeRow> rows = {0, 1};
    EXPECT_TRUE(
        world.devices->ScoreNodes(state, *pod, world.handle.nodes(), rows, absl::MakeSpan(of_nodes))
            .ok());
    EXPECT_TRUE(world.devices->NormalizeScores(state, *pod, rows, absl::MakeSpan(of_nodes)).ok());
    return of_nodes;
  };
  EXPECT_THAT(scores("FirstFit"), ElementsAre(0, 0));
  // A pair out of four leaves a pair; out of eight it breaks a block of eight and one of four.
  EXPECT_THAT(scores("ExpectedWaste"), ElementsAre(0, 100));
}

}  // namespace
}  // namespace berth::testing
