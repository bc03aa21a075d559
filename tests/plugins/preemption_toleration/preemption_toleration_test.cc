// SPDX-License-Identifier: Apache-2.0
// PreemptionToleration: whom a PriorityClass saves, from whom and for how long.
#include "plugins/preemption_toleration/preemption_toleration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/time.h"
#include "tests/preemption/small_cluster.h"

namespace berth {
namespace {

using ::berth::testing::FromYaml;
using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::Plan;
using ::berth::testing::PlanFor;
using ::berth::testing::PodBuilder;
using ::berth::testing::SmallCluster;
using ::testing::ElementsAre;

constexpr absl::string_view kPriorityClass = R"(
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: patient
  annotations: {$0}
value: $1
)";

// Annotations of a class of value 100.
std::string Annotations(absl::string_view minimum, absl::string_view seconds) {
  constexpr absl::string_view kPrefix = "preemption-toleration.scheduling.x-k8s.io/";
  std::string text;
  if (!minimum.empty()) {
    absl::StrAppend(&text, kPrefix, "minimum-preemptable-priority: '", minimum, "'");
  }
  if (!seconds.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", kPrefix, "toleration-seconds: '", seconds,
                    "'");
  }
  return text;
}

TEST(TolerationPolicyTest, Parses) {
  const auto parse = [](absl::string_view annotations, int32_t value) {
    return ParseTolerationPolicy(
        *FromYaml<api::PriorityClass>(absl::Substitute(kPriorityClass, annotations, value)));
  };
  EXPECT_EQ(parse("", 100)->minimum_preemptable_priority, 101);
  EXPECT_EQ(parse("", 100)->toleration_seconds, 0);
  EXPECT_EQ(parse("", std::numeric_limits<int32_t>::max())->minimum_preemptable_priority,
            std::numeric_limits<int32_t>::max());
  EXPECT_EQ(parse(Annotations("500", "-1"), 100)->minimum_preemptable_priority, 500);
  EXPECT_EQ(parse(Annotations("500", "-1"), 100)->toleration_seconds, -1);
  EXPECT_EQ(parse(Annotations("", "99999999999"), 1)->toleration_seconds, 99999999999);
  EXPECT_FALSE(parse(Annotations("high", ""), 100).ok());
  EXPECT_FALSE(parse(Annotations("", "1h"), 100).ok());
  EXPECT_FALSE(parse(Annotations("99999999999", ""), 100).ok());
}

class PreemptionTolerationTest : public ::testing::Test {
 protected:
  PreemptionTolerationTest() { cluster_.Add(MakeNode().Name("a").Capacity("cpu", "4")); }

  // A pod of the class that was bound so long ago, or has no such condition.
  PodBuilder Victim(std::optional<absl::Duration> age) {
    PodBuilder pod = MakePod().Name("victim").NodeName("a").Priority(100).Request("cpu", "4");
    pod.Message().mutable_spec()->set_priority_class_name("patient");
    if (age.has_value()) {
      api::PodCondition* condition = pod.Message().mutable_status()->add_conditions();
      condition->set_type("PodScheduled");
      condition->set_status("True");
      SetTime(cluster_.clock().Now() - *age, condition->mutable_last_transition_time());
    }
    return pod;
  }
  void SetClass(absl::string_view annotations) {
    cluster_.AddYaml(absl::Substitute(kPriorityClass, annotations, 100));
  }
  Plan PlanOf(int32_t priority) {
    PreemptionToleration plugin({}, cluster_);
    return PlanFor(cluster_, plugin,
                   *MakePod().Name("p").Priority(priority).Request("cpu", "1").Obj());
  }

  SmallCluster cluster_;
};

TEST_F(PreemptionTolerationTest, WithoutAnnotationsAsDefaultPreemption) {
  SetClass("");
  cluster_.Add(Victim(absl::Seconds(1)));
  EXPECT_THAT(PlanOf(101).victims(), ElementsAre("victim"));
  EXPECT_EQ(PlanOf(100).post_filter.message(),
            "0/1 nodes are available: 1 No victims found on node a for preemptor pod p.");
}

TEST_F(PreemptionTolerationTest, ToleratesLowerPrioritiesForAWhile) {
  SetClass(Annotations("1000", "3600"));
  cluster_.Add(Victim(absl::Minutes(59)));
  EXPECT_TRUE(PlanOf(999).victims().empty());
  EXPECT_THAT(PlanOf(1000).victims(), ElementsAre("victim"));
  cluster_.simulated_clock().Advance(absl::Minutes(1));
  EXPECT_THAT(PlanOf(999).victims(), ElementsAre("victim"));
}

TEST_F(PreemptionTolerationTest, SaysWhenItWouldHelp) {
  SetClass(Annotations("1000", "3600"));
  const absl::Time now = cluster_.clock().Now();
  const auto add = [&](const std::string& name, absl::Duration age, const std::string& cpu) {
    cluster_.Add(Victim(age).Name(name).Uid(name).Request("cpu", cpu));
  };
  add("old", absl::Minutes(50), "1");
  add("older", absl::Minutes(55), "1");
  add("young", absl::Minutes(1), "2");
  const auto when = [&](const std::string& cpu, int32_t priority) {
    PreemptionToleration plugin({}, cluster_);
    const auto pod = MakePod().Name("p").Priority(priority).Request("cpu", cpu).Obj();
    const Plan plan = PlanFor(cluster_, plugin, *pod);
    return plan.result.retry_at - now;
  };
  EXPECT_EQ(when("1", 500), absl::Minutes(5)) << "the one that may go first is enough";
  EXPECT_EQ(when("2", 500), absl::Minutes(10)) << "two have to go";
  EXPECT_EQ(when("3", 500), absl::Minutes(59)) << "all of them";
  EXPECT_EQ(when("5", 500), absl::InfiniteDuration()) << "no time will help";
  EXPECT_EQ(when("1", 100), absl::InfiniteDuration()) << "they are as important as itself";
  EXPECT_EQ(when("1", 1000), absl::InfiniteDuration()) << "it evicts at once";
  cluster_.Add(MakeNode().Name("b").Capacity("cpu", "4"));
  cluster_.Add(Victim(absl::Minutes(20)).Name("other").Uid("other").NodeName("b"));
  EXPECT_EQ(when("3", 500), absl::Minutes(40)) << "on the other node";
}

TEST_F(PreemptionTolerationTest, ToleratesForEver) {
  SetClass(Annotations("1000", "-1"));
  cluster_.Add(Victim(absl::Hours(1000)));
  EXPECT_TRUE(PlanOf(999).victims().empty());
  EXPECT_THAT(PlanOf(1000).victims(), ElementsAre("victim"));
}

TEST_F(PreemptionTolerationTest, TheTimeStartsWhenThePodIsBound) {
  SetClass(Annotations("1000", "60"));
  cluster_.Add(Victim(std::nullopt));
  EXPECT_TRUE(PlanOf(999).victims().empty());
}

TEST_F(PreemptionTolerationTest, WrongAnnotationsProtectNothing) {
  SetClass(Annotations("lots", "-1"));
  cluster_.Add(Victim(absl::Hours(1)));
  EXPECT_THAT(PlanOf(101).victims(), ElementsAre("victim"));
}

TEST_F(PreemptionTolerationTest, FollowsChangesOfTheClass) {
  SetClass(Annotations("1000", "-1"));
  cluster_.Add(Victim(absl::Hours(1)));
  PreemptionToleration plugin({}, cluster_);
  const auto pod = MakePod().Name("p").Priority(500).Request("cpu", "1").Obj();
  EXPECT_TRUE(PlanFor(cluster_, plugin, *pod).victims().empty());
  SetClass(Annotations("400", "-1"));
  EXPECT_THAT(PlanFor(cluster_, plugin, *pod).victims(), ElementsAre("victim"));
}

TEST_F(PreemptionTolerationTest, AClassThatDoesNotExistIsAnError) {
  cluster_.Add(Victim(absl::Hours(1)));
  const Plan plan = PlanOf(500);
  EXPECT_TRUE(plan.post_filter.IsError());
  EXPECT_EQ(plan.post_filter.message(), "priorityclass.scheduling.k8s.io \"patient\" not found");
}

TEST_F(PreemptionTolerationTest, WaitsForAnyPodThatIsBeingDeletedOnItsNode) {
  cluster_.Add(MakePod().Name("leaving").NodeName("a").Request("cpu", "4").Deleted());
  PreemptionToleration plugin({}, cluster_);
  const Plan plan = PlanFor(
      cluster_, plugin, *MakePod().Priority(1).Request("cpu", "1").NominatedNodeName("a").Obj());
  EXPECT_EQ(plan.post_filter.message(),
            "not eligible due to a terminating pod on the nominated node.");
}

}  // namespace
}  // namespace berth
