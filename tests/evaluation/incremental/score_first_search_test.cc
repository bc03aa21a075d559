// SPDX-License-Identifier: Apache-2.0
// Tests of src/evaluation/incremental/score_first_search.h. That it finds what FullEvaluator finds
// is part of evaluators_test.cc.
#include "evaluation/incremental/score_first_search.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "evaluation/full_evaluator.h"
#include "gtest/gtest.h"
#include "tests/evaluation/one_profile.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::NodeBuilder;
using testing::PodBuilder;

class ScoreFirstSearchTest : public ::testing::Test {
 protected:
  static NodeBuilder Node(const std::string& name, const std::string& cpu) {
    return MakeNode().Name(name).Allocatable("cpu", cpu).Allocatable("pods", "9");
  }
  void AddNodes(int count, const std::string& cpu) {
    for (int i = 0; i < count; ++i)
      world_.Set(Node(absl::StrCat("node-", cpu, "-", i), cpu).Object());
  }

  // The name of the node; empty if none is found.
  std::string Find(const PodBuilder& builder) {
    PodBuilder named = builder;
    const std::shared_ptr<const PodInfo> pod = world_.Set(named.Name("p").Object());
    CycleState state;
    const EvaluationRequest request = world_.Request(state, pod);
    EXPECT_TRUE(request.framework.filters().RunPreFilter(state, *pod, request.nodes).status.ok());
    PodSignature signature;
    const PluginMask node_plugins = request.framework.signer().SignForNodes(*pod, signature);
    Evaluation evaluation;
    if (!search_.Find(request, node_plugins, evaluation)) return "";
    return std::string(request.nodes.node(evaluation.best).name().view());
  }

  OneProfile world_;
  ScoreFirstSearch search_;
};

TEST_F(ScoreFirstSearchTest, FindsTheBestOfTheFeasible) {
  AddNodes(20, "2");
  world_.Set(Node("large", "8").Object());
  world_.Set(Node("largest", "64").Unschedulable().Object());
  EXPECT_EQ(Find(MakePod().Request("cpu", "1")), "large");
}

// With the node that is not feasible the others would be normalised otherwise.
TEST_F(ScoreFirstSearchTest, ScoresAreNormalisedOverFeasibleNodes) {
  AddNodes(20, "2");
  world_.Set(Node("small", "1").Label("disk", "ssd").Object());
  world_.Set(Node("large", "64").Label("disk", "old").Object());
  const PodBuilder pod = MakePod()
                             .PreferredNodeAffinityIn(100, "disk", {"ssd"})
                             .PreferredNodeAffinityIn(1, "disk", {"old"});
  EXPECT_EQ(Find(PodBuilder(pod).Request("cpu", "1500m")), "large");
  EXPECT_EQ(Find(PodBuilder(pod).Request("cpu", "500m")), "small");
}

TEST_F(ScoreFirstSearchTest, FindsANodeBehindManyThatAreNotFeasible) {
  AddNodes(20, "2");
  for (int i = 0; i < 600; ++i) {
    world_.Set(
        Node(absl::StrCat("closed-", i), "64").Label("disk", "ssd").Unschedulable().Object());
  }
  EXPECT_EQ(Find(MakePod().Request("cpu", "1")), "node-2-0");
  EXPECT_EQ(Find(MakePod().Request("cpu", "1").PreferredNodeAffinityIn(10, "disk", {"ssd"})),
            "node-2-0");
}

TEST_F(ScoreFirstSearchTest, NothingIsFoundIfNoNodeIsFeasible) {
  AddNodes(20, "2");
  EXPECT_EQ(Find(MakePod().Request("cpu", "3")), "");
}

// BERTH_SEED=N repeats one cluster.
TEST(ScoreFirstSearch, FindsWhatTheFullEvaluatorFinds) {
  int asked = 0, found = 0;
  for (const int seed : testing::Seeds(40, 1)) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    testing::Random random(seed);
    testing::RandomCluster cluster = MakeRandomCluster(random, 40 + random.Below(400));
    OneProfile world(seed);
    for (const Object& object : cluster.objects) world.Set(object);
    for (NodeBuilder& node : cluster.nodes) world.Set(node.Object());
    for (int i = 0; i < 100; ++i) {
      const absl::string_view node = random.OneOf(cluster.nodes).Info().name().view();
      world.Set(MakeRandomPod(random, absl::StrCat("running-", i)).NodeName(node).Object());
    }
    ScoreFirstSearch search;
    for (int i = 0; i < 20; ++i) {
      PodBuilder builder = MakeRandomPod(random, absl::StrCat("pending-", i));
      const std::shared_ptr<const PodInfo> pod =
          world.Set(builder.NodeName("").NominatedNodeName("").Object());
      CycleState state;
      const EvaluationRequest request = world.Request(state, pod);
      const PreFilterOutcome pre_filter =
          request.framework.filters().RunPreFilter(state, *pod, request.nodes);
      if (!pre_filter.status.ok() || !pre_filter.is_everywhere()) continue;
      PodSignature signature;
      const PluginMask node_plugins = request.framework.signer().SignForNodes(*pod, signature);
      Evaluation scored_first;
      ++asked;
      if (!search.Find(request, node_plugins, scored_first)) continue;
      ++found;
      const Evaluation full = FullEvaluator().Evaluate(request, pre_filter);
      ASSERT_TRUE(full.status.ok());
      ASSERT_EQ(scored_first.best, full.best) << "pod " << i;
    }
  }
  if (testing::IsOneSeed()) return;
  EXPECT_GT(found * 4, asked) << "hardly any node was found";
}

// It counts them, unless a pod more on a host means the same however many they are.
TEST_F(ScoreFirstSearchTest, SpreadOverHostsNeedsAllFeasibleNodesIfSomeHaveSeveralPods) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = absl::StrCat("node-", i);
    world_.Set(Node(name, "2").Label("kubernetes.io/hostname", name).Object());
  }
  int pods = 0;
  const auto run = [&](absl::string_view node) {
    world_.Set(
        MakePod().Name(absl::StrCat("run-", pods++)).Label("a", "b").NodeName(node).Object());
  };
  const auto find = [&](int max_skew) {
    return Find(MakePod().Label("a", "b").SpreadConstraint(
        max_skew, "kubernetes.io/hostname", UnsatisfiableAction::kScheduleAnyway, {{"a", "b"}}));
  };
  EXPECT_EQ(find(1), "node-0");
  EXPECT_EQ(find(3), "node-0");
  run("node-0");
  run("node-1");
  EXPECT_EQ(find(1), "node-2");
  EXPECT_EQ(find(3), "");
  run("node-1");
  EXPECT_EQ(find(1), "");
  for (int i = 0; i < 20; ++i) world_.Set(Node(absl::StrCat("node-", i), "2").Object());
  EXPECT_EQ(find(1), "") << "nodes without the label are not scored";
}

// Zone a has no pod, but no feasible node either; of the others b has fewer.
TEST_F(ScoreFirstSearchTest, SpreadOverZonesNeedsAFeasibleNodeOfEach) {
  const auto add = [&](absl::string_view zone, int i, absl::string_view cpu) {
    const std::string name = absl::StrCat(zone, "-", i);
    world_.Set(Node(name, std::string(cpu)).Label("zone", zone).Object());
    return name;
  };
  for (int i = 0; i < 20; ++i) {
    add("a", i, "1");
    add("b", i, "4");
    add("c", i, "4");
  }
  int pods = 0;
  const auto run = [&](absl::string_view node) {
    world_.Set(
        MakePod().Name(absl::StrCat("run-", pods++)).Label("a", "b").NodeName(node).Object());
  };
  for (const absl::string_view node : {"b-3", "c-3", "c-4"}) run(node);
  const PodBuilder pod =
      MakePod()
          .Label("a", "b")
          .Request("cpu", "2")
          .SpreadConstraint(1, "zone", UnsatisfiableAction::kScheduleAnyway, {{"a", "b"}});
  EXPECT_EQ(Find(pod), "b-0");
  world_.Set(Node("without", "64").Object());  // not scored, so that it stands for no zone
  EXPECT_EQ(Find(pod), "");
}

// Behind the first nodes of its zone, which are tried one by one.
TEST_F(ScoreFirstSearchTest, FindsTheFeasibleNodeOfAZoneAmongMany) {
  for (int i = 0; i < 30; ++i) {
    world_.Set(Node(absl::StrCat("a-", i), i == 29 ? "4" : "1").Label("zone", "a").Object());
    world_.Set(Node(absl::StrCat("b-", i), "4").Label("zone", "b").Object());
  }
  world_.Set(MakePod().Name("run").Label("a", "b").NodeName("b-7").Object());
  EXPECT_EQ(
      Find(MakePod()
               .Label("a", "b")
               .Request("cpu", "2")
               .SpreadConstraint(1, "zone", UnsatisfiableAction::kScheduleAnyway, {{"a", "b"}})),
      "a-29");
}

TEST_F(ScoreFirstSearchTest, PreferredAffinityToPodsIsScoredFirst) {
  AddNodes(20, "2");
  const LabelSet to = {{"app", "db"}};
  world_.Set(MakePod().Name("db").Label("app", "db").NodeName("node-2-7").Object());
  EXPECT_EQ(Find(MakePod().PreferredPodAffinity(10, "kubernetes.io/hostname", to)),
            "node-2-0");  // no node has the label
  for (int i = 0; i < 20; ++i) {
    const std::string name = absl::StrCat("node-2-", i);
    world_.Set(Node(name, "2").Label("kubernetes.io/hostname", name).Object());
  }
  EXPECT_EQ(Find(MakePod().PreferredPodAffinity(10, "kubernetes.io/hostname", to)), "node-2-7");
}

}  // namespace
}  // namespace berth
