// SPDX-License-Identifier: Apache-2.0
// What Volcano's and Kubernetes' PodGroups are told.
#include "kubernetes/group_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/api/scheduling_v1beta1.pb.h"
#include "berth/api/scheduling_volcano_sh.pb.h"

namespace berth {
namespace {

using Keys = std::vector<GroupConditions::Key>;

Object Parse(const std::string& text) {
  Manifests manifests = ParseManifest(text, "f");
  for (const Problem& problem : manifests.problems) {
    ADD_FAILURE() << problem.ToString() << " in " << text;
  }
  return manifests.objects.front();
}

TEST(GroupConditions, TheFirstThatVolcanosJobsWaitForComesAtOnce) {
  api::VolcanoPodGroup group;
  group.mutable_spec()->set_min_member(2);
  const auto phase = [&](LivingPods pods) {
    *group.mutable_status() = NextVolcanoStatus(group, pods);
    return group.status().phase();
  };
  EXPECT_EQ(phase({}), "Inqueue");
  EXPECT_EQ(phase({.assigned = 1}), "Inqueue");
  EXPECT_EQ(phase({.assigned = 2, .running = 1}), "Running");
  EXPECT_EQ(group.status().running(), 1);
  EXPECT_EQ(phase({.assigned = 1, .running = 1}), "Unknown");
  EXPECT_EQ(phase({.assigned = 2}), "Running");
  EXPECT_FALSE(group.status().has_running());
  EXPECT_EQ(phase({}), "Inqueue") << "evicted: it begins again";
  group.mutable_status()->set_phase("Completed");
  EXPECT_EQ(phase({.assigned = 2}), "Completed");
}

TEST(GroupConditions, InitiallyScheduledNeverGoesBack) {
  api::KubernetesPodGroup group;
  group.mutable_metadata()->set_generation(3);
  group.mutable_spec()->mutable_scheduling_policy()->mutable_gang()->set_min_count(2);
  const auto told = [&](const LivingPods& pods, int64_t now) {
    *group.mutable_status() = NextConditions(group, pods, absl::FromUnixSeconds(now));
    if (group.status().conditions().empty()) return std::string();
    const api::Condition& condition = group.status().conditions(0);
    return absl::StrCat(condition.type(), " ", condition.status(), " ", condition.reason(), " ",
                        condition.message(), " ", condition.last_transition_time().seconds());
  };
  EXPECT_EQ(told({}, 1), "") << "it was not tried";
  EXPECT_EQ(told({.assigned = 1, .reason = "Unschedulable", .message = "too full"}, 2),
            "PodGroupInitiallyScheduled False Unschedulable too full 2");
  EXPECT_EQ(told({.reason = "SchedulerError", .message = "oh"}, 3),
            "PodGroupInitiallyScheduled False SchedulerError oh 2");
  EXPECT_EQ(told({.assigned = 2}, 4), "PodGroupInitiallyScheduled True Scheduled  4");
  EXPECT_EQ(group.status().conditions(0).observed_generation(), 3);
  EXPECT_EQ(told({.reason = "Unschedulable", .message = "lost"}, 5),
            "PodGroupInitiallyScheduled True Scheduled  4");
}

TEST(GroupConditions, PodsAreCountedForTheGroupThatTheyName) {
  GroupConditions seen;
  const auto see = [&](const std::string& text) {
    return seen.See({WatchEvent::Type::kSet, Parse(text)});
  };
  const GroupConditions::Key key(Kind::kKubernetesPodGroup, "default/g");
  const std::string pod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {schedulingGroup: "
      "{podGroupName: g}, ";
  EXPECT_EQ(see(pod + "containers: [{name: c, image: x}]}, status: {conditions: [{type: "
                      "PodScheduled, status: 'False', "
                      "reason: Unschedulable, message: full}]}}"),
            Keys{key});
  EXPECT_FALSE(seen.Update(key, absl::UnixEpoch()).has_value()) << "there is no such group yet";
  EXPECT_EQ(see("{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, "
                "spec: {schedulingPolicy: {gang: {minCount: 1}}}}"),
            Keys{key});
  const std::optional<Object> told = seen.Update(key, absl::UnixEpoch());
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->As<api::KubernetesPodGroup>().status().conditions(0).message(), "full");
  seen.See({WatchEvent::Type::kSet, *told});
  EXPECT_FALSE(seen.Update(key, absl::UnixEpoch()).has_value()) << "it has that";

  const Object bound = Parse(pod + "nodeName: n0, containers: [{name: c, image: x}]}}");
  seen.See({WatchEvent::Type::kSet, bound});
  EXPECT_EQ(seen.Update(key, absl::UnixEpoch())
                ->As<api::KubernetesPodGroup>()
                .status()
                .conditions(0)
                .status(),
            "True");
  EXPECT_EQ(seen.See({WatchEvent::Type::kDeleted, bound}), Keys{key});
  EXPECT_EQ(see("{apiVersion: v1, kind: Pod, metadata: {name: q, annotations: "
                "{scheduling.k8s.io/group-name: v}}}"),
            Keys{GroupConditions::Key(Kind::kVolcanoPodGroup, "default/v")});
  EXPECT_THAT(see("{apiVersion: v1, kind: Pod, metadata: {name: r}}"), ::testing::IsEmpty());
}

// A tree of three levels: top needs both of left and right, left one of a and b; c is in right.
TEST(GroupConditions, ACompositeIsScheduledOnceEnoughOfItsChildrenAre) {
  GroupConditions seen;
  const auto see = [&](const std::string& text) {
    return seen.See({WatchEvent::Type::kSet, Parse(text)});
  };
  const auto composite = [&](const std::string& name, const std::string& parent, int groups) {
    return see(absl::StrCat(
        "{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: ", name,
        ", generation: 7}, spec: {",
        parent.empty() ? "" : "parentCompositePodGroupName: " + parent + ", ",
        "schedulingPolicy: {gang: {minGroupCount: ", groups, "}}}}"));
  };
  const auto group = [&](const std::string& name, const std::string& parent) {
    return see(absl::StrCat(
        "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: ", name,
        "}, spec: {parentCompositePodGroupName: ", parent,
        ", schedulingPolicy: {gang: {minCount: 1}}}}"));
  };
  const auto pod = [&](const std::string& of, bool bound) {
    return see(absl::StrCat(
        "{apiVersion: v1, kind: Pod, metadata: {name: p-", of, ", uid: u-", of,
        "}, spec: {schedulingGroup: {podGroupName: ", of, "}, ", bound ? "nodeName: n0, " : "",
        "containers: [{name: c, image: x}]}, status: {conditions: [{type: "
        "PodScheduled, status: '",
        bound ? "True" : "False", "', reason: Unschedulable, message: no ", of, "}]}}"));
  };
  const auto key = [](const std::string& name) {
    return GroupConditions::Key(Kind::kCompositePodGroup, "default/" + name);
  };
  const auto told = [&](const std::string& name) {
    const std::optional<Object> object = seen.Update(key(name), absl::UnixEpoch());
    if (!object.has_value()) return std::string("-");
    seen.See({WatchEvent::Type::kSet, *object});
    const api::Condition& condition = object->As<api::CompositePodGroup>().status().conditions(0);
    return absl::StrCat(condition.type(), " ", condition.status(), " ", condition.reason(), " ",
                        condition.message(), " ", condition.observed_generation());
  };
  EXPECT_EQ(pod("a", false), Keys{GroupConditions::Key(Kind::kKubernetesPodGroup, "default/a")})
      << "nobody knows what is above it";
  group("a", "left");
  group("b", "left");
  group("c", "right");
  EXPECT_EQ(composite("left", "top", 1), (Keys{key("left"), key("top")}));
  composite("right", "top", 1);
  composite("top", "", 2);
  EXPECT_EQ(told("top"), "CompositePodGroupInitiallyScheduled False Unschedulable no a 7");
  EXPECT_EQ(told("right"), "-") << "none of its pods was tried";
  EXPECT_EQ(pod("b", true), (Keys{GroupConditions::Key(Kind::kKubernetesPodGroup, "default/b"),
                                  key("left"), key("top")}));
  EXPECT_EQ(told("left"), "CompositePodGroupInitiallyScheduled True Scheduled  7");
  EXPECT_EQ(told("top"), "-") << "one of two";
  pod("c", true);
  EXPECT_EQ(told("top"), "CompositePodGroupInitiallyScheduled True Scheduled  7");
  EXPECT_EQ(told("right"), "CompositePodGroupInitiallyScheduled True Scheduled  7");
  pod("c", false);
  EXPECT_EQ(told("right"), "-") << "it never goes back";
  const Object gone = Parse(
      "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: c}, spec: "
      "{parentCompositePodGroupName: right}}");
  EXPECT_EQ(seen.See({WatchEvent::Type::kDeleted, gone}), (Keys{key("right"), key("top")}));
}

// Two that name each other are no tree; nothing goes round for ever.
TEST(GroupConditions, ARingOfCompositesEnds) {
  GroupConditions seen;
  for (const char* text : {"{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, "
                           "metadata: {name: a}, spec: "
                           "{parentCompositePodGroupName: b}}",
                           "{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, "
                           "metadata: {name: b}, spec: "
                           "{parentCompositePodGroupName: a}}"}) {
    EXPECT_THAT(seen.See({WatchEvent::Type::kSet, Parse(text)}),
                ::testing::SizeIs(::testing::Le(4)));
  }
  EXPECT_FALSE(seen.Update({Kind::kCompositePodGroup, "default/a"}, absl::UnixEpoch()).has_value());
}

}  // namespace
}  // namespace berth
