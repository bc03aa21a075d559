// SPDX-License-Identifier: Apache-2.0
// What the disruption controller makes of budgets, and that it keeps in step with the pods.
#include "cluster/disruption_controller.h"

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/labels.h"
#include "berth/api/manifest.h"
#include "berth/clock.h"
#include "berth/in_memory_cluster.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

Object Parse(const std::string& text) {
  Manifests manifests = ParseManifest(text, "test");
  BERTH_CHECK(manifests.objects.size() == 1) << text;
  return manifests.objects.front();
}

// `spec` of a budget of the pods with app=web.
Object Budget(absl::string_view spec, absl::string_view status = "") {
  return Parse(
      absl::StrCat("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, "
                   "namespace: d}, spec: {selector: {matchLabels: {app: web}}, ",
                   spec, "}, status: {", status, "}}"));
}

struct PodText {
  std::string name, node, owner = "ReplicaSet/web", app = "web", status, metadata;
};

Object Pod(const PodText& pod) {
  std::string owner;
  if (const size_t slash = pod.owner.find('/'); slash != std::string::npos) {
    owner = absl::StrCat(", ownerReferences: [{apiVersion: apps/v1, controller: true, kind: ",
                         pod.owner.substr(0, slash), ", name: ", pod.owner.substr(slash + 1), "}]");
  }
  return Parse(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", pod.name,
                            ", namespace: d, labels: {app: ", pod.app, "}", owner, pod.metadata,
                            "}, spec: {containers: [{name: c, image: x}]",
                            pod.node.empty() ? "" : absl::StrCat(", nodeName: ", pod.node),
                            "}, status: {", pod.status, "}}"));
}

TEST(SetBudgetStatus, IsAsKubeControllerManagerComputesIt) {
  struct Case {
    std::string spec;
    BudgetPods selected;
    int expected, desired, allowed;
  };
  const std::vector<Case> cases = {
      {"minAvailable: 2", {.pods = 3, .healthy = 3, .scale = 9}, 3, 2, 1},
      {"minAvailable: 2", {.pods = 3, .healthy = 1, .scale = 3}, 3, 2, 0},
      {"minAvailable: 0", {.pods = 3, .healthy = 3}, 3, 0, 3},
      {"minAvailable: 0", {.pods = 0, .healthy = 0}, 0, 0, 0},
      {"minAvailable: 1", {.pods = 2, .healthy = 2, .has_scale = false}, 2, 1, 1},
      {"minAvailable: 50%", {.pods = 3, .healthy = 3, .scale = 3}, 3, 2, 1},  // 1.5, rounded up
      {"minAvailable: 50%", {.pods = 3, .healthy = 3, .scale = 5}, 5, 3, 0},
      {"minAvailable: 100%", {.pods = 4, .healthy = 4, .scale = 4}, 4, 4, 0},
      {"minAvailable: 0%", {.pods = 4, .healthy = 4, .scale = 4}, 4, 0, 4},
      {"minAvailable: 50%", {.pods = 3, .healthy = 3}, 0, 0, 0},  // nobody controls them
      {"maxUnavailable: 1", {.pods = 3, .healthy = 3, .scale = 3}, 3, 2, 1},
      {"maxUnavailable: 1", {.pods = 2, .healthy = 2, .scale = 3}, 3, 2, 0},
      {"maxUnavailable: 5", {.pods = 3, .healthy = 3, .scale = 3}, 3, 0, 3},
      {"maxUnavailable: 30%", {.pods = 4, .healthy = 4, .scale = 4}, 4, 2, 2},  // 1.2, rounded up
      {"maxUnavailable: 0%", {.pods = 4, .healthy = 4, .scale = 4}, 4, 4, 0},
      {"unhealthyPodEvictionPolicy: AlwaysAllow", {.pods = 2, .healthy = 2}, 0, 0, 0},
  };
  for (const Case& c : cases) {
    api::PodDisruptionBudgetStatus status;
    SetBudgetStatus(Budget(c.spec).As<api::PodDisruptionBudget>().spec(), c.selected, status);
    EXPECT_EQ(status.expected_pods(), c.expected) << c.spec;
    EXPECT_EQ(status.desired_healthy(), c.desired) << c.spec;
    EXPECT_EQ(status.current_healthy(), c.selected.healthy) << c.spec;
    EXPECT_EQ(status.disruptions_allowed(), c.allowed) << c.spec;
  }
}

TEST(SetBudgetStatus, AllowsNothingWhereItCannotTell) {
  for (const char* const spec : {"minAvailable: half", "maxUnavailable: '1'", "minAvailable: 1.5%",
                                 "maxUnavailable: 100%"}) {
    api::PodDisruptionBudgetStatus status;
    status.set_disruptions_allowed(3);
    status.set_expected_pods(7);
    SetBudgetStatus(Budget(spec).As<api::PodDisruptionBudget>().spec(),
                    {.pods = 2, .healthy = 2, .scale = 2, .has_scale = false}, status);
    EXPECT_EQ(status.disruptions_allowed(), 0) << spec;
    EXPECT_EQ(status.expected_pods(), 7) << spec;
  }
}

class DisruptionControllerTest : public ::testing::Test {
 protected:
  DisruptionControllerTest() { cluster_.RunDisruptionController(); }

  int Allowed() {
    const auto message = cluster_.Find(Kind::kPodDisruptionBudget, "d/web");
    return static_cast<const api::PodDisruptionBudget&>(*message).status().disruptions_allowed();
  }
  void Advance(absl::Duration by) {
    clock_.AdvanceTo(clock_.Now() + by);
    cluster_.AdvanceTo(clock_.Now());
  }
  void SetWebPods(int count) {
    for (int i = 0; i < count; ++i) {
      cluster_.Set(Pod({.name = absl::StrCat("web-", i), .node = "n1"}));
    }
  }

  SimulatedClock clock_{absl::UnixEpoch()};
  InMemoryCluster cluster_{clock_};
};

TEST_F(DisruptionControllerTest, FollowsThePods) {
  cluster_.Set(Budget("minAvailable: 1", "disruptionsAllowed: 9"));
  EXPECT_EQ(Allowed(), 0) << "what the manifest says does not count";
  SetWebPods(3);
  EXPECT_EQ(Allowed(), 2);
  cluster_.Set(Pod({.name = "other", .node = "n1", .app = "other"}));
  cluster_.Set(Pod({.name = "pending"}));
  EXPECT_EQ(Allowed(), 2);
  cluster_.Set(Pod(
      {.name = "sick", .node = "n1", .status = "conditions: [{type: Ready, status: 'False'}]"}));
  EXPECT_EQ(Allowed(), 2);
  EXPECT_TRUE(cluster_.DeleteGracefully("d/web-0"));
  EXPECT_EQ(Allowed(), 1) << "from the moment in which it begins to go";
  Advance(absl::Seconds(31));
  EXPECT_EQ(Allowed(), 1);
  EXPECT_TRUE(cluster_.Finish("d/web-1"));
  EXPECT_EQ(Allowed(), 0);
  cluster_.Set(Pod({.name = "web-0", .node = "n1"}));
  EXPECT_EQ(Allowed(), 1);
  EXPECT_TRUE(cluster_.Evict(*Pod({.name = "web-0"}).identity(), "").ok());
  EXPECT_EQ(Allowed(), 0);
}

TEST_F(DisruptionControllerTest, FindsPodsThatWereThereBefore) {
  SetWebPods(2);
  cluster_.Set(Budget("minAvailable: 1"));
  EXPECT_EQ(Allowed(), 1);
  cluster_.Set(Budget("minAvailable: 2"));
  EXPECT_EQ(Allowed(), 0);
}

TEST_F(DisruptionControllerTest, AScaleIsTheMostPodsThatThereWere) {
  cluster_.Set(Budget("maxUnavailable: 1"));
  SetWebPods(3);
  EXPECT_EQ(Allowed(), 1);
  cluster_.Delete(Kind::kPod, "d/web-0");
  EXPECT_EQ(Allowed(), 0) << "its controller wants three";
  cluster_.Set(Pod({.name = "web-3", .node = "n1"}));
  EXPECT_EQ(Allowed(), 1);
  cluster_.Set(Pod({.name = "bare", .node = "n1", .owner = ""}));
  EXPECT_EQ(Allowed(), 2) << "healthy, and wanted by nobody";
  cluster_.Set(Pod({.name = "agent", .node = "n1", .owner = "DaemonSet/agent"}));
  EXPECT_EQ(Allowed(), 0) << "it has no scale";
}

TEST_F(DisruptionControllerTest, APodThatIsSaidToGoIsBelievedToForTwoMinutes) {
  SetWebPods(3);
  cluster_.Set(Budget("minAvailable: 1", "disruptedPods: {web-0: '2030-01-01T00:00:00Z'}"));
  EXPECT_EQ(Allowed(), 1);
  Advance(absl::Seconds(119));
  EXPECT_EQ(Allowed(), 1);
  EXPECT_EQ(cluster_.NextDue(), absl::UnixEpoch() + absl::Minutes(2));
  Advance(absl::Seconds(2));
  EXPECT_EQ(Allowed(), 2);
  EXPECT_EQ(cluster_.NextDue(), absl::InfiniteFuture());
}

// Held against a count of all pods, for every budget, after each change.
TEST(DisruptionController, FindsThePodsOfEachBudgetWhicheverComesFirst) {
  const std::vector<std::string> selectors = {
      "matchLabels: {app: a}",
      "matchLabels: {app: b, tier: x}",
      "matchExpressions: [{key: app, operator: In, values: [a, b, a]}]",
      "matchExpressions: [{key: tier, operator: Exists}]",
      "matchExpressions: [{key: app, operator: NotIn, values: [a]}]",
      "matchLabels: {app: nobody}",
      ""};
  std::mt19937 random(27);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  DisruptionController controller;
  const absl::Time now = absl::UnixEpoch();
  std::map<std::string, Object> pods, budgets;
  controller.Set(Parse("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: first, "
                       "namespace: d}, spec: {minAvailable: 1}}"),
                 now);
  int selected = 0;
  for (int step = 0; step < 3'000; ++step) {
    const bool is_pod = below(3) > 0;
    std::map<std::string, Object>& objects = is_pod ? pods : budgets;
    const std::string name = absl::StrCat("o", below(is_pod ? 12 : 6));
    if (const auto known = objects.find(name); known != objects.end() && below(4) == 0) {
      controller.Remove(known->second);
      objects.erase(known);
    } else {
      const std::string text =
          is_pod ? absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                                ", namespace: d, labels: {app: ", below(2) > 0 ? "a" : "b",
                                below(3) > 0 ? "" : ", tier: x", "}}, spec: {",
                                below(4) > 0 ? "nodeName: n1, " : "",
                                "containers: [{name: c, image: x}]}}")
                 : absl::StrCat(
                       "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: "
                       "{name: ",
                       name, ", namespace: d}, spec: {minAvailable: 1, selector: {",
                       selectors[below(static_cast<int>(selectors.size()))], "}}}");
      const Object object = Parse(text);
      objects.insert_or_assign(name, object);
      controller.Set(object, now);
    }
    for (Object& updated : controller.Reconcile(now)) {
      controller.Set(updated, now);
      if (updated.name() != "first") {
        budgets.insert_or_assign(std::string(updated.name()), std::move(updated));
      }
    }
    for (const auto& [budget_name, object] : budgets) {
      const auto& budget = object.As<api::PodDisruptionBudget>();
      const auto selector = LabelSelector::FromProto(&budget.spec().selector());
      BudgetPods want;
      for (const auto& [pod_name, each] : pods) {
        const auto& pod = each.As<api::Pod>();
        if (!selector->Matches(LabelSet::FromMap(pod.metadata().labels()))) continue;
        ++want.pods;
        want.healthy += pod.spec().node_name().empty() ? 0 : 1;
      }
      selected += want.pods;
      api::PodDisruptionBudgetStatus status;
      SetBudgetStatus(budget.spec(), want, status);
      ASSERT_EQ(budget.status().expected_pods(), status.expected_pods()) << step;
      ASSERT_EQ(budget.status().current_healthy(), status.current_healthy()) << step;
      ASSERT_EQ(budget.status().disruptions_allowed(), status.disruptions_allowed()) << step;
    }
  }
  EXPECT_GT(selected, 10'000);
}

}  // namespace
}  // namespace berth
