// SPDX-License-Identifier: Apache-2.0
// Tests of the scores of this folder's plugins, after kube-scheduler's own tables.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "plugins/node_resources/node_resources_allocatable.h"
#include "plugins/node_resources/node_resources_balanced_allocation.h"
#include "plugins/node_resources/node_resources_fit.h"
#include "tests/plugins/random_cluster.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

using Scores = std::vector<int64_t>;

NodeBuilder NodeOf(int milli_cpu, int memory) {
  return MakeNode()
      .Capacity("cpu", absl::StrCat(milli_cpu, "m"))
      .Capacity("memory", absl::StrCat(memory));
}
PodBuilder PodOf(int milli_cpu, int memory) {
  return MakePod()
      .Request("cpu", absl::StrCat(milli_cpu, "m"))
      .Request("memory", absl::StrCat(memory));
}

struct Case {
  absl::string_view name;
  PodBuilder pod;
  std::vector<NodeAndPods> nodes;
  std::optional<Scores> want;
  std::string args = "{}";
};

template <class P, class Args>
void ExpectScores(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    FakeHandle handle(Numbered(c.nodes));
    EXPECT_EQ(RunScore(*MakePlugin<P, Args>(handle, c.args), c.pod.Obj(), handle), c.want)
        << c.name;
  }
}

std::string Strategy(absl::string_view type, absl::string_view resources) {
  return absl::Substitute("{scoringStrategy: {type: $0, resources: [$1]}}", type, resources);
}

TEST(NodeResourcesFitScoreTest, LeastAllocated) {
  ExpectScores<NodeResourcesFit, NodeResourcesFitArgs>({
      // Containers without requests count 100 milli-CPU and 200 MiB; a pod without containers
      // nothing.
      {"nothing requested",
       MakePod(),
       {{NodeOf(4000, 10000), {}}, {NodeOf(4000, 10000), {}}},
       Scores{100, 100}},
      // (4000-3000)*100/4000 = 25, (10000-5000)*100/10000 = 50; (6000-3000)*100/6000 = 50, 50
      {"nodes of different size",
       PodOf(3000, 5000),
       {{NodeOf(4000, 10000), {}}, {NodeOf(6000, 10000), {}}},
       Scores{37, 50}},
      // (10000-6000)*100/10000 = 40, 100; 40, (20000-5000)*100/20000 = 75
      {"running pods count",
       MakePod(),
       {{NodeOf(10000, 20000), {PodOf(3000, 0), PodOf(3000, 0)}},
        {NodeOf(10000, 20000), {PodOf(3000, 0), PodOf(3000, 5000)}}},
       Scores{70, 57}},
      {"more than there is scores 0",
       MakePod(),
       {{NodeOf(4000, 10000), {PodOf(6000, 0)}}},
       Scores{50}},
      {"a node without any of it", MakePod(), {{NodeOf(0, 0), {}}}, Scores{0}},
      // (25*1 + 50*2) / 3
      {"weights",
       PodOf(3000, 5000),
       {{NodeOf(4000, 10000), {}}},
       Scores{41},
       Strategy("LeastAllocated", "{name: memory, weight: 2}, {name: cpu, weight: 1}")},
      // 200 MiB and 100 milli-CPU are taken for the pod.
      {"requests that are missing",
       MakePod().Container(),
       {{NodeOf(1000, 1 << 30), {}}},
       Scores{85}},
  });
}

TEST(NodeResourcesFitScoreTest, ExtendedResourcesCountForPodsThatWantThem) {
  const std::string args =
      Strategy("LeastAllocated", "{name: cpu, weight: 1}, {name: example.com/a, weight: 3}");
  const NodeBuilder node = NodeOf(1000, 0).Capacity("example.com/a", "10");
  ExpectScores<NodeResourcesFit, NodeResourcesFitArgs>({
      {"not wanted: its weight does not count", PodOf(500, 0), {{node, {}}}, Scores{50}, args},
      // (50 + 3*80) / 4
      {"wanted", PodOf(500, 0).Request("example.com/a", "2"), {{node, {}}}, Scores{72}, args},
      {"wanted, but the node has none",
       PodOf(500, 0).Request("example.com/a", "2"),
       {{NodeOf(1000, 0), {}}},
       Scores{50},
       args},
      {"requests of the pod as a whole do not count",
       PodOf(500, 0).PodLevelRequest("cpu", "900m"),
       {{node, {}}},
       Scores{50},
       args},
  });
}

TEST(NodeResourcesFitScoreTest, MostAllocated) {
  const std::string args = Strategy("MostAllocated", "{name: cpu}, {name: memory}");
  ExpectScores<NodeResourcesFit, NodeResourcesFitArgs>({
      {"nothing requested",
       MakePod(),
       {{NodeOf(4000, 10000), {}}, {NodeOf(4000, 10000), {}}},
       Scores{0, 0},
       args},
      // 3000*100/4000 = 75, 5000*100/10000 = 50; 50, 50
      {"nodes of different size",
       PodOf(3000, 5000),
       {{NodeOf(4000, 10000), {}}, {NodeOf(6000, 10000), {}}},
       Scores{62, 50},
       args},
      {"more than there is scores 100",
       MakePod(),
       {{NodeOf(4000, 10000), {PodOf(6000, 0)}}},
       Scores{50},
       args},
  });
}

TEST(NodeResourcesFitScoreTest, RequestedToCapacityRatio) {
  const auto args = [](absl::string_view resources, absl::string_view shape) {
    return absl::Substitute(
        "{scoringStrategy: {type: RequestedToCapacityRatio, resources: [$0], "
        "requestedToCapacityRatio: {shape: [$1]}}}",
        resources, shape);
  };
  const std::string spread = args("{name: cpu}, {name: memory}",
                                  "{utilization: 0, score: 10}, {utilization: 100, score: 0}");
  const std::string pack_a =
      args("{name: example.com/a}", "{utilization: 0, score: 0}, {utilization: 100, score: 10}");
  const NodeBuilder with_a = NodeOf(4000, 10000).Capacity("example.com/a", "8");
  const PodBuilder wants_a = MakePod().Request("example.com/a", "2");
  ExpectScores<NodeResourcesFit, NodeResourcesFitArgs>({
      {"nothing requested",
       MakePod(),
       {{NodeOf(4000, 10000), {}}, {NodeOf(4000, 10000), {}}},
       Scores{100, 100},
       spread},
      // round((25 + 50) / 2), and 50
      {"rounded, not truncated",
       PodOf(3000, 5000),
       {{NodeOf(4000, 10000), {}}, {NodeOf(6000, 10000), {}}},
       Scores{38, 50},
       spread},
      // cpu is full and scores 0, so that only memory counts.
      {"a resource that scores 0 leaves the mean",
       PodOf(4000, 5000),
       {{NodeOf(4000, 10000), {}}},
       Scores{50},
       spread},
      {"packing an extended resource",
       wants_a,
       {{with_a, {}}, {with_a, {wants_a}}, {NodeOf(4000, 10000), {}}},
       Scores{25, 50, 0},
       pack_a},
      // Between 10 (score 0) and 70 (score 10), at 25: 100 * 15 / 60; above 70 falling to 30.
      {"a bent line",
       wants_a,
       {{with_a, {}}, {with_a, {wants_a, wants_a, wants_a}}},
       Scores{25, 30},
       args("{name: example.com/a}",
            "{utilization: 10, score: 0}, {utilization: 70, score: 10}, {utilization: 100, score: "
            "3}")},
  });
}

TEST(NodeResourcesBalancedAllocationTest, Score) {
  const std::string three = "{resources: [{name: cpu}, {name: memory}, {name: example.com/a}]}";
  ExpectScores<NodeResourcesBalancedAllocation, NodeResourcesBalancedAllocationArgs>({
      {"a pod that requests nothing is left out",
       MakePod().Container(),
       {{NodeOf(4000, 10000), {}}},
       std::nullopt},
      // |0.75 - 0.5| / 2 = 0.125; 0.5 and 0.5
      {"nodes of different size",
       PodOf(3000, 5000),
       {{NodeOf(4000, 10000), {}}, {NodeOf(6000, 10000), {}}},
       Scores{87, 100}},
      // |1 - 0.5| / 2
      {"fractions stop at 1", PodOf(3000, 5000), {{NodeOf(2000, 10000), {}}}, Scores{75}},
      {"what is not requested counts nothing, not a default",
       PodOf(1000, 0).Container(),
       {{NodeOf(2000, 1 << 30), {MakePod().Container()}}},
       Scores{75}},
      {"one resource is always balanced", PodOf(10, 0), {{NodeOf(2000, 0), {}}}, Scores{100}},
      // fractions 0.5, 0.25, 0.75: standard deviation 0.2041
      {"three resources",
       PodOf(500, 250).Request("example.com/a", "3"),
       {{NodeOf(1000, 1000).Capacity("example.com/a", "4"), {}}},
       Scores{79},
       three},
      {"the third is not wanted",
       PodOf(500, 250),
       {{NodeOf(1000, 1000).Capacity("example.com/a", "4"), {}}},
       Scores{87},
       three},
  });
}

// Nodes by the hundred are scored in blocks, amounts beyond 2^46 one node at a time.
class AnyAmountsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  struct Node {
    int64_t milli_cpu, memory, used_milli_cpu, used_memory;
  };

  // Requests of the pod that is scored.
  static constexpr int64_t kMilliCpu = 257, kMemory = 123456789;

  enum class Amounts { kPositive, kSomeZero, kSomeHuge };

  static int64_t AmountOf(Random& random, Amounts amounts) {
    if (amounts != Amounts::kPositive && random.Percent(3)) return 0;
    const int64_t unit = random.Between(1, 1 << 30);
    const int64_t amount = unit * random.Between(1, 1 << 12);
    return amounts == Amounts::kSomeHuge && random.Percent(50) ? kMost / random.Between(1, 300)
                                                               : amount;
  }

  void AddNodes(Random& random, int nodes, Amounts amounts) {
    for (int i = 0; i < nodes; ++i) {
      Node node;
      node.milli_cpu = random.Between(amounts == Amounts::kPositive ? 1 : 0, 64) * 1000;
      node.memory = AmountOf(random, amounts);
      node.used_milli_cpu = random.Between(1, 64) * 500;
      node.used_memory = AmountOf(random, amounts);
      // Right at a boundary between two scores.
      if (random.Percent(50)) {
        const int64_t hundredths = random.Between(0, 100);
        node.memory = node.memory / 100 * 100;
        node.used_memory = std::max<int64_t>(node.memory / 100 * hundredths - kMemory, 1);
      }
      nodes_.push_back(node);
    }
  }

  // What a plugin gives them; RunScore() holds the batch form against the other.
  template <class P, class Args>
  std::vector<int64_t> Scored(const std::string& args) {
    std::vector<NodeAndPods> cluster;
    for (const Node& node : nodes_) {
      const PodBuilder running = MakePod()
                                     .Request("cpu", absl::StrCat(node.used_milli_cpu, "m"))
                                     .Request("memory", absl::StrCat(node.used_memory));
      cluster.push_back({MakeNode()
                             .Capacity("cpu", absl::StrCat(node.milli_cpu, "m"))
                             .Capacity("memory", absl::StrCat(node.memory)),
                         {running}});
    }
    FakeHandle handle(Numbered(cluster));
    const PodBuilder pod = MakePod()
                               .Request("cpu", absl::StrCat(kMilliCpu, "m"))
                               .Request("memory", absl::StrCat(kMemory));
    return RunScore(*MakePlugin<P, Args>(handle, args), pod.Obj(), handle).value();
  }

  // The mean of a rule that is given what is requested and what there is of cpu and memory.
  template <class Rule>
  std::vector<int64_t> Mean(int cpu_weight, int memory_weight, Rule rule) {
    return MeanOfSome(
        cpu_weight, memory_weight, rule, [](int64_t) { return true; },
        [](int64_t sum, int64_t weights) { return sum / weights; });
  }
  // The same of those scores that `counts` accepts.
  template <class Rule, class Counts, class Divide>
  std::vector<int64_t> MeanOfSome(int cpu_weight, int memory_weight, Rule rule, Counts counts,
                                  Divide divide) {
    std::vector<int64_t> scores;
    for (const Node& node : nodes_) {
      int64_t sum = 0, weights = 0;
      const auto add = [&](__int128 requested, __int128 capacity, int weight) {
        if (capacity == 0) return;
        const auto score = static_cast<int64_t>(rule(requested, capacity));
        if (!counts(score)) return;
        sum += score * weight;
        weights += weight;
      };
      const __int128 used_memory = std::min<__int128>(__int128{node.used_memory} + kMemory, kMost);
      add(node.used_milli_cpu + kMilliCpu, node.milli_cpu, cpu_weight);
      add(used_memory, node.memory, memory_weight);
      scores.push_back(weights == 0 ? 0 : divide(sum, weights));
    }
    return scores;
  }

  std::vector<Node> nodes_;
};

TEST_F(AnyAmountsTest, ScoresAreThoseOfExactArithmetic) {
  const std::string weights = "{name: cpu, weight: 3}, {name: memory, weight: 100}";
  for (int seed = 0; seed < 4; ++seed) {
    Random random(seed);
    nodes_.clear();
    AddNodes(random, 300, Amounts::kPositive);
    AddNodes(random, 300, Amounts::kSomeZero);
    AddNodes(random, 300, Amounts::kSomeHuge);
    SCOPED_TRACE(seed);
    EXPECT_EQ((Scored<NodeResourcesFit, NodeResourcesFitArgs>("{}")),
              Mean(1, 1, [](__int128 requested, __int128 capacity) {
                return requested > capacity ? 0 : (capacity - requested) * 100 / capacity;
              }));
    EXPECT_EQ((Scored<NodeResourcesFit, NodeResourcesFitArgs>(Strategy("LeastAllocated", weights))),
              Mean(3, 100, [](__int128 requested, __int128 capacity) {
                return requested > capacity ? 0 : (capacity - requested) * 100 / capacity;
              }));
    EXPECT_EQ((Scored<NodeResourcesFit, NodeResourcesFitArgs>(Strategy("MostAllocated", weights))),
              Mean(3, 100, [](__int128 requested, __int128 capacity) {
                return std::min(requested, capacity) * 100 / capacity;
              }));
    // Rises from 0 at 20 to 80 at 70, and falls to 0 at 90; rounded half up.
    EXPECT_EQ(
        (Scored<NodeResourcesFit, NodeResourcesFitArgs>(absl::Substitute(
            "{scoringStrategy: {type: RequestedToCapacityRatio, resources: [$0], "
            "requestedToCapacityRatio: {shape: [{utilization: 20, score: 0}, {utilization: 70, "
            "score: 8}, {utilization: 90, score: 0}]}}}",
            weights))),
        MeanOfSome(
            3, 100,
            [](__int128 requested, __int128 capacity) -> __int128 {
              const __int128 percent = std::min(requested, capacity) * 100 / capacity;
              if (percent <= 20 || percent >= 90) return 0;
              return percent <= 70 ? 80 * (percent - 20) / 50 : 80 - 80 * (percent - 70) / 20;
            },
            [](int64_t score) { return score > 0; },
            [](int64_t sum, int64_t weights) { return (2 * sum + weights) / (2 * weights); }));
  }
}

// kube-scheduler's balanced_allocation.go for two resources, in its order of operations.
TEST_F(AnyAmountsTest, BalancedAllocationIsThatOfDoubles) {
  for (int seed = 0; seed < 4; ++seed) {
    Random random(seed);
    nodes_.clear();
    AddNodes(random, 300, Amounts::kPositive);
    AddNodes(random, 300, Amounts::kSomeZero);
    AddNodes(random, 300, Amounts::kSomeHuge);
    std::vector<int64_t> want;
    for (const Node& node : nodes_) {
      const double used_memory = static_cast<double>(
          static_cast<int64_t>(std::min<__int128>(__int128{node.used_memory} + kMemory, kMost)));
      std::vector<double> fractions;
      if (node.milli_cpu > 0) {
        fractions.push_back(static_cast<double>(node.used_milli_cpu + kMilliCpu) /
                            static_cast<double>(node.milli_cpu));
      }
      if (node.memory > 0) fractions.push_back(used_memory / static_cast<double>(node.memory));
      for (double& fraction : fractions) fraction = fraction > 1 ? 1 : fraction;
      const double deviation =
          fractions.size() == 2 ? std::fabs((fractions[0] - fractions[1]) / 2) : 0;
      want.push_back(static_cast<int64_t>((1 - deviation) * 100));
    }
    EXPECT_EQ((Scored<NodeResourcesBalancedAllocation, NodeResourcesBalancedAllocationArgs>("{}")),
              want)
        << seed;
  }
}

TEST(NodeResourcesBalancedAllocationTest, Args) {
  EXPECT_EQ(ArgsError<NodeResourcesBalancedAllocationArgs>("{resources: [{name: cpu}]}"), "");
  EXPECT_THAT(ArgsError<NodeResourcesBalancedAllocationArgs>(
                  "{resources: [{name: cpu, weight: 1}, {name: cpu, weight: 2}]}"),
              ::testing::AllOf(HasSubstr("resources[1].name: Duplicate value: \"cpu\""),
                               HasSubstr("resources[1].weight: Invalid value: 2: must be 1")));
}

TEST(NodeResourcesAllocatableTest, Score) {
  const NodeBuilder small = NodeOf(1000, 1000), medium = NodeOf(2000, 2000),
                    large = NodeOf(3000, 3000);
  ExpectScores<NodeResourcesAllocatable, NodeResourcesAllocatableArgs>({
      {"small nodes by default",
       MakePod(),
       {{small, {}}, {medium, {}}, {large, {}}},
       Scores{100, 50, 0}},
      {"large nodes",
       PodOf(500, 500),
       {{small, {}}, {medium, {}}, {large, {PodOf(3000, 3000)}}},
       Scores{0, 50, 100},
       "{mode: Most}"},
      {"equal nodes", MakePod(), {{small, {}}, {small, {}}}, Scores{0, 0}},
      {"memory alone",
       MakePod(),
       {{NodeOf(1000, 4000), {}}, {NodeOf(9000, 3000), {}}, {NodeOf(1, 0), {}}},
       Scores{100, 75, 0},
       "{mode: Most, resources: [{name: memory, weight: 1}]}"},
  });
}

TEST(NodeResourcesAllocatableTest, WeightsAndAmountsOfAnySize) {
  const auto node = [](const char* cpu, const char* memory) {
    return MakeNode().Capacity("cpu", cpu).Capacity("memory", memory);
  };
  ExpectScores<NodeResourcesAllocatable, NodeResourcesAllocatableArgs>({
      {"products beyond int64",
       MakePod(),
       {{node("4", "8Ei"), {}}, {node("4", "4Ei"), {}}, {node("4", "0"), {}}},
       Scores{100, 50, 0},
       "{mode: Most, resources: [{name: cpu, weight: 4611686018427387904}, {name: memory, weight: "
       "4611686018427387904}]}"},
  });
}

TEST(NodeResourcesAllocatableTest, Args) {
  EXPECT_THAT(ArgsError<NodeResourcesAllocatableArgs>("{mode: Medium}"), HasSubstr("mode"));
  EXPECT_THAT(ArgsError<NodeResourcesAllocatableArgs>("{resources: [{name: cpu}]}"),
              HasSubstr("resource weight of cpu should be a positive value, got :0"));
}

}  // namespace
}  // namespace berth::testing
