// SPDX-License-Identifier: Apache-2.0
// A long train of events does not keep the pods waiting that can be tried.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/builtin_plugins.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"
#include "tests/engine/simulate.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

constexpr char kConfiguration[] = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
)";

Object Node(int i) {
  return MakeNode()
      .Name(absl::StrCat("n", i))
      .Allocatable("cpu", "4")
      .Allocatable("memory", "1Gi")
      .Allocatable("pods", "10")
      .Object();
}

// How many nodes of a burst of 1,000 the scheduler knows when it tries the pod "next" that came
// before them, while `waiting` pods, of `kinds` kinds, do not fit and no such node helps them.
int NodesKnownToTheNext(int waiting, int kinds) {
  const Registry registry = BuiltinRegistry({}).value();
  std::vector<Object> objects = {Node(0)};
  for (int i = 0; i < waiting; ++i) {
    objects.push_back(MakePod()
                          .Name(absl::StrCat("waits-", i))
                          .Request("cpu", "8")
                          .Request("memory", absl::StrCat(1 + i % kinds, "Mi"))
                          .Object());
  }
  const auto simulation = Simulate(registry, kConfiguration, std::move(objects));
  simulation->RunUntilIdle();
  std::string said;
  simulation->scheduler().ObserveAttempts([&](const AttemptRecord& attempt) {
    for (const PodOutcome& outcome : attempt.outcomes) {
      if (outcome.pod->name() == "next" && said.empty()) said = std::string(outcome.message);
    }
  });
  simulation->cluster().Set(MakePod().Name("next").Request("cpu", "16").Object());
  for (int i = 1; i <= 1'000; ++i) simulation->cluster().Set(Node(i));
  simulation->RunUntilIdle();
  int nodes = 0;
  EXPECT_EQ(std::sscanf(said.c_str(), "0/%d nodes", &nodes), 1) << said;
  return nodes;
}

TEST(EventTrain, APodIsTriedAfterSoManyEvents) {
  EXPECT_EQ(NodesKnownToTheNext(0, 1), 160);
  EXPECT_GT(NodesKnownToTheNext(1'000, 1), 150) << "a kind costs as much as one pod does";
}

TEST(EventTrain, EventsThatManyPodsWaitForCountForMore) {
  const int nodes = NodesKnownToTheNext(1'000, 1'000);
  EXPECT_GT(nodes, 2);
  EXPECT_LT(nodes, 20);
}

TEST(EventTrain, FewEventsArriveWhileHintsAreAsked) {
  const int nodes = NodesKnownToTheNext(3'000, 3'000);
  EXPECT_GT(nodes, 1);
  EXPECT_LT(nodes, 20);
}

}  // namespace
}  // namespace berth
