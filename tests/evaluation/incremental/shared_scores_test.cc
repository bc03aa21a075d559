// SPDX-License-Identifier: Apache-2.0
// Tests of src/evaluation/incremental/shared_scores.h.
#include "evaluation/incremental/shared_scores.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

class SharedScoresTest : public ::testing::Test {
 protected:
  // Adds up the points of a pod. Returns how many plugins gave theirs; holds the totals against
  // those of these plugins by RunScore().
  int Find(const PodBuilder& builder) {
    PodBuilder named = builder;
    const std::shared_ptr<const PodInfo> pod = world_.Set(named.Name("p").Object());
    CycleState state;
    const EvaluationRequest request = world_.Request(state, pod);
    PodSignature signature;
    const PluginMask signed_by = request.framework.signer().SignForNodes(*pod, signature);
    const ScoreRunner& runner = request.framework.scores();
    std::vector<NodeRow> rows(request.nodes.size());
    std::iota(rows.begin(), rows.end(), 0);
    EXPECT_TRUE(runner.RunPreScore(state, *pod, request.nodes, rows, signed_by).ok());
    std::vector<int64_t> totals;
    const PluginMask added = scores_.Find(request, signed_by, totals);
    std::vector<int64_t> want(rows.size());
    EXPECT_TRUE(runner.RunPreScore(state, *pod, request.nodes, rows, added).ok());
    EXPECT_TRUE(
        runner.RunScore(state, *pod, request.nodes, rows, absl::MakeSpan(want), nullptr).ok());
    EXPECT_EQ(totals, want);
    return __builtin_popcountll(added);
  }
  void AddNode(int i, int cpu) {
    world_.Set(MakeNode()
                   .Name(absl::StrCat("node-", i))
                   .Allocatable("cpu", absl::StrCat(cpu))
                   .Allocatable("memory", "8Gi")
                   .Allocatable("pods", "99")
                   .Object());
  }
  void Run(int node) {
    world_.Set(MakePod()
                   .Name(absl::StrCat("running-", running_++))
                   .Request("cpu", "100m")
                   .NodeName(absl::StrCat("node-", node))
                   .Object());
  }

  OneProfile world_;
  SharedScores scores_;
  int running_ = 0;
};

// NodeResourcesFit and NodeResourcesBalancedAllocation.
TEST_F(SharedScoresTest, PodsThatRequestTheSameShare) {
  for (int i = 0; i < 40; ++i) AddNode(i, 2 + i % 7);
  const PodBuilder pod = MakePod().Request("cpu", "500m").Request("memory", "1Gi");
  EXPECT_EQ(Find(pod), 0) << "nothing is kept for the first";
  EXPECT_EQ(Find(PodBuilder(pod).Label("app", "b")), 2);
  EXPECT_EQ(Find(PodBuilder(pod).PreferredNodeAffinityIn(100, "disk", {"ssd"})), 2);
  EXPECT_EQ(Find(PodBuilder(pod).Request("cpu", "501m")), 0);
  EXPECT_EQ(Find(pod), 2);
}

TEST_F(SharedScoresTest, FollowsNodesThatChangeComeAndGo) {
  for (int i = 0; i < 40; ++i) AddNode(i, 4);
  const PodBuilder pod = MakePod().Request("cpu", "500m").Request("memory", "1Gi");
  for (int i = 0; i < 3; ++i) Find(pod);
  for (int i = 0; i < 20; ++i) {
    Run(i % 3);
    EXPECT_EQ(Find(pod), 2);
  }
  AddNode(7, 16);
  EXPECT_EQ(Find(pod), 2);
  AddNode(40, 8);
  EXPECT_EQ(Find(pod), 2);
  world_.Delete(MakeNode().Name("node-11").Object());
  EXPECT_EQ(Find(pod), 2);
  world_.Delete(MakeNode().Name("node-12").Object());
  AddNode(41, 2);
  EXPECT_EQ(Find(pod), 2) << "as many nodes, but others";
  for (int i = 0; i < 39; ++i) Run(i);
  EXPECT_EQ(Find(pod), 2) << "nearly all changed";
}

// BERTH_SEED=N repeats one history.
TEST_F(SharedScoresTest, RandomHistories) {
  int asked = 0, shared = 0;
  for (const int seed : testing::Seeds(20, 1)) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    testing::Random random(seed);
    const testing::RandomCluster cluster = MakeRandomCluster(random, 10 + random.Below(200));
    for (const Object& object : cluster.objects) world_.Set(object);
    std::vector<NodeBuilder> nodes = cluster.nodes;
    for (NodeBuilder& node : nodes) world_.Set(node.Object());
    std::vector<PodBuilder> kinds;
    for (int i = 0; i < 6; ++i) kinds.push_back(MakeRandomPod(random, "p"));
    for (int i = 0; i < 100; ++i) {
      const int what = static_cast<int>(random.Below(10));
      NodeBuilder& node = nodes[random.Below(nodes.size())];
      if (what == 0) {
        world_.Delete(node.Object());
      } else if (what == 1) {
        world_.Set(node.Allocatable("cpu", absl::StrCat(1 + random.Below(64))).Object());
      } else if (what < 8) {
        const std::string name = absl::StrCat("running-", i, "-", seed);
        world_.Set(MakeRandomPod(random, name).NodeName(node.Info().name().view()).Object());
      }
      if (world_.nodes().size() == 0) continue;
      ++asked;
      PodBuilder pod = kinds[random.Below(kinds.size())];
      shared += Find(pod.NodeName("").NominatedNodeName("")) > 0 ? 1 : 0;
      if (HasFailure()) return;
    }
  }
  if (testing::IsOneSeed()) return;
  EXPECT_GT(shared * 2, asked) << "hardly any scores were shared";
}

}  // namespace
}  // namespace berth
