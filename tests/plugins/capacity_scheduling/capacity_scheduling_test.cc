// SPDX-License-Identifier: Apache-2.0
// CapacityScheduling: who is admitted, who may evict whom, and that the books are right.
#include "plugins/capacity_scheduling/capacity_scheduling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/plugins/run_plugin.h"
#include "tests/preemption/small_cluster.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::NodeBuilder;
using ::berth::testing::Plan;
using ::berth::testing::PlanFor;
using ::berth::testing::PodBuilder;
using ::berth::testing::PodPtr;
using ::berth::testing::SmallCluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::string_view kGpu = "example.com/gpu";
constexpr int32_t kMid = 100, kHigh = 1000;

absl::Time Day(int day) { return absl::UnixEpoch() + absl::Hours(24 * day); }

// "min: {a: 1}, max: {a: 2}" of a namespace, as a manifest.
std::string QuotaYaml(absl::string_view namespace_name, absl::string_view spec,
                      absl::string_view name = "quota") {
  return absl::StrCat(
      "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {name: ", name,
      ", namespace: ", namespace_name, "}\nspec: {", spec, "}\n");
}
std::string Memory(int min, int max) {
  return absl::StrCat("min: {memory: ", min, "}, max: {memory: ", max, "}");
}
PodBuilder Pod(absl::string_view name, absl::string_view namespace_name, int memory,
               int32_t priority = kMid) {
  PodBuilder pod = MakePod().Name(name).Namespace(namespace_name).Priority(priority);
  return memory == 0 ? pod : pod.Request("memory", absl::StrCat(memory));
}
PodBuilder On(absl::string_view node, PodBuilder pod) { return pod.NodeName(node).Started(Day(1)); }
NodeBuilder Node(absl::string_view name, int memory) {
  return MakeNode().Name(name).Capacity("memory", absl::StrCat(memory)).Capacity("cpu", "64");
}

class CapacitySchedulingTest : public ::testing::Test {
 protected:
  CapacitySchedulingTest() : plugin_(cluster_) {
    cluster_.Observe(plugin_);
    cluster_.Extend(plugin_);
  }

  void SetQuota(absl::string_view namespace_name, absl::string_view spec,
                absl::string_view name = "quota") {
    cluster_.AddYaml(QuotaYaml(namespace_name, spec, name));
  }
  Status PreFilter(const PodBuilder& pod) {
    CycleState state;
    PreFilterResult narrowed;
    return plugin_.PreFilter(state, *pod.Obj(), cluster_.nodes(), narrowed);
  }
  Plan PlanOf(const PodBuilder& pod) { return PlanFor(cluster_, plugin_, *pod.Obj(), &plugin_); }
  int64_t Used(absl::string_view namespace_name, absl::string_view resource) {
    return plugin_.ledger()
        .UsageOf(Symbol::Intern(namespace_name))
        .used.Get(ResourceIdOf(resource));
  }

  SmallCluster cluster_;
  CapacityScheduling plugin_;
};

// --- Admission ---

TEST_F(CapacitySchedulingTest, RejectsWhatExceedsTheMax) {
  SetQuota("ns1", Memory(3000, 2000));
  cluster_.Add(Node("a", 10000)).Add(On("a", Pod("used", "ns1", 300)));
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 1700)).ok());
  EXPECT_EQ(PreFilter(Pod("p", "ns1", 1701)),
            Status::Unschedulable("Pod ns1/p is rejected in PreFilter because ElasticQuota ns1 is "
                                  "more than Max"));
  EXPECT_TRUE(PreFilter(Pod("p", "without-quota", 9000)).ok());
}

TEST_F(CapacitySchedulingTest, RejectsWhatExceedsAllMinsTogether) {
  SetQuota("ns1", Memory(1000, 2000));
  SetQuota("ns2", Memory(1000, 2000));
  cluster_.Add(Node("a", 10000))
      .Add(On("a", Pod("lender", "ns2", 200)))
      .Add(On("a", Pod("borrower", "ns1", 1600)))
      .Add(On("a", Pod("elsewhere", "ns3", 5000)));
  EXPECT_TRUE(PreFilter(Pod("p", "ns2", 200)).ok());
  EXPECT_EQ(PreFilter(Pod("p", "ns2", 201)),
            Status::Unschedulable("Pod ns2/p is rejected in PreFilter because total ElasticQuota "
                                  "used is more than min"));
}

TEST_F(CapacitySchedulingTest, NominatedPodsAreCountedWhereTheyGoFirst) {
  SetQuota("ns1", Memory(100, 200));
  SetQuota("ns2", Memory(100, 200));
  cluster_.Add(Node("a", 10000));
  cluster_.Nominate(Pod("n1", "ns1", 60, kHigh), "a");
  EXPECT_FALSE(PreFilter(Pod("p", "ns1", 141, kHigh)).ok()) << "same quota, same priority: max";
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 141, kHigh + 1)).ok()) << "more important";
  EXPECT_TRUE(PreFilter(Pod("n1", "ns1", 141, kHigh)).ok()) << "the pod itself";
  EXPECT_TRUE(PreFilter(Pod("p", "ns2", 140)).ok());
  EXPECT_FALSE(PreFilter(Pod("p", "ns2", 141)).ok()) << "another quota within its min: total";
  cluster_.Add(On("a", Pod("used", "ns1", 101)));
  EXPECT_TRUE(PreFilter(Pod("p", "ns2", 99)).ok()) << "another quota that borrows waits";
}

TEST_F(CapacitySchedulingTest, NominationsToUnknownNodesAndWithoutQuotaDoNotCount) {
  SetQuota("ns1", Memory(100, 100));
  cluster_.Add(Node("a", 10000));
  cluster_.Nominate(Pod("n1", "ns1", 60), "gone");
  cluster_.Nominate(Pod("n2", "ns3", 60), "a");
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 100)).ok());
}

TEST_F(CapacitySchedulingTest, InitContainersAndOverheadCountSidecarsAndPodLevelDoNot) {
  cluster_.Add(Node("a", 10000));
  PodBuilder pod = MakePod().Namespace("ns1").NodeName("a");
  pod.Container().Request("memory", "10").Container().Request("memory", "20");
  pod.InitContainer().Request("memory", "25").Sidecar().Request("memory", "28");
  pod.Overhead("memory", "5").PodLevelRequest("memory", "1000");
  cluster_.Add(pod);
  EXPECT_EQ(Used("ns1", "memory"), 35);
  cluster_.Add(On("a", Pod("big-init", "ns1", 1).InitContainer().Request("memory", "40")));
  EXPECT_EQ(Used("ns1", "memory"), 75);
}

// --- A quota concerns only what it names ---

TEST_F(CapacitySchedulingTest, AQuotaOfGpusLimitsNothingElse) {
  SetQuota("ns1", absl::StrCat("min: {", kGpu, ": 4}, max: {", kGpu, ": 8}"));
  SetQuota("ns2", absl::StrCat("min: {", kGpu, ": 4, cpu: 2}"));
  cluster_.Add(Node("a", 1000).Capacity(kGpu, "16"));
  const PodBuilder pod = Pod("p", "ns1", 500).Request("cpu", "4").Request(kGpu, "8");
  EXPECT_TRUE(PreFilter(pod).ok());
  EXPECT_FALSE(PreFilter(PodBuilder(pod).Request(kGpu, "9")).ok());
  EXPECT_TRUE(PreFilter(Pod("p", "ns2", 500).Request("cpu", "2")).ok());
  EXPECT_FALSE(PreFilter(Pod("p", "ns2", 500).Request("cpu", "3")).ok());
  cluster_.Add(On("a", Pod("cpu-only", "ns1", 1).Request("cpu", "30")));
  EXPECT_TRUE(PreFilter(Pod("p", "ns2", 500).Request("cpu", "2")).ok())
      << "ns1's quota does not name cpu, so its use of cpu is not of anybody's share";
}

TEST_F(CapacitySchedulingTest, AnAbsentMaxIsNoLimitAndAnAbsentMinIsZero) {
  SetQuota("ns1", "min: {memory: 100}, max: {cpu: 1}");
  SetQuota("ns2", "max: {memory: 500}");
  SetQuota("ns3", "");
  cluster_.Add(Node("a", 10000));
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 100)).ok());
  EXPECT_FALSE(PreFilter(Pod("p", "ns1", 101)).ok()) << "more than all mins together";
  EXPECT_FALSE(PreFilter(Pod("p", "ns1", 10).Request("cpu", "2")).ok());
  EXPECT_TRUE(PreFilter(Pod("p", "ns2", 100)).ok()) << "borrows from ns1";
  EXPECT_FALSE(PreFilter(Pod("p", "ns2", 101)).ok());
  EXPECT_TRUE(PreFilter(Pod("p", "ns3", 5000)).ok()) << "names nothing";
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 10).Request("cpu", "1")).ok())
      << "cpu is in no min: nothing to share out";
}

TEST_F(CapacitySchedulingTest, NamingZeroIsALimit) {
  SetQuota("ns1", absl::StrCat("min: {cpu: 10}, max: {cpu: 10, ", kGpu, ": 0}"));
  cluster_.Add(Node("a", 100));
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 1).Request("cpu", "1")).ok());
  EXPECT_FALSE(PreFilter(Pod("p", "ns1", 1).Request("cpu", "1").Request(kGpu, "1")).ok());
}

TEST_F(CapacitySchedulingTest, ReclaimIsDecidedOnWhatIsNamedAlone) {
  // ns2 is far over its min of cpu, but the GPUs that ns1 is guaranteed were not borrowed by it.
  SetQuota("ns1", absl::StrCat("min: {", kGpu, ": 2}"));
  SetQuota("ns2", absl::StrCat("min: {", kGpu, ": 2, cpu: 1}, max: {cpu: 100}"));
  cluster_.Add(Node("a", 100).Capacity(kGpu, "2"));
  cluster_.Add(On("a", Pod("victim", "ns2", 1).Request("cpu", "30").Request(kGpu, "2")));
  EXPECT_THAT(PlanOf(Pod("p", "ns1", 1).Request("cpu", "1").Request(kGpu, "1")).victims(),
              IsEmpty());
}

// --- The books ---

TEST_F(CapacitySchedulingTest, AQuotaThatComesLaterFindsItsPodsCounted) {
  cluster_.Add(Node("a", 10000));
  for (const char* name : {"p1", "p2", "p3"}) cluster_.Add(On("a", Pod(name, "ns1", 1)));
  SetQuota("ns1", Memory(3, 3));
  EXPECT_FALSE(PreFilter(Pod("p4", "ns1", 1)).ok());
  EXPECT_EQ(Used("ns1", "memory"), 3);
  EXPECT_EQ(plugin_.ledger().total_usage().used.Get(kMemory), 3);
}

TEST_F(CapacitySchedulingTest, AChangedQuotaCountsAtOnceAndADeletedOneNoMore) {
  cluster_.Add(Node("a", 10000)).Add(On("a", Pod("used", "ns1", 5)));
  SetQuota("ns1", Memory(10, 10));
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 5)).ok());
  SetQuota("ns1", Memory(10, 9));
  EXPECT_FALSE(PreFilter(Pod("p", "ns1", 5)).ok());
  cluster_.object_store().Remove(Kind::kElasticQuota, "ns1/quota");
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 5000)).ok());
}

TEST_F(CapacitySchedulingTest, TheFirstQuotaOfANamespaceCounts) {
  cluster_.Add(Node("a", 10000));
  SetQuota("ns1", Memory(10, 10), "first");
  SetQuota("ns1", Memory(99, 99), "second");
  EXPECT_FALSE(PreFilter(Pod("p", "ns1", 11)).ok());
  SetQuota("ns1", Memory(98, 98), "second");
  EXPECT_FALSE(PreFilter(Pod("p", "ns1", 11)).ok()) << "editing the second does not promote it";
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 10)).ok());
  EXPECT_EQ(*plugin_.ledger().total_min().Find(kMemory), 10);
  cluster_.object_store().Remove(Kind::kElasticQuota, "ns1/first");
  EXPECT_TRUE(PreFilter(Pod("p", "ns1", 98)).ok());
}

TEST_F(CapacitySchedulingTest, EveryPodIsChargedOnce) {
  cluster_.Add(Node("a", 10000));
  const PodPtr pod = On("a", Pod("p", "ns1", 4)).Obj();
  const NodeInfo& node = cluster_.nodes().node(0);
  plugin_.OnPodAssigned(*pod, node);
  plugin_.OnPodAssigned(*pod, node);
  EXPECT_EQ(Used("ns1", "memory"), 4);
  plugin_.OnPodUnassigned(*pod, node);
  plugin_.OnPodUnassigned(*pod, node);
  EXPECT_EQ(Used("ns1", "memory"), 0);
}

TEST_F(CapacitySchedulingTest, AResizedPodGivesBackWhatItTook) {
  cluster_.Add(Node("a", 10000));
  const NodeInfo& node = cluster_.nodes().node(0);
  const PodPtr big = On("a", Pod("p", "ns1", 4)).Obj(), small = On("a", Pod("p", "ns1", 2)).Obj();
  plugin_.OnPodAssigned(*big, node);
  plugin_.OnPodUnassigned(*small, node);  // as if only the new form were known
  EXPECT_EQ(Used("ns1", "memory"), 0);
}

TEST_F(CapacitySchedulingTest, HypotheticalPodsCountOnceAndOnlyInTheirCopy) {
  SetQuota("ns1", Memory(10, 10));
  cluster_.Add(Node("a", 10000)).Add(On("a", Pod("used", "ns1", 6)));
  CycleState state;
  PreFilterResult narrowed;
  const PodPtr pod = Pod("p", "ns1", 4).Obj();
  const NodeInfo& node = cluster_.nodes().node(0);
  ASSERT_TRUE(plugin_.PreFilter(state, *pod, cluster_.nodes(), narrowed).ok());
  const auto over_max = [&](const CycleState& s, int64_t more) {
    ResourceVector request;
    request.Set(kMemory, more);
    return QuotaRoom(plugin_.ledger(), *s.Find(kQuotaState),
                     *plugin_.ledger().Find(Symbol::Intern("ns1")), QuotaRoom::Moment::kNow,
                     request, request)
        .OverMax();
  };
  CycleState copy = state.Clone();
  const PodPtr used = node.pods()[0], added = Pod("added", "ns1", 3).Obj();
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_TRUE(plugin_.RemovePod(copy, *pod, *used, node).ok());
    EXPECT_TRUE(plugin_.AddPod(copy, *pod, *added, node).ok());
  }
  EXPECT_FALSE(over_max(copy, 7));
  EXPECT_TRUE(over_max(copy, 8));
  EXPECT_FALSE(over_max(state, 4));
  EXPECT_TRUE(over_max(state, 5));
  EXPECT_TRUE(plugin_.AddPod(copy, *pod, *used, node).ok());
  EXPECT_TRUE(plugin_.RemovePod(copy, *pod, *added, node).ok());
  EXPECT_FALSE(over_max(copy, 4));
  EXPECT_TRUE(over_max(copy, 5));
}

// --- Victims ---

TEST_F(CapacitySchedulingTest, OverItsMinAPodTakesLowerPrioritiesOfItsOwnQuota) {
  SetQuota("ns1", Memory(50, 200));
  SetQuota("ns2", Memory(200, 200));
  cluster_.Add(Node("a", 150))
      .Add(On("a", Pod("own", "ns1", 50)))
      .Add(On("a", Pod("other-1", "ns2", 50)))
      .Add(On("a", Pod("other-2", "ns2", 50)));
  const Plan plan = PlanOf(Pod("p", "ns1", 50, kHigh));
  EXPECT_EQ(plan.node(), "a");
  EXPECT_THAT(plan.victims(), ElementsAre("own"));
  EXPECT_EQ(PlanOf(Pod("p", "ns1", 50, kMid)).post_filter,
            Status::Unschedulable("0/1 nodes are available: 1 No victims found on node a for "
                                  "preemptor pod p."));
}

TEST_F(CapacitySchedulingTest, OfVeryManyNodesWithoutVictimsNoneIsNamed) {
  SetQuota("ns1", Memory(50, 20000));
  SetQuota("ns2", Memory(20000, 20000));
  const auto add_full_node = [this](int i) {
    const std::string name = absl::StrCat("node-", 100 + i);
    cluster_.Add(Node(name, 50)).Add(On(name, Pod(absl::StrCat("other-", i), "ns2", 50)));
  };
  const auto message = [this] { return PlanOf(Pod("p", "ns1", 50, kHigh)).post_filter.message(); };
  for (int i = 0; i < 64; ++i) add_full_node(i);
  EXPECT_THAT(message(), HasSubstr("1 No victims found on node node-163 for preemptor pod p"));
  add_full_node(64);
  EXPECT_EQ(message(), "0/65 nodes are available: 65 No victims found for preemptor pod p.");
}

TEST_F(CapacitySchedulingTest, WithinItsMinAPodTakesBackWhatWasBorrowedWhateverThePriority) {
  SetQuota("ns1", Memory(150, 200));
  SetQuota("ns2", Memory(50, 200));
  cluster_.Add(Node("a", 150))
      .Add(On("a", Pod("own", "ns1", 50, 0)))
      .Add(On("a", Pod("high", "ns2", 50, kHigh)))
      .Add(On("a", Pod("mid", "ns2", 50, kMid)));
  EXPECT_THAT(PlanOf(Pod("p", "ns1", 50, 0)).victims(), ElementsAre("mid"));
  EXPECT_EQ(PlanOf(Pod("p", "ns1", 100, kHigh)).post_filter.message(),
            "0/1 nodes are available: 1 Insufficient memory.")
      << "ns2 keeps its min";
}

TEST_F(CapacitySchedulingTest, WithoutAQuotaPodsPreemptEachOtherOnly) {
  SetQuota("ns2", Memory(10, 200));
  cluster_.Add(Node("a", 150))
      .Add(On("a", Pod("with-quota", "ns2", 50, 0)))
      .Add(On("a", Pod("equal", "ns1", 50, kMid)))
      .Add(On("a", Pod("low", "ns3", 50, 0)));
  EXPECT_THAT(PlanOf(Pod("p", "ns1", 50, kMid)).victims(), ElementsAre("low"));
  EXPECT_THAT(PlanOf(Pod("p", "ns1", 100, kMid)).victims(), IsEmpty());
}

TEST_F(CapacitySchedulingTest, RoomOnTheNodeIsNotEnough) {
  // The node has plenty of memory; the max of ns1 stands in the way.
  SetQuota("ns1", Memory(100, 100));
  cluster_.Add(Node("a", 1000))
      .Add(On("a", Pod("low-1", "ns1", 40, 0)))
      .Add(On("a", Pod("low-2", "ns1", 20, 0)).Started(Day(2)))
      .Add(On("a", Pod("high", "ns1", 40, kHigh)));
  Plan plan = PlanOf(Pod("p", "ns1", 50));
  EXPECT_FALSE(plan.pre_filter.ok());
  EXPECT_THAT(plan.victims(), ElementsAre("low-1", "low-2"));
  plan = PlanOf(Pod("p", "ns1", 61));
  EXPECT_EQ(plan.post_filter,
            Status::Unschedulable("0/1 nodes are available: 1 global quota max exceeded."));
  EXPECT_THAT(PlanOf(Pod("p", "ns1", 20)).victims(), ElementsAre("low-2"));
}

TEST_F(CapacitySchedulingTest, AReprieveThatBreaksTheQuotaViolatesABudgetVisibly) {
  SetQuota("ns1", Memory(100, 100));
  cluster_.Add(Node("a", 1000)).Add(On("a", Pod("web", "ns1", 100, 0).Label("app", "web")));
  cluster_.AddYaml(R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: ns1}
spec: {selector: {matchLabels: {app: web}}}
)");
  const Plan plan = PlanOf(Pod("p", "ns1", 10));
  ASSERT_THAT(plan.result.candidates, SizeIs(1));
  EXPECT_EQ(plan.result.candidates[0]->pdb_violations, 1);
}

TEST_F(CapacitySchedulingTest, APodThatClaimsNothingMayTakeFromItsOwnNamespaceOnly) {
  SetQuota("ns1", absl::StrCat("min: {", kGpu, ": 1}"));
  SetQuota("ns2", absl::StrCat("min: {", kGpu, ": 0}"));
  cluster_.Add(Node("a", 100).Capacity(kGpu, "4"))
      .Add(On("a", Pod("borrower", "ns2", 50, 0).Request(kGpu, "1")))
      .Add(On("a", Pod("own", "ns1", 50, 0)));
  EXPECT_THAT(PlanOf(Pod("p", "ns1", 50)).victims(), ElementsAre("own"));
}

// --- Pods on their way out ---

TEST_F(CapacitySchedulingTest, WaitsForAVictimThatIsTerminatingOnItsNode) {
  struct Case {
    absl::string_view name;
    std::string preemptor_quota, victim_quota;  // ns1, ns2; empty for none
    PodBuilder victim;
    bool waits;
  };
  const PodBuilder victim = On("a", Pod("v", "ns2", 100, kMid));
  const std::string roomy = Memory(500, 500), full = Memory(50, 500);
  const std::vector<Case> cases = {
      {"own, less important", roomy, "", On("a", Pod("v", "ns1", 100, kMid)).Deleted(), true},
      {"own, equal", roomy, "", On("a", Pod("v", "ns1", 100, kHigh)).Deleted(), false},
      {"own, not terminating", roomy, "", On("a", Pod("v", "ns1", 100, kMid)), false},
      {"borrower", roomy, full, PodBuilder(victim).Deleted(), true},
      {"within its min", roomy, Memory(100, 500), PodBuilder(victim).Deleted(), false},
      {"borrower, but we would borrow too", Memory(5, 500), full, PodBuilder(victim).Deleted(),
       false},
      {"without quota, we have one", roomy, "", PodBuilder(victim).Deleted(), false},
      {"neither has a quota", "", "", PodBuilder(victim).Deleted(), true},
      {"with quota, we have none", "", full, PodBuilder(victim).Deleted(), false},
  };
  for (const Case& c : cases) {
    SmallCluster cluster;
    CapacityScheduling plugin(cluster);
    cluster.Observe(plugin);
    cluster.Extend(plugin);
    if (!c.preemptor_quota.empty()) cluster.AddYaml(QuotaYaml("ns1", c.preemptor_quota));
    if (!c.victim_quota.empty()) cluster.AddYaml(QuotaYaml("ns2", c.victim_quota));
    cluster.Add(Node("a", 100)).Add(c.victim);
    const Plan plan =
        PlanFor(cluster, plugin, *Pod("p", "ns1", 10, kHigh).NominatedNodeName("a").Obj(), &plugin);
    EXPECT_EQ(plan.post_filter.message() ==
                  "not eligible due to a terminating pod on the nominated node.",
              c.waits)
        << c.name << ": " << plan.post_filter.ToString();
  }
}

// It is a victim that nobody has to evict: how important it is does not count.
TEST_F(CapacitySchedulingTest, APodThatLeavesAnywayDoesNotMakeItsNodeWorse) {
  SetQuota("ns1", Memory(500, 500));
  SetQuota("ns2", Memory(200, 500));
  cluster_.Add(Node("a", 200)).Add(Node("b", 200));
  cluster_.Add(On("a", Pod("low", "ns2", 100, 0)));
  cluster_.Add(On("a", Pod("leaving", "ns2", 100, kHigh)).Deleted());
  cluster_.Add(On("b", Pod("middle", "ns2", 200, kMid)));
  const Plan plan = PlanOf(Pod("p", "ns1", 200, kHigh));
  EXPECT_EQ(plan.node(), "a") << plan.post_filter.ToString();
  EXPECT_THAT(plan.victims(), ElementsAre("low", "leaving"));
}

TEST_F(CapacitySchedulingTest, WithoutPreFilterThereAreNoInputs) {
  cluster_.Add(Node("a", 100)).Add(On("a", Pod("v", "ns1", 100)));
  EXPECT_EQ(PlanFor(cluster_, plugin_, *Pod("p", "ns1", 10, kHigh).Obj()).post_filter,
            Status::Unschedulable("not eligible due to failed to read from cycleState"));
}

TEST_F(CapacitySchedulingTest, DoesNotEvictMoreForRoomThatIsAlreadyComing) {
  SetQuota("a", absl::StrCat("min: {", kGpu, ": 2}, max: {", kGpu, ": 5}"));
  SetQuota("b", absl::StrCat("min: {", kGpu, ": 3}, max: {", kGpu, ": 5}"));
  const auto gpu = [](absl::string_view name, absl::string_view ns) {
    return Pod(name, ns, 0).Request(kGpu, "1");
  };
  for (const char* node : {"n1", "n2", "n3"}) cluster_.Add(Node(node, 100).Capacity(kGpu, "2"));
  cluster_.Add(On("n1", gpu("a1", "a")).Deleted());  // evicted for b1
  cluster_.Add(On("n1", gpu("a2", "a")));
  cluster_.Add(On("n2", gpu("a3", "a"))).Add(On("n2", gpu("a4", "a")));
  cluster_.Add(On("n3", gpu("a5", "a")));
  cluster_.Nominate(gpu("b1", "b"), "n1");
  const Plan plan = PlanOf(gpu("b2", "b"));
  EXPECT_TRUE(plan.post_filter.ok()) << plan.post_filter.ToString();
  EXPECT_THAT(plan.victims(), SizeIs(1));
}

// Two preemptors at once: all that the second could evict is not enough once the first one runs.
TEST_F(CapacitySchedulingTest, EvictsNobodyWhereTheQuotaHasNoRoomLaterEither) {
  SetQuota("a", absl::StrCat("min: {", kGpu, ": 12}, max: {", kGpu, ": 12}"));
  const auto gpus = [](absl::string_view name, int count, int32_t priority) {
    return Pod(name, "a", 0, priority).Request(kGpu, absl::StrCat(count));
  };
  for (const char* node : {"n1", "n2"}) cluster_.Add(Node(node, 100).Capacity(kGpu, "8"));
  for (int i = 0; i < 5; ++i) {
    cluster_.Add(On("n1", gpus(absl::StrCat("leaves-", i), 1, kMid)).Deleted());
  }
  for (int i = 0; i < 4; ++i) cluster_.Add(On("n2", gpus(absl::StrCat("stays-", i), 1, kMid)));
  EXPECT_TRUE(PlanOf(gpus("second", 5, kHigh)).post_filter.ok()) << "on its own it may";
  cluster_.Nominate(gpus("first", 8, kHigh), "n1");
  const Plan plan = PlanOf(gpus("second", 5, kHigh));
  EXPECT_THAT(plan.victims(), IsEmpty());
  EXPECT_THAT(plan.post_filter.message(), HasSubstr("global quota max exceeded"));
}

TEST_F(CapacitySchedulingTest, WhatLeavesIsNotBorrowedAnyMore) {
  SetQuota("a", absl::StrCat("min: {", kGpu, ": 2}, max: {", kGpu, ": 4}"));
  SetQuota("b", absl::StrCat("min: {", kGpu, ": 4}"));
  const auto gpu = [](absl::string_view name, absl::string_view ns) {
    return Pod(name, ns, 0).Request(kGpu, "2");
  };
  for (const char* node : {"n1", "n2"}) cluster_.Add(Node(node, 100).Capacity(kGpu, "2"));
  cluster_.Add(On("n2", gpu("a2", "a")));
  cluster_.Nominate(gpu("b1", "b"), "n1");
  cluster_.Add(On("n1", gpu("a1", "a")).Deleted());  // evicted for b1
  EXPECT_THAT(PlanOf(gpu("b2", "b")).victims(), IsEmpty()) << "a keeps its min of two";
  cluster_.Add(Node("n3", 100).Capacity(kGpu, "2")).Add(On("n3", gpu("a3", "a")));
  EXPECT_THAT(PlanOf(gpu("b2", "b")).victims(), SizeIs(1)) << "what else a has borrowed may go";
}

TEST_F(CapacitySchedulingTest, BorrowedCpuDoesNotCostGuaranteedGpus) {
  SetQuota("a", absl::StrCat("min: {cpu: 2, ", kGpu, ": 2}"));
  SetQuota("b", absl::StrCat("min: {cpu: 8, ", kGpu, ": 2}"));
  cluster_.Add(MakeNode().Name("n").Capacity("cpu", "10").Capacity(kGpu, "4"));
  const auto train = [](absl::string_view name) {
    return On("n", MakePod().Name(name).Namespace("a").Request("cpu", "4").Request(kGpu, "1"));
  };
  cluster_.Add(train("train-1")).Add(train("train-2"));
  const PodBuilder with_gpu =
      MakePod().Name("p").Namespace("b").Request("cpu", "4").Request(kGpu, "1");
  const PodBuilder cpu_only = MakePod().Name("p").Namespace("b").Request("cpu", "4");
  EXPECT_THAT(PlanOf(with_gpu).victims(), IsEmpty());
  EXPECT_THAT(PlanOf(cpu_only).victims(), IsEmpty()) << "nor for a pod that asks for no GPU";
  cluster_.Add(On("n", MakePod().Name("web").Namespace("a").Request("cpu", "2")));
  EXPECT_THAT(PlanOf(PodBuilder(cpu_only).Request("cpu", "2")).victims(), ElementsAre("web"));
}

// It cannot go in part.
TEST_F(CapacitySchedulingTest, APodThatIsPartlyBorrowedGoesWhole) {
  SetQuota("a", absl::StrCat("min: {", kGpu, ": 3}"));
  SetQuota("b", absl::StrCat("min: {", kGpu, ": 1}"));
  cluster_.Add(Node("n", 100).Capacity(kGpu, "4"));
  for (const char* name : {"a1", "a2"}) {
    cluster_.Add(On("n", Pod(name, "a", 0).Request(kGpu, "2")));
  }
  EXPECT_THAT(PlanOf(Pod("p", "b", 0).Request(kGpu, "1")).victims(), SizeIs(1));
}

// --- Queueing ---

TEST_F(CapacitySchedulingTest, Events) {
  const std::vector<ClusterEventWithHint> events = plugin_.EventsToRegister();
  const auto wakes = [&](EventResource resource, ActionType action) {
    for (const ClusterEventWithHint& event : events) {
      if (event.event.Matches({resource, action})) return true;
    }
    return false;
  };
  EXPECT_TRUE(wakes(EventResource::AssignedPod(), action::kDelete));
  EXPECT_TRUE(wakes(EventResource::AssignedPod(), action::kUpdatePodScaleDown));
  EXPECT_TRUE(wakes(EventResource::Of(Kind::kElasticQuota), action::kAdd));
  EXPECT_TRUE(wakes(EventResource::Of(Kind::kElasticQuota), action::kDelete));
  EXPECT_FALSE(wakes(EventResource::AssignedPod(), action::kAdd));
  // Only a tree of quotas goes by what the nodes have.
  for (const ClusterEventWithHint& event : events) {
    if (!event.event.Matches({EventResource::Node(), action::kAdd})) continue;
    const auto hint = event.hint(*Pod("p", "ns1", 1).Obj(), ObjectChange());
    ASSERT_TRUE(hint.ok());
    EXPECT_EQ(*hint, QueueingHint::kSkip);
  }
}

// A change of what a quota says is an event, one of its status is none.
TEST_F(CapacitySchedulingTest, AStatusOfAQuotaHelpsNoPod) {
  for (const std::string kind :
       {"scheduling.berth.dev/v1alpha1, kind: ClusterQuota, metadata: {name: q}",
        "scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: q, namespace: a}"}) {
    const auto with = [&](absl::string_view rest) {
      return absl::StrCat("{apiVersion: ", kind, ", ", rest, "}");
    };
    const std::string before = with("spec: {min: {cpu: 1}}");
    const std::string status = with("spec: {min: {cpu: 1}}, status: {used: {cpu: 1}}");
    const std::string more = with("spec: {min: {cpu: 2}}, status: {used: {cpu: 1}}");
    using testing::ChangedObject;
    const PodPtr pod = Pod("p", "a", 0).Obj();
    EXPECT_FALSE(testing::Queues(plugin_, pod, ChangedObject(before, status))) << kind;
    EXPECT_TRUE(testing::Queues(plugin_, pod, ChangedObject(status, more))) << kind;
    EXPECT_TRUE(testing::Queues(plugin_, pod, ChangedObject::Added(before))) << kind;
    EXPECT_TRUE(testing::Queues(plugin_, pod, ChangedObject::Deleted(before))) << kind;
  }
}

TEST_F(CapacitySchedulingTest, APodThatMayEvictNobodyWaitsForAnotherQuota) {
  EXPECT_TRUE(plugin_.WaitsForEvents(*Pod("p", "ns1", 1).Obj()));
  EXPECT_FALSE(plugin_.WaitsForEvents(*Pod("p", "ns1", 1).PreemptNever().Obj()));
}

}  // namespace
}  // namespace berth
