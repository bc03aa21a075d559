// SPDX-License-Identifier: Apache-2.0
// What DefaultPreemption would evict: kube-scheduler's cases in our words.
#include "plugins/default_preemption/default_preemption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "berth/api/core_v1.pb.h"
#include "tests/preemption/small_cluster.h"

namespace berth {
namespace {

using ::berth::testing::ListedStatuses;
using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::NodeBuilder;
using ::berth::testing::Plan;
using ::berth::testing::PlanFor;
using ::berth::testing::PodBuilder;
using ::berth::testing::PodPtr;
using ::berth::testing::SmallCluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int32_t kLow = 0, kMid = 100, kHigh = 1000;

absl::Time Day(int day) { return absl::UnixEpoch() + absl::Hours(24 * day); }

NodeBuilder Node(absl::string_view name) {
  return MakeNode().Name(name).Capacity("cpu", "4").Capacity("memory", "4Gi");
}
PodBuilder On(absl::string_view node, absl::string_view name, int32_t priority,
              absl::string_view cpu, int start_day = 1) {
  return MakePod()
      .Name(name)
      .NodeName(node)
      .Priority(priority)
      .Request("cpu", cpu)
      .Started(Day(start_day));
}
PodBuilder Preemptor(int32_t priority, absl::string_view cpu) {
  return MakePod().Name("p").Priority(priority).Request("cpu", cpu);
}

class DefaultPreemptionTest : public ::testing::Test {
 protected:
  Plan PlanOf(const PodBuilder& pod) {
    DefaultPreemption plugin({}, cluster_);
    return PlanFor(cluster_, plugin, *pod.Obj());
  }

  SmallCluster cluster_;
};

TEST_F(DefaultPreemptionTest, TakesTheLeastImportantThatIsEnough) {
  cluster_.Add(Node("a"))
      .Add(On("a", "low", kLow, "1"))
      .Add(On("a", "mid", kMid, "1"))
      .Add(On("a", "high", kHigh, "2"));
  EXPECT_THAT(PlanOf(Preemptor(kHigh, "1")).victims(), ElementsAre("low"));
  EXPECT_THAT(PlanOf(Preemptor(kHigh, "2")).victims(), ElementsAre("mid", "low"));
  EXPECT_THAT(PlanOf(Preemptor(kMid, "1")).victims(), ElementsAre("low"));
}

TEST_F(DefaultPreemptionTest, SparesTheMoreImportantEvenIfThatTakesMoreVictims) {
  cluster_.Add(Node("a"))
      .Add(On("a", "big-mid", kMid, "2"))
      .Add(On("a", "low-1", kLow, "1", 2))
      .Add(On("a", "low-2", kLow, "1", 1));
  EXPECT_THAT(PlanOf(Preemptor(kHigh, "2")).victims(), ElementsAre("low-2", "low-1"));
}

TEST_F(DefaultPreemptionTest, AmongEqualsTheYoungestGoes) {
  cluster_.Add(Node("a")).Add(On("a", "young", kLow, "2", 5)).Add(On("a", "old", kLow, "2", 2));
  EXPECT_THAT(PlanOf(Preemptor(kHigh, "2")).victims(), ElementsAre("young"));
}

TEST_F(DefaultPreemptionTest, NeverTakesEqualOrHigherPriority) {
  cluster_.Add(Node("a")).Add(On("a", "equal", kMid, "4"));
  const Plan plan = PlanOf(Preemptor(kMid, "1"));
  EXPECT_EQ(plan.post_filter,
            Status::Unschedulable("preemption: 0/1 nodes are available: 1 No preemption victims "
                                  "found for incoming pod."));
  EXPECT_EQ(plan.result.nominated_node, "");
}

TEST_F(DefaultPreemptionTest, LeavesUnresolvableNodesAlone) {
  cluster_.Add(Node("a")).Add(On("a", "low", kLow, "4"));
  const Plan plan = PlanOf(Preemptor(kHigh, "5"));
  EXPECT_EQ(plan.post_filter,
            Status::Unschedulable("preemption: 0/1 nodes are available: 1 Preemption is not "
                                  "helpful for scheduling."));
}

TEST_F(DefaultPreemptionTest, SaysWhatIsStillMissingWithoutTheVictims) {
  cluster_.Add(Node("a")).Add(On("a", "low", kLow, "1")).Add(On("a", "high", kHigh, "3"));
  EXPECT_EQ(PlanOf(Preemptor(kMid, "2")).post_filter,
            Status::Unschedulable("preemption: 0/1 nodes are available: 1 Insufficient cpu."));
}

TEST_F(DefaultPreemptionTest, PicksTheCheapestNode) {
  cluster_.Add(Node("a")).Add(On("a", "mid", kMid, "4"));
  cluster_.Add(Node("b")).Add(On("b", "low-1", kLow, "2")).Add(On("b", "low-2", kLow, "2"));
  cluster_.Add(Node("c")).Add(On("c", "low-3", kLow, "4"));
  const Plan plan = PlanOf(Preemptor(kHigh, "4"));
  EXPECT_TRUE(plan.post_filter.ok());
  EXPECT_EQ(plan.node(), "c");
  EXPECT_THAT(plan.victims(), ElementsAre("low-3"));
  EXPECT_THAT(plan.result.candidates, SizeIs(3));
  EXPECT_THAT(plan.result.EquallyGoodNodes(), ElementsAre("c"));
}

TEST_F(DefaultPreemptionTest, ReprievesPodsUnderABudgetFirst) {
  cluster_.Add(Node("a"))
      .Add(On("a", "protected", kLow, "2", 9).Label("app", "web"))
      .Add(On("a", "free", kLow, "2", 1));
  EXPECT_THAT(PlanOf(Preemptor(kHigh, "2")).victims(), ElementsAre("protected"))
      << "without a budget the youngest goes";
  cluster_.AddYaml(R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {selector: {matchLabels: {app: web}}}
status: {disruptionsAllowed: 0}
)");
  const Plan plan = PlanOf(Preemptor(kHigh, "2"));
  EXPECT_THAT(plan.victims(), ElementsAre("free"));
  EXPECT_EQ(plan.result.candidates[0]->pdb_violations, 0);
  const Plan both = PlanOf(Preemptor(kHigh, "4"));
  EXPECT_THAT(both.victims(), ElementsAre("free", "protected")) << "a budget does not save a pod";
  EXPECT_EQ(both.result.candidates[0]->pdb_violations, 1);
}

TEST_F(DefaultPreemptionTest, CountsPodsNominatedToTheNode) {
  cluster_.Add(Node("a")).Add(On("a", "low-1", kLow, "2", 1)).Add(On("a", "low-2", kLow, "2", 2));
  cluster_.Nominate(MakePod().Name("waiting").Priority(kHigh).Request("cpu", "2"), "a");
  EXPECT_THAT(PlanOf(Preemptor(kMid, "2")).victims(), ElementsAre("low-1", "low-2"))
      << "room for the nominated pod and for this one";
  EXPECT_THAT(PlanOf(Preemptor(kHigh + 1, "2")).victims(), ElementsAre("low-2"))
      << "a less important nomination does not count";
}

TEST_F(DefaultPreemptionTest, KeepsOtherFiltersInMind) {
  // Pods that carry the same label may not share a node.
  cluster_.Also([](const CycleState&, const PodInfo& pod, const NodeInfo& node) {
    const Symbol* color = pod.labels().Find("color");
    for (const PodPtr& other : node.pods()) {
      const Symbol* theirs = other->labels().Find("color");
      if (color != nullptr && theirs != nullptr && *color == *theirs) {
        return Status::Unschedulable("same color");
      }
    }
    return Status::Success();
  });
  cluster_.Add(Node("a"))
      .Add(On("a", "red", kMid, "1").Label("color", "red"))
      .Add(On("a", "blue", kLow, "1").Label("color", "blue"));
  EXPECT_THAT(PlanOf(Preemptor(kHigh, "1").Label("color", "red")).victims(), ElementsAre("red"));
  EXPECT_EQ(PlanOf(Preemptor(kMid, "1").Label("color", "red")).post_filter.message(),
            "preemption: 0/1 nodes are available: 1 same color.");
}

// --- Eligibility ---

PodBuilder Terminating(PodBuilder pod, absl::string_view condition_reason) {
  pod.Deleted();
  api::PodCondition* condition = pod.Message().mutable_status()->add_conditions();
  condition->set_type("DisruptionTarget");
  condition->set_status("True");
  condition->set_reason(std::string(condition_reason));
  return pod;
}

TEST_F(DefaultPreemptionTest, RespectsThePolicyNever) {
  cluster_.Add(Node("a")).Add(On("a", "low", kLow, "4"));
  const Plan plan = PlanOf(Preemptor(kHigh, "1").PreemptNever());
  EXPECT_EQ(plan.post_filter,
            Status::Unschedulable("preemption: not eligible due to preemptionPolicy=Never."));
  EXPECT_FALSE(plan.result.nominated_node.has_value());
}

TEST_F(DefaultPreemptionTest, WaitsForVictimsThatAreOnTheirWayOut) {
  const std::string kWaits =
      "preemption: not eligible due to a terminating pod on the nominated node.";
  struct Case {
    absl::string_view name;
    PodBuilder victim;
    bool waits;
  };
  const std::vector<Case> cases = {
      {"evicted by the scheduler", Terminating(On("a", "v", kLow, "4"), "PreemptionByScheduler"),
       true},
      {"as important as the preemptor",
       Terminating(On("a", "v", kHigh, "4"), "PreemptionByScheduler"), false},
      {"evicted by something else", Terminating(On("a", "v", kLow, "4"), "EvictionByEvictionAPI"),
       false},
      {"deleted by somebody", On("a", "v", kLow, "4").Deleted(), false},
      {"not being deleted", On("a", "v", kLow, "4"), false},
  };
  for (const Case& c : cases) {
    SmallCluster cluster;
    cluster.Add(Node("a")).Add(c.victim).Add(Node("b")).Add(On("b", "other", kLow, "4"));
    DefaultPreemption plugin({}, cluster);
    const Plan plan = PlanFor(cluster, plugin, *Preemptor(kHigh, "1").NominatedNodeName("a").Obj());
    EXPECT_EQ(plan.post_filter.message() == kWaits, c.waits) << c.name;
    EXPECT_EQ(plan.result.victims.empty(), c.waits) << c.name;
  }
}

TEST_F(DefaultPreemptionTest, DoesNotWaitForANodeThatBecameUnresolvable) {
  cluster_.Add(Node("a")).Add(Terminating(On("a", "leaving", kLow, "4"), "PreemptionByScheduler"));
  cluster_.Add(Node("b")).Add(On("b", "low", kLow, "4"));
  cluster_.Also([](const CycleState&, const PodInfo&, const NodeInfo& node) {
    return node.name().view() == "a" ? Status::UnschedulableAndUnresolvable("tainted")
                                     : Status::Success();
  });
  DefaultPreemption plugin({}, cluster_);
  PostFilterResult result;
  CycleState state;
  const Status status =
      plugin.PostFilter(state, *Preemptor(kHigh, "1").NominatedNodeName("a").Obj(),
                        ListedStatuses({Status::UnschedulableAndUnresolvable("tainted"),
                                        Status::Unschedulable("Insufficient cpu")}),
                        result);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(result.nominated_node, "b");
}

TEST_F(DefaultPreemptionTest, ANominationInMemoryCountsLikeOneInTheStatus) {
  cluster_.Add(Node("a")).Add(Terminating(On("a", "leaving", kLow, "4"), "PreemptionByScheduler"));
  const PodBuilder pod = Preemptor(kHigh, "1");
  cluster_.Nominate(pod, "a");
  EXPECT_EQ(PlanOf(pod).post_filter.message(),
            "preemption: not eligible due to a terminating pod on the nominated node.");
  EXPECT_TRUE(
      PlanOf(Preemptor(kHigh, "1").Name("q").NominatedNodeName("no-such-node")).post_filter.ok());
}

// --- Arguments and queueing ---

TEST(DefaultPreemptionArgsTest, Checks) {
  struct Case {
    int32_t percentage, absolute;
    size_t problems;
  };
  for (const Case& c : std::vector<Case>{
           {10, 100, 0}, {0, 1, 0}, {100, 0, 0}, {0, 0, 2}, {-1, 1, 1}, {101, 1, 1}, {1, -1, 1}}) {
    const DefaultPreemptionArgs args{c.percentage, c.absolute};
    Problems problems;
    DefaultPreemptionArgs::Fields().Validate(Value(), "", &args, problems);
    EXPECT_THAT(problems.list(), SizeIs(c.problems)) << c.percentage << " " << c.absolute;
  }
}

TEST_F(DefaultPreemptionTest, HoldsAPreemptorBackWhileItsEvictionsAreSent) {
  testing::FakeHandle handle;
  DefaultPreemption plugin({}, handle);
  const PodPtr pod = MakePod().Name("p").Uid("u").Obj();
  EXPECT_TRUE(plugin.PreEnqueue(*pod).ok());
  handle.SetPreempting("u", true);
  EXPECT_EQ(plugin.PreEnqueue(*pod), Status::UnschedulableAndUnresolvable(
                                         "waiting for the preemption for this pod to be finished"));
  handle.SetPreempting("u", false);
  EXPECT_TRUE(plugin.PreEnqueue(*pod).ok());
}

TEST_F(DefaultPreemptionTest, WakesNobody) {
  EXPECT_THAT(DefaultPreemption({}, cluster_).EventsToRegister(), IsEmpty());
}

}  // namespace
}  // namespace berth
