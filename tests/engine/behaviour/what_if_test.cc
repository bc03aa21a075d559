// SPDX-License-Identifier: Apache-2.0
// Item 32 of what users ask for: to ask before submitting. The answer for a gang changes nothing,
// is the same if it is asked again, and is what happens when the gang is submitted; also with more
// nodes, a larger quota, other weights.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/explainer.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

constexpr absl::Time kNow = absl::UnixEpoch();

KubeSchedulerConfiguration Configuration(absl::string_view strategy) {
  LoadedConfiguration loaded = ParseConfiguration(
      absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Coscheduling}, {name: CapacityScheduling}]
      disabled: [{name: DefaultPreemption}, {name: PrioritySort}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: )",
                   strategy, ", resources: [{name: nvidia.com/gpu, weight: 1}]}}\n"),
      "what-if", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  return loaded.configuration;
}

Object PriorityPod(const std::string& name, int gpus, int priority, const std::string& node,
                   const std::string& group) {
  auto pod = testing::MakePod().Name(name).Namespace("default").Priority(priority).Request(
      "nvidia.com/gpu", absl::StrCat(gpus));
  if (!group.empty()) pod.Label("scheduling.x-k8s.io/pod-group", group);
  if (!node.empty()) pod.NodeName(node).Phase("Running");
  return pod.Object();
}

struct WhatIf {
  std::vector<Object> objects;
  std::string strategy = "LeastAllocated";
};

// One pending gang beside pods that run, within a quota.
WhatIf MakeWhatIf(Random& random, int more_nodes, int more_quota, absl::string_view strategy) {
  WhatIf made;
  made.strategy = std::string(strategy);
  const int nodes = random.Between(2, 5);
  for (int n = 0; n < nodes; ++n) {
    const int gpus = random.Between(1, 8);
    made.objects.push_back(MakeGpuNode(absl::StrCat("n", n), gpus));
    int free = gpus;
    for (int p = 0; free > 0 && random.Percent(70); ++p) {
      const int uses = random.Between(1, free);
      made.objects.push_back(PriorityPod(absl::StrCat("r", n, "-", p), uses,
                                         random.Percent(50) ? 0 : 1000, absl::StrCat("n", n), ""));
      free -= uses;
    }
  }
  const int members = random.Between(1, 4);
  const int quota = random.Between(4, 40);
  made.objects.push_back(MakeGroup("g", members));
  const int gpus = random.Between(1, 4);
  for (int m = 0; m < members; ++m) {
    made.objects.push_back(PriorityPod(
        absl::StrCat("g-", m), random.Percent(80) ? gpus : random.Between(1, 8), 100, "", "g"));
  }
  made.objects.push_back(
      testing::ObjectsFromYaml(
          absl::StrCat("apiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\nmetadata: "
                       "{name: q}\nspec: {namespaces: [default], min: {nvidia.com/gpu: ",
                       quota + more_quota, "}, max: {nvidia.com/gpu: ", quota + more_quota, "}}\n"))
          .front());
  for (int n = 0; n < more_nodes; ++n) {
    made.objects.push_back(MakeGpuNode(absl::StrCat("more", n), 8));
  }
  return made;
}

// Where pods go, who goes, and what is said.
std::string Ask(Explainer& explainer) {
  const std::optional<GroupExplanation> answer =
      explainer.ExplainGroup(*explainer.pending().front());
  if (!answer.has_value()) return "none";
  std::string text = absl::StrCat(answer->starts, " ", answer->answer, " ", answer->message);
  for (const auto& [pod, node] : answer->placements) absl::StrAppend(&text, "; ", pod, " ", node);
  for (const auto& [pod, plan] : answer->plans) {
    absl::StrAppend(&text, "; ", pod, " at ", plan.nominated_node.value_or(""));
    for (const auto& victim : plan.victims) absl::StrAppend(&text, " -", victim->name());
  }
  return text;
}

TEST(WhatIf, TheAnswerChangesNothingAndIsWhatHappens) {
  int starts = 0, plans = 0, neither = 0, helped = 0;
  const auto check = [&](const WhatIf& made) {
    SimulatedClock clock(kNow);
    Problems problems;
    const auto configuration = Configuration(made.strategy);
    const auto ask = [&] {
      return Explainer::Create(configuration, Builtins(), clock, made.objects, problems);
    };
    const auto explainer = ask();
    ASSERT_NE(explainer, nullptr) << problems.ToString();
    const GroupExplanation answer = *explainer->ExplainGroup(*explainer->pending().front());
    const std::string first = Ask(*ask());
    EXPECT_EQ(Ask(*ask()), first);
    // A pod is asked about first. (After a gang, ties among victims within a ClusterQuota may go
    // the other way: QuotaBook charges again who was taken off for a trial.)
    const auto asked = ask();
    (void)asked->Explain(asked->pending().front());
    EXPECT_EQ(Ask(*asked), first);

    auto simulation =
        Simulation::Create(
            {.configuration = configuration, .registry = &Builtins(), .objects = made.objects})
            .value();
    simulation->RunUntilIdle();
    std::map<std::string, std::string> bound;
    for (const auto& [pod, node] : simulation->cluster().Bindings()) bound[pod] = node;
    std::vector<std::string> evicted = simulation->cluster().Evictions();
    std::vector<std::string> victims;
    for (const auto& [pod, plan] : answer.plans) {
      for (const auto& victim : plan.victims) victims.push_back(victim->key());
    }
    std::sort(evicted.begin(), evicted.end());
    std::sort(victims.begin(), victims.end());
    SCOPED_TRACE(first);
    EXPECT_EQ(evicted, victims);
    if (evicted.empty()) {
      EXPECT_EQ(bound, answer.placements);
    }
    ++(answer.starts ? starts : !victims.empty() ? plans : neither);
  };
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    struct Variant {
      int more_nodes, more_quota;
      absl::string_view strategy;
    };
    int started = 0;
    for (const Variant& variant :
         {Variant{0, 0, "LeastAllocated"}, Variant{2, 0, "LeastAllocated"},
          Variant{0, 4, "LeastAllocated"}, Variant{0, 0, "MostAllocated"}}) {
      Random random(seed);  // the same but for the variant
      const int before = starts;
      check(MakeWhatIf(random, variant.more_nodes, variant.more_quota, variant.strategy));
      if (HasFailure()) return;
      started += starts - before;
    }
    helped += static_cast<int>(started > 0 && started < 4);
  }
  std::printf("starts %d, plans %d, neither %d; a variant decided %d\n", starts, plans, neither,
              helped);
  EXPECT_GT(starts, 200);
  EXPECT_GT(plans, 50);
  EXPECT_GT(neither, 200);
  EXPECT_GT(helped, 30);
}

}  // namespace
}  // namespace berth
