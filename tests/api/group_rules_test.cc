// SPDX-License-Identifier: Apache-2.0
// What manifests are told that an API server refuses of the objects that define groups.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/api/problems_of.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Of(absl::string_view version, absl::string_view kind,
                            absl::string_view spec, absl::string_view metadata = "name: g") {
  return ProblemsOfManifest(absl::StrCat("apiVersion: ", version, "\nkind: ", kind, "\nmetadata: {",
                                         metadata, "}\nspec: {", spec, "}\n"));
}

constexpr absl::string_view kSchedulerPlugins = "scheduling.x-k8s.io/v1alpha1";
constexpr absl::string_view kKubernetes = "scheduling.k8s.io/v1beta1";

TEST(GroupRules, AMinimumIsAtLeastOne) {
  EXPECT_THAT(Of(kSchedulerPlugins, "PodGroup", "minMember: 1"), IsEmpty());
  EXPECT_THAT(Of(kSchedulerPlugins, "PodGroup", ""), IsEmpty());
  for (const absl::string_view number : {"0", "-1"}) {
    EXPECT_THAT(
        Of(kSchedulerPlugins, "PodGroup", absl::StrCat("minMember: ", number)),
        ElementsAre(HasSubstr(absl::StrCat("f:4:19: error: PodGroup default/g: spec.minMember: is ",
                                           number, ", and has to be at least 1"))));
  }
  EXPECT_THAT(Of(kKubernetes, "PodGroup", "schedulingPolicy: {gang: {minCount: 2}}"), IsEmpty());
  EXPECT_THAT(Of(kKubernetes, "PodGroup", "schedulingPolicy: {gang: {minCount: 0}}"),
              ElementsAre(HasSubstr("spec.schedulingPolicy.gang.minCount: is 0")));
  EXPECT_THAT(Of(kKubernetes, "PodGroup", "schedulingPolicy: {gang: {}}"),
              ElementsAre(HasSubstr("spec.schedulingPolicy.gang.minCount: is missing")));
  EXPECT_THAT(Of("scheduling.k8s.io/v1alpha3", "CompositePodGroup",
                 "schedulingPolicy: {gang: {minGroupCount: 0}}"),
              ElementsAre(HasSubstr("spec.schedulingPolicy.gang.minGroupCount: is 0")));
  EXPECT_THAT(Of("scheduling.k8s.io/v1alpha1", "Workload",
                 "podGroups: [{name: a, policy: {gang: {minCount: 1}}}, {name: b, policy: {gang: "
                 "{minCount: 0}}}]"),
              ElementsAre(HasSubstr("spec.podGroups[1].policy.gang.minCount: is 0")));
}

TEST(GroupRules, AGroupHasOnePolicy) {
  EXPECT_THAT(Of(kKubernetes, "PodGroup", "schedulingPolicy: {basic: {}}"), IsEmpty());
  EXPECT_THAT(Of(kKubernetes, "PodGroup", "schedulingPolicy: {gang: {minCount: 1}, basic: {}}"),
              ElementsAre(HasSubstr("error: PodGroup default/g: spec.schedulingPolicy: has gang "
                                    "and basic; it may have one of them")));
}

TEST(GroupRules, WhatAnApiServerHasStoredIsAWarning) {
  EXPECT_THAT(Of(kSchedulerPlugins, "PodGroup", "minMember: 0", "name: g, uid: u"),
              ElementsAre(HasSubstr("warning: PodGroup default/g: spec.minMember: is 0")));
}

TEST(GroupRules, WhatVolcanoTakesIsAWarning) {
  EXPECT_THAT(Of("scheduling.volcano.sh/v1beta1", "PodGroup",
                 "minMember: -2, minTaskMember: {a: -1, b: 0}"),
              ElementsAre(HasSubstr("warning: PodGroup default/g: spec.minMember: is -2; it counts "
                                    "as if it were not there"),
                          HasSubstr("spec.minTaskMember[a]: is -1")));
}

}  // namespace
}  // namespace berth
