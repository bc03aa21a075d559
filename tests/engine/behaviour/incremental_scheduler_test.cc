// SPDX-License-Identifier: Apache-2.0
// The incremental evaluator decides as the full one, however many nodes are filtered at once: the
// same random history with both, in large blocks and in small ones.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/engine/empty_simulation.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::NodeBuilder;
using testing::PodBuilder;
using testing::Random;

struct Outcome {
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> evictions;
  std::vector<std::string> waiting;  // "pod: message"
  int64_t cycles = 0;
  int64_t incremental_cycles = 0;

  bool operator==(const Outcome& other) const {
    return bindings == other.bindings && evictions == other.evictions && waiting == other.waiting;
  }
};

// What happens to the nodes: now and then something, or one comes or goes before most pods; or they
// are so many that the search ends when it has found enough.
enum class Nodes { kStay, kComeAndGo, kMany };

class AlikePods {
 public:
  AlikePods(Nodes nodes, uint64_t seed, bool incremental, int filter_block_size = 0)
      : random_(seed), nodes_(nodes), cluster_(RandomNodes()) {
    LoadedConfiguration loaded =
        LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins());
    if (nodes == Nodes::kMany) loaded.configuration.percentage_of_nodes_to_score = 40;
    simulation_ = EmptySimulation(std::move(loaded), seed, incremental, filter_block_size);
    for (int i = 0; i < 4; ++i) templates_.push_back(MakeRandomPod(random_, "template"));
  }

  Outcome Run(int steps) {
    for (NodeBuilder& node : cluster_.nodes) simulation_->cluster().Set(node.Object());
    for (int step = 0; step < steps; ++step) {
      Change();
      simulation_->RunUntilIdle();
      if (random_.Percent(10)) simulation_->RunUntilQuiet(absl::Minutes(1));
    }
    simulation_->RunUntilQuiet(absl::Minutes(1));
    Outcome outcome;
    outcome.bindings = simulation_->cluster().Bindings();
    outcome.evictions = simulation_->cluster().Evictions();
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      outcome.waiting.push_back(absl::StrCat(pod.pod, ": ", pod.plugin, ": ", pod.message));
    }
    outcome.cycles = simulation_->scheduler().counters().cycles;
    outcome.incremental_cycles = simulation_->scheduler().counters().incremental_cycles;
    EXPECT_EQ(simulation_->scheduler().counters().unconfirmed, 0)
        << "a batch form was too generous";
    return outcome;
  }

 private:
  testing::RandomCluster RandomNodes() {
    testing::RandomCluster cluster =
        MakeRandomCluster(random_, nodes_ == Nodes::kStay        ? 12
                                   : nodes_ == Nodes::kComeAndGo ? 50
                                                                 : 160);
    for (auto& pods : cluster.pods) pods.clear();
    return cluster;
  }

  void Change() {
    if (nodes_ == Nodes::kComeAndGo) {
      for (int i = random_.Below(4); i > 0; --i) LoseOrRegainANode();
    }
    const int kind = random_.Below(10);
    if (kind == 0) {  // a node changes
      const testing::NodeChange change = ChangeNode(random_, cluster_);
      for (auto& pods : cluster_.pods) pods.clear();
      simulation_->cluster().Set(cluster_.nodes[change.node].Object());
      return;
    }
    if (kind == 1) return LoseOrRegainANode();
    if (kind == 2) {  // a pod goes
      const std::vector<Object> pods = simulation_->cluster().List(Kind::kPod);
      if (pods.empty()) return;
      const int which = random_.Below(static_cast<int>(pods.size()));
      simulation_->cluster().Delete(Kind::kPod, pods[which].key());
      return;
    }
    PodBuilder pod = random_.OneOf(templates_);
    pod.Name(absl::StrCat("p", next_++));
    pod.Uid("").NodeName("").NominatedNodeName("");
    if (random_.Percent(30)) pod.Priority(random_.Below(3));
    const int copies = 1 + random_.Below(3);
    for (int i = 0; i < copies; ++i) {
      simulation_->cluster().Set(pod.Object());
      pod.Name(absl::StrCat("p", next_++));
    }
  }

  void LoseOrRegainANode() {
    NodeBuilder& node = cluster_.nodes[random_.Below(static_cast<int>(cluster_.nodes.size()))];
    const Object object = node.Object();
    if (!simulation_->cluster().Delete(Kind::kNode, object.key())) {
      simulation_->cluster().Set(object);
    }
  }

  Random random_;
  const Nodes nodes_;
  testing::RandomCluster cluster_;
  std::vector<PodBuilder> templates_;
  std::unique_ptr<Simulation> simulation_;
  int next_ = 0;
};

// BERTH_SEED=N repeats one history, BERTH_SEQUENCES=N runs so many, from BERTH_SEED on if given.
struct Seeds {
  uint64_t first = 1, last;
};

Seeds SeedsToRun(uint64_t count) {
  Seeds seeds;
  if (const char* text = std::getenv("BERTH_SEED"); text != nullptr) {
    EXPECT_TRUE(absl::SimpleAtoi(text, &seeds.first));
    count = 1;
  }
  if (const char* text = std::getenv("BERTH_SEQUENCES"); text != nullptr) {
    EXPECT_TRUE(absl::SimpleAtoi(text, &count));
  }
  seeds.last = seeds.first + count - 1;
  return seeds;
}

void Compare(Nodes nodes) {
  const auto [first, last] = SeedsToRun(nodes == Nodes::kStay ? 200 : 60);
  int64_t cycles = 0;
  int64_t incremental_cycles = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Outcome incremental = AlikePods(nodes, seed, true).Run(60);
    const Outcome full = AlikePods(nodes, seed, false).Run(60);
    EXPECT_EQ(incremental.bindings, full.bindings);
    EXPECT_EQ(incremental.evictions, full.evictions);
    EXPECT_EQ(incremental.waiting, full.waiting);
    EXPECT_EQ(full.incremental_cycles, 0);
    cycles += incremental.cycles;
    incremental_cycles += incremental.incremental_cycles;
    if (::testing::Test::HasFailure()) return;
  }
  if (first == last) return;
  EXPECT_GT(incremental_cycles * 4, cycles) << "hardly any cycle was incremental";
}

TEST(Evaluators, DecideTheSame) { Compare(Nodes::kStay); }
TEST(Evaluators, DecideTheSameWhileNodesComeAndGo) { Compare(Nodes::kComeAndGo); }

TEST(RowsAtOnce, ChangeNoDecision) {
  const auto [first, last] = SeedsToRun(20);
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    for (const Nodes nodes : {Nodes::kStay, Nodes::kComeAndGo, Nodes::kMany}) {
      const Outcome all = AlikePods(nodes, seed, false).Run(30);
      for (const int rows : {1, 7, 64}) {
        SCOPED_TRACE(absl::StrCat(rows, " rows at once"));
        const Outcome some = AlikePods(nodes, seed, seed % 2 == 0, rows).Run(30);
        EXPECT_EQ(all.bindings, some.bindings);
        EXPECT_EQ(all.evictions, some.evictions);
        EXPECT_EQ(all.waiting, some.waiting);
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth
