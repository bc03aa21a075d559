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
  EXPECT_EQ(phase({}), "Inqueue") << "evicted: it begins anew";
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
            key);
  EXPECT_FALSE(seen.Update(key, absl::UnixEpoch()).has_value()) << "there is no such group yet";
  EXPECT_EQ(see("{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, "
                "spec: {schedulingPolicy: {gang: {minCount: 1}}}}"),
            key);
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
  EXPECT_EQ(seen.See({WatchEvent::Type::kDeleted, bound}), key);
  EXPECT_EQ(see("{apiVersion: v1, kind: Pod, metadata: {name: q, annotations: "
                "{scheduling.k8s.io/group-name: v}}}"),
            GroupConditions::Key(Kind::kVolcanoPodGroup, "default/v"));
  EXPECT_FALSE(see("{apiVersion: v1, kind: Pod, metadata: {name: r}}").has_value());
}

}  // namespace
}  // namespace berth
