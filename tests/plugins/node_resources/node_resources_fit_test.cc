// SPDX-License-Identifier: Apache-2.0
// Tests of NodeResourcesFit's filter, arguments and hints, after kube-scheduler's own tables.
#include "plugins/node_resources/node_resources_fit.h"

#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/plugins/random_cluster.h"
#include "tests/plugins/run_plugin.h"
#include "tests/plugins/shared_reasons.h"

namespace berth::testing {
namespace {

std::unique_ptr<NodeResourcesFit> MakeFit(FakeHandle& handle, absl::string_view yaml = "{}") {
  return MakePlugin<NodeResourcesFit, NodeResourcesFitArgs>(handle, yaml);
}

// A node with 10 milli-CPU, 20 bytes of memory, 20 of storage and 5 of example.com/a.
NodeBuilder SmallNode(int pods = 32) {
  return MakeNode()
      .Name("n")
      .Capacity("cpu", "10m")
      .Capacity("memory", "20")
      .Capacity("ephemeral-storage", "20")
      .Capacity("example.com/a", "5")
      .Capacity("hugepages-2Mi", "5")
      .Pods(pods);
}
PodBuilder PodOf(int milli_cpu, int memory) {
  return MakePod()
      .Request("cpu", absl::StrCat(milli_cpu, "m"))
      .Request("memory", absl::StrCat(memory));
}
Status Unschedulable(std::vector<std::string> reasons) {
  return Status::Make(Code::kUnschedulable, std::move(reasons));
}
Status TooSmall(std::vector<std::string> reasons) {
  return Status::Make(Code::kUnschedulableAndUnresolvable, std::move(reasons));
}

struct Case {
  absl::string_view name;
  PodBuilder pod;
  std::vector<PodBuilder> running;
  Status want;
  absl::string_view args = "{}";
  NodeBuilder node = SmallNode();
};

void ExpectFilter(const std::vector<Case>& cases) {
  FakeHandle handle;
  for (const Case& c : cases) {
    std::vector<PodPtr> running;
    for (const PodBuilder& pod : c.running) running.push_back(pod.Obj());
    EXPECT_EQ(RunFilter(*MakeFit(handle, c.args), c.pod.Obj(), c.node.Info(running)), c.want)
        << c.name;
  }
}

TEST(NodeResourcesFitTest, CpuAndMemory) {
  ExpectFilter({
      {"nothing requested", MakePod(), {PodOf(10, 20)}, Status::Success()},
      {"both occupied",
       PodOf(1, 1),
       {PodOf(10, 20)},
       Unschedulable({"Insufficient cpu", "Insufficient memory"})},
      {"room left", PodOf(1, 1), {PodOf(5, 5)}, Status::Success()},
      {"exactly enough", PodOf(5, 1), {PodOf(5, 19)}, Status::Success()},
      {"cpu occupied", PodOf(6, 1), {PodOf(5, 5)}, Unschedulable({"Insufficient cpu"})},
      {"memory occupied", PodOf(1, 2), {PodOf(5, 19)}, Unschedulable({"Insufficient memory"})},
      {"more than the node has: no eviction helps",
       PodOf(11, 1),
       {},
       TooSmall({"Insufficient cpu"})},
      {"one occupied, one too small",
       PodOf(6, 21),
       {PodOf(5, 5)},
       TooSmall({"Insufficient cpu", "Insufficient memory"})},
  });
}

// What a row of many lacks is a bit for each resource, unless differences might overflow.
class ManyNodes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Resources, ManyNodes, ::testing::Values(0, 1, 3, 6, 7, 8, 61, 62, 63));

TEST_P(ManyNodes, ReportTheStatusOfEachNode) {
  const unsigned seed = 31 + static_cast<unsigned>(GetParam());
  SCOPED_TRACE(seed);
  Random random(seed);
  enum class Huge { kNothing, kSomeNodes, kRequest };
  for (const Huge huge : {Huge::kNothing, Huge::kSomeNodes, Huge::kRequest}) {
    const auto huge_amount = [&random] {
      return absl::StrCat(std::numeric_limits<int64_t>::max() - random.Below(3));
    };
    std::vector<NodeInfo> infos;
    for (int i = 0; i < 300; ++i) {
      NodeBuilder node = MakeNode().Name(absl::StrCat("n", i)).Pods(random.Below(9));
      PodBuilder running = MakePod();
      for (int k = 0; k < GetParam(); ++k) {
        const bool lacks = random.Below(2 * GetParam()) == 0;
        const bool is_small = lacks && random.Below(2) == 0;
        const bool is_huge = huge == Huge::kSomeNodes && k == 0 && i > 130 && i < 140;
        node.Capacity(absl::StrCat("example.com/", k),
                      is_huge ? huge_amount() : absl::StrCat(is_small ? random.Below(4) : 10));
        running.Request(absl::StrCat("example.com/", k),
                        absl::StrCat(lacks ? 10 : random.Below(6)));
      }
      std::vector<PodPtr> pods;
      if (random.Below(2) == 0) pods.push_back(running.Obj());
      infos.push_back(node.Info(pods));
    }
    const TestNodes nodes(std::move(infos));
    PodBuilder builder = MakePod();
    for (int k = 0; k < GetParam(); ++k) {
      builder.Request(absl::StrCat("example.com/", k), huge == Huge::kRequest && k == 0
                                                           ? huge_amount()
                                                           : absl::StrCat(1 + random.Below(5)));
    }
    const PodPtr pod = builder.Obj();
    int requests = 0;
    pod->requests().ForEach([&](ResourceId, int64_t) { ++requests; });
    ASSERT_EQ(requests, GetParam());
    FakeHandle handle;
    const auto fit = MakeFit(handle);
    CycleState state;
    PreFilterResult result;
    ASSERT_TRUE(fit->PreFilter(state, *pod, nodes.table(), result).ok());
    for (const bool all : {true, false}) {
      std::vector<NodeRow> rows;
      for (NodeRow row = 0; row < nodes.table().size(); ++row) {
        if (all || random.Below(3) > 0) rows.push_back(row);
      }
      NodeVerdicts verdicts;
      verdicts.Reset(nodes.table().size());
      verdicts.BeginBlock(rows);
      ASSERT_TRUE(fit->FilterNodes(state, *pod, nodes.table(), verdicts).ok());
      SharedReasons reasons;
      std::map<Code, int> told;
      int shared = 0;
      for (const NodeRow row : rows) {
        const Status status = fit->Filter(state, *pod, nodes.node(row));
        ++told[status.code()];
        shared += reasons.Check(verdicts, row, status);
      }
      if (huge == Huge::kRequest && GetParam() > 0) continue;
      EXPECT_GT(told[Code::kUnschedulable], 10);
      if (GetParam() == 0) continue;
      EXPECT_GT(told[Code::kSuccess], 10);
      EXPECT_GT(told[Code::kUnschedulableAndUnresolvable], 5);
      if (GetParam() < 8) {
        EXPECT_GT(shared, 10);
      }
    }
  }
}

TEST(NodeResourcesFitTest, InitContainersAndOverhead) {
  const auto with_init = [](int cpu, int init_cpu) {
    return PodOf(cpu, 1).InitContainer().Request("cpu", absl::StrCat(init_cpu, "m"));
  };
  ExpectFilter({
      {"an init container too large",
       with_init(1, 3),
       {PodOf(8, 5)},
       Unschedulable({"Insufficient cpu"})},
      {"the largest init container counts",
       with_init(1, 3).InitContainer().Request("cpu", "2m"),
       {PodOf(7, 5)},
       Status::Success()},
      {"overhead counts",
       PodOf(1, 1).Overhead("cpu", "2m"),
       {PodOf(8, 5)},
       Unschedulable({"Insufficient cpu"})},
      {"a sidecar runs along",
       PodOf(1, 1).Sidecar().Request("cpu", "2m"),
       {PodOf(8, 5)},
       Unschedulable({"Insufficient cpu"})},
      {"requests of the pod count instead",
       PodOf(1, 1).PodLevelRequest("cpu", "3m"),
       {PodOf(8, 5)},
       Unschedulable({"Insufficient cpu"})},
  });
}

TEST(NodeResourcesFitTest, OtherResources) {
  ExpectFilter({
      {"extended resource fits", MakePod().Request("example.com/a", "3"), {}, Status::Success()},
      {"extended resource occupied",
       MakePod().Request("example.com/a", "3"),
       {MakePod().Request("example.com/a", "3")},
       Unschedulable({"Insufficient example.com/a"})},
      {"extended resource that the node does not have",
       MakePod().Request("example.com/b", "1"),
       {},
       TooSmall({"Insufficient example.com/b"})},
      {"zero of it", MakePod().Request("example.com/b", "0"), {}, Status::Success()},
      {"two containers sum up",
       MakePod().Request("example.com/a", "3").Container().Request("example.com/a", "3"),
       {},
       TooSmall({"Insufficient example.com/a"})},
      {"huge pages",
       MakePod().Request("hugepages-2Mi", "6"),
       {},
       TooSmall({"Insufficient hugepages-2Mi"})},
      {"ephemeral storage",
       MakePod().Request("ephemeral-storage", "10"),
       {MakePod().Request("ephemeral-storage", "15")},
       Unschedulable({"Insufficient ephemeral-storage"})},
      {"reasons by resource, then by name",
       MakePod()
           .Request("example.com/z", "1")
           .Request("example.com/c", "1")
           .Request("memory", "21"),
       {},
       TooSmall(
           {"Insufficient memory", "Insufficient example.com/c", "Insufficient example.com/z"})},
  });
}

TEST(NodeResourcesFitTest, IgnoredResources) {
  ExpectFilter({
      {"by name",
       MakePod().Request("example.com/b", "1"),
       {},
       Status::Success(),
       "{ignoredResources: [example.com/b]}"},
      {"another name",
       MakePod().Request("example.com/bb", "1"),
       {},
       TooSmall({"Insufficient example.com/bb"}),
       "{ignoredResources: [example.com/b]}"},
      {"by group",
       MakePod().Request("example.com/b", "1"),
       {},
       Status::Success(),
       "{ignoredResourceGroups: [example.com]}"},
      {"the rest still counts",
       MakePod().Request("example.com/b", "1").Request("kubernetes.io/c", "1"),
       {},
       TooSmall({"Insufficient kubernetes.io/c"}),
       "{ignoredResourceGroups: [example.com]}"},
      {"cpu cannot be ignored",
       PodOf(11, 1),
       {},
       TooSmall({"Insufficient cpu"}),
       "{ignoredResources: [cpu]}"},
  });
}

TEST(NodeResourcesFitTest, NumberOfPods) {
  ExpectFilter({
      {"full", MakePod(), {MakePod()}, Unschedulable({"Too many pods"}), "{}", SmallNode(1)},
      {"room for one", MakePod(), {}, Status::Success(), "{}", SmallNode(1)},
      {"full, and too small",
       PodOf(11, 1),
       {MakePod()},
       TooSmall({"Too many pods", "Insufficient cpu"}),
       "{}",
       SmallNode(1)},
  });
}

TEST(NodeResourcesFitTest, FilterNeedsPreFilter) {
  FakeHandle handle;
  EXPECT_TRUE(
      MakeFit(handle)->Filter(CycleState(), *MakePod().Obj(), SmallNode().Info()).IsError());
}

TEST(NodeResourcesFitTest, PodChanges) {
  FakeHandle handle;
  const auto plugin = MakeFit(handle);
  const PodPtr pod = PodOf(1, 1).Name("p").Obj();
  const auto queues = [&](const ObjectChange& change, ActionType action) {
    return Queues(*plugin, EventResource::Pod(), action, pod, change);
  };
  const auto running = [](int cpu, int memory) {
    return PodOf(cpu, memory).Name("other").NodeName("n").Obj();
  };
  EXPECT_TRUE(queues(PodDeleted(running(1, 1)), action::kDelete));
  EXPECT_TRUE(queues(PodDeleted(MakePod().NominatedNodeName("n").Obj()), action::kDelete));
  EXPECT_FALSE(queues(PodDeleted(PodOf(1, 1).Obj()), action::kDelete));

  constexpr ActionType kScaleDown = action::kUpdatePodScaleDown;
  EXPECT_TRUE(queues(PodUpdated(running(2, 1), running(1, 1)), kScaleDown));
  EXPECT_FALSE(queues(PodUpdated(running(2, 1), running(2, 1)), kScaleDown));
  EXPECT_FALSE(queues(PodUpdated(MakePod().NodeName("n").Request("example.com/a", "2").Obj(),
                                 MakePod().NodeName("n").Request("example.com/a", "1").Obj()),
                      kScaleDown))
      << "a resource that the pod does not want";
  EXPECT_FALSE(queues(PodUpdated(PodOf(2, 1).Name("other").Obj(), PodOf(1, 1).Name("other").Obj()),
                      kScaleDown))
      << "not on a node";
  EXPECT_TRUE(queues(PodUpdated(PodOf(2, 1).Name("p").Obj(), pod), kScaleDown)) << "itself";
}

TEST(NodeResourcesFitTest, NodeChanges) {
  FakeHandle handle;
  const auto plugin = MakeFit(handle);
  const PodPtr pod = PodOf(5, 5).Obj();
  const auto queues = [&](const ObjectChange& change, ActionType action) {
    return Queues(*plugin, EventResource::Node(), action, pod, change);
  };
  const auto node = [](absl::string_view cpu, int pods = 10) {
    return SmallNode(pods).Capacity("cpu", cpu);
  };
  constexpr ActionType kAllocatable = action::kUpdateNodeAllocatable;
  EXPECT_TRUE(queues(NodeAdded(node("5m")), action::kAdd));
  EXPECT_FALSE(queues(NodeAdded(node("4m")), action::kAdd));
  EXPECT_FALSE(queues(NodeAdded(node("5m", 0)), action::kAdd));
  EXPECT_TRUE(queues(NodeUpdated(node("4m"), node("5m")), kAllocatable));
  EXPECT_FALSE(queues(NodeUpdated(node("6m"), node("5m")), kAllocatable));
  EXPECT_FALSE(queues(NodeUpdated(node("3m"), node("4m")), kAllocatable));
  EXPECT_TRUE(queues(NodeUpdated(node("5m", 1), node("5m", 2)), kAllocatable));
  EXPECT_FALSE(
      queues(NodeUpdated(node("5m"), node("5m").Capacity("example.com/a", "50")), kAllocatable));
}

TEST(NodeResourcesFitArgsTest, WhatIsWrongIsSaid) {
  struct Case {
    absl::string_view yaml, want;
  };
  for (const Case& c : {
           Case{"{ignoredResources: ['no/two/slashes']}", "ignoredResources[0]: Invalid value"},
           Case{"{ignoredResourceGroups: [example.com/gpu]}",
                "resource group name can't contain '/'"},
           Case{"{scoringStrategy: {type: NoSuch}}",
                "scoringStrategy.type: Unsupported value: \"NoSuch\": supported values: "
                "\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\""},
           Case{"{scoringStrategy: {resources: [{name: cpu}]}}",
                "scoringStrategy.type: Unsupported value"},
           Case{"{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 101}]}}",
                "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu "
                "not in valid range (0, 100]"},
           Case{"{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: -1}]}}",
                "resource weight of cpu not in valid range (0, 100]"},
           Case{"{scoringStrategy: {type: RequestedToCapacityRatio}}",
                "scoringStrategy.requestedToCapacityRatio: Required value"},
           Case{"{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: "
                "{shape: []}}}",
                "shape: Required value: at least one point must be specified"},
           Case{"{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: "
                "{shape: [{utilization: 50, score: 1}, {utilization: 50, score: 2}]}}}",
                "shape[1].utilization: Invalid value: 50: values must be sorted in increasing "
                "order"},
           Case{"{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: "
                "{shape: [{utilization: 101, score: 1}]}}}",
                "shape[0].utilization: Invalid value: 101: not in valid range [0, 100]"},
           Case{"{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: "
                "{shape: [{utilization: 1, score: 11}]}}}",
                "shape[0].score: Invalid value: 11: not in valid range [0, 10]"},
       }) {
    EXPECT_THAT(ArgsError<NodeResourcesFitArgs>(c.yaml), HasSubstr(std::string(c.want))) << c.yaml;
  }
}

TEST(NodeResourcesFitArgsTest, DefaultsAreFilledIn) {
  const PluginArgs args =
      PluginArgs::Parse(
          "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu}, {name: memory, weight: "
          "0}]}}",
          NodeResourcesFitArgs::Fields())
          .value();
  const ScoringStrategy& strategy = *args.As<NodeResourcesFitArgs>().scoring_strategy;
  EXPECT_EQ(strategy.resources[0].weight, 1);
  EXPECT_EQ(strategy.resources[1].weight, 1);
  const PluginArgs no_resources =
      PluginArgs::Parse("{scoringStrategy: {type: MostAllocated}}", NodeResourcesFitArgs::Fields())
          .value();
  EXPECT_EQ(no_resources.As<NodeResourcesFitArgs>().scoring_strategy->resources.size(), 2);
}

// --- DRAExtendedResource ---

constexpr char kGpuClass[] =
    "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: "
    "{extendedResourceName: example.com/gpu}}";

TEST(NodeResourcesFitTest, DevicesStandForAResourceOnlyWhereTheyAreAllocated) {
  FakeHandle handle({}, ObjectsFromYaml(kGpuClass));
  const auto fit = MakeFit(handle);
  const PodPtr pod =
      MakePod().Request("cpu", "1m").Request("example.com/gpu", "2").Request("gpu.io/x", "1").Obj();
  const NodeInfo without = SmallNode().Capacity("gpu.io/x", "1").Info();
  const NodeInfo with =
      SmallNode().Capacity("gpu.io/x", "1").Capacity("example.com/gpu", "1").Info();
  EXPECT_EQ(RunFilter(*fit, pod, without), TooSmall({"Insufficient example.com/gpu"}));
  EXPECT_EQ(fit->EventsToRegister().size(), 2U);
  // From now on DynamicResources of the profile does.
  const auto classes = handle.Shared<ExtendedResourceClasses>();
  classes->Enable("another");
  EXPECT_EQ(RunFilter(*fit, pod, without), TooSmall({"Insufficient example.com/gpu"}));
  classes->Enable(handle.profile_name());
  EXPECT_TRUE(RunFilter(*fit, pod, without).ok());
  EXPECT_EQ(RunFilter(*fit, pod, with), TooSmall({"Insufficient example.com/gpu"}));
  EXPECT_EQ(RunFilter(*fit, pod, SmallNode().Info()), TooSmall({"Insufficient gpu.io/x"}));
  // Sums do not tell.
  CycleState state;
  PreFilterResult narrowed;
  ASSERT_TRUE(fit->PreFilter(state, *pod, handle.nodes(), narrowed).ok());
  EXPECT_FALSE(fit->ResourcesNeededBy(state, *pod).is_all);
  const PodPtr plain = PodOf(1, 1).Obj();
  ASSERT_TRUE(fit->PreFilter(state, *plain, handle.nodes(), narrowed).ok());
  EXPECT_TRUE(fit->ResourcesNeededBy(state, *plain).is_all);
}

TEST(NodeResourcesFitTest, ANodeWithDevicesAndAClassMayHelp) {
  FakeHandle handle({}, ObjectsFromYaml(kGpuClass));
  const auto fit = MakeFit(handle);
  handle.Shared<ExtendedResourceClasses>()->Enable(handle.profile_name());
  const std::vector<ClusterEventWithHint> events = fit->EventsToRegister();
  ASSERT_EQ(events.size(), 3U);
  const PodPtr pod = MakePod().Request("example.com/gpu", "2").Obj();
  const PodPtr implicit = MakePod().Request("deviceclass.resource.kubernetes.io/gpu", "1").Obj();
  const PodPtr other = MakePod().Request("example.com/a", "9").Obj();
  const auto node = std::make_shared<const NodeInfo>(SmallNode().Info());
  const auto small =
      std::make_shared<const NodeInfo>(SmallNode().Capacity("example.com/gpu", "1").Info());
  EXPECT_EQ(events[1].hint(*pod, {.new_node = node}).value(), QueueingHint::kQueue);
  EXPECT_EQ(events[1].hint(*pod, {.old_node = node, .new_node = node}).value(),
            QueueingHint::kQueue);
  EXPECT_EQ(events[1].hint(*pod, {.new_node = small}).value(), QueueingHint::kSkip);
  EXPECT_EQ(events[1].hint(*other, {.new_node = node}).value(), QueueingHint::kSkip);
  const Object now = ObjectsFromYaml(kGpuClass)[0];
  const Object before = ObjectsFromYaml(
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {}}")[0];
  const auto hint = [&](const PodPtr& of, const Object* old_object, const Object* new_object) {
    return events[2].hint(*of, {.old_object = old_object, .new_object = new_object}).value();
  };
  EXPECT_EQ(hint(pod, nullptr, &now), QueueingHint::kQueue);
  EXPECT_EQ(hint(implicit, nullptr, &now), QueueingHint::kQueue);
  EXPECT_EQ(hint(other, nullptr, &now), QueueingHint::kSkip);
  EXPECT_EQ(hint(pod, &before, &now), QueueingHint::kQueue);
  EXPECT_EQ(hint(pod, &now, &now), QueueingHint::kSkip);
  EXPECT_EQ(hint(pod, &now, &before), QueueingHint::kSkip);
  EXPECT_EQ(hint(implicit, &before, &now), QueueingHint::kSkip);
}

}  // namespace
}  // namespace berth::testing
