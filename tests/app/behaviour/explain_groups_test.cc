// SPDX-License-Identifier: Apache-2.0
// What `explain` says of gangs that others make room for.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Node(absl::string_view name, int cpu) {
  return absl::StrCat("---\n{apiVersion: v1, kind: Node, metadata: {name: ", name,
                      "}, status: {allocatable: {cpu: '", cpu, "', memory: 8Gi, pods: '110'}}}\n");
}

std::string Pod(absl::string_view name, absl::string_view metadata, absl::string_view spec) {
  return absl::StrCat("---\n{apiVersion: v1, kind: Pod, metadata: {name: ", name, ", ", metadata,
                      "}, spec: {", spec,
                      ", containers: [{name: c, image: x, resources: {requests: {cpu: '2'}}}]}}\n");
}

std::string RunOn(absl::string_view command, absl::string_view cluster) {
  const std::string file = WriteTemporary("groups.yaml", cluster);
  const Outcome outcome =
      RunBerth(absl::StrCat(command, " --config config/gang.yaml --cluster ", file));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.out;
}

// A gang of two that fits if the pod on n1 goes.
std::string Preempting(int victims) {
  std::string text = absl::StrCat(Node("n1", 2 * victims), Node("n2", 2));
  for (int i = 0; i < victims; ++i) {
    absl::StrAppend(&text, Pod(absl::StrCat("v", i), "labels: {}", "nodeName: n1, priority: 0"));
  }
  absl::StrAppend(
      &text,
      "---\n{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: "
      "g, namespace: default}, spec: {minMember: ",
      victims + 1, "}}\n");
  for (int i = 0; i <= victims; ++i) {
    absl::StrAppend(&text, Pod(absl::StrCat("m", i), "labels: {scheduling.x-k8s.io/pod-group: g}",
                               "priority: 10"));
  }
  return text;
}

TEST(ExplainGroups, WhatWouldMakeRoomIsSaidOnceAndOfNoPastDeed) {
  const std::string text = RunOn("explain", Preempting(1));
  const std::string why =
      "PodGroup default/g needs 2 pods at once, 1 can run: 0/2 nodes are available: 2 Insufficient "
      "cpu; it would start if 1 pod were evicted (default/v0)";
  EXPECT_THAT(text, HasSubstr(absl::StrCat("default/m0: ", why, "\n")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("default/m1: ", why, ", this pod on n1\n")));
  EXPECT_THAT(text, Not(HasSubstr("is evicted")));
  EXPECT_THAT(text, Not(HasSubstr(".;")));
  EXPECT_THAT(RunOn("explain -o json", Preempting(1)),
              HasSubstr(absl::StrCat("\"message\":\"", why, "\"")));
}

TEST(ExplainGroups, ManyVictimsAreCounted) {
  EXPECT_THAT(RunOn("explain", Preempting(7)),
              HasSubstr("; it would start if 7 pods were evicted (default/v0, default/v1, "
                        "default/v2, default/v3, default/v4 and 2 more)"));
}

// One member is enough; each has a plan of its own.
TEST(ExplainGroups, AGangThatNeedsOnePodStartsByTheFirstPlan) {
  std::string cluster =
      "---\n{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, "
      "namespace: default}, spec: {minMember: 1}}\n";
  for (const int i : {0, 1}) {
    absl::StrAppend(
        &cluster, Node(absl::StrCat("n", i), 2),
        Pod(absl::StrCat("v", i), "labels: {}", absl::StrCat("nodeName: n", i, ", priority: 0")),
        Pod(absl::StrCat("m", i), "labels: {scheduling.x-k8s.io/pod-group: g}", "priority: 10"));
  }
  const std::string why =
      "PodGroup default/g needs 1 pod, 0 can run: 0/2 nodes are available: 2 Insufficient cpu; it "
      "would start if 1 pod were evicted (default/v0)";
  const std::string text = RunOn("explain", cluster);
  EXPECT_THAT(text, HasSubstr(absl::StrCat("default/m0: ", why, ", this pod on n0\n")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("default/m1: ", why, ", this pod on n1\n")));
  const std::string json = RunOn("explain -o json", cluster);
  EXPECT_THAT(json, HasSubstr(R"("answer":"plan")"));
  EXPECT_THAT(json, HasSubstr(R"("victims":["default/v1"])"));
}

// What each member would evict on its own is not done.
TEST(ExplainGroups, NobodyMakesRoomForHalfAGang) {
  const std::string text = RunOn(
      "explain",
      absl::StrCat(Node("n1", 2), Pod("v0", "labels: {}", "nodeName: n1, priority: 0"),
                   "---\n{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: "
                   "{name: g, namespace: default}, spec: {minMember: 2}}\n",
                   Pod("m0", "labels: {scheduling.x-k8s.io/pod-group: g}", "priority: 10"),
                   Pod("m1", "labels: {scheduling.x-k8s.io/pod-group: g}", "priority: 10")));
  EXPECT_THAT(text, HasSubstr("default/m0: PodGroup default/g needs 2 pods at once"));
  EXPECT_THAT(text, Not(HasSubstr("would make room on")));
}

}  // namespace
}  // namespace berth
