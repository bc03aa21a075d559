// SPDX-License-Identifier: Apache-2.0
// Pods that fit nowhere and are tried again and again, while nodes, pods, claims and volumes come
// and go: what is kept of a rejection changes neither what is decided nor a word of what is said.
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/empty_simulation.h"
#include "tests/engine/random_storage.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::Random;
using testing::RandomStorage;

constexpr const char* kZone = RandomStorage::kZoneLabel;
constexpr char kHost[] = "host";

struct Outcome {
  std::vector<std::string> said;  // after every step, of every pod that waits
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> evictions;
  int64_t cycles = 0;
  int64_t incremental_cycles = 0;
};

// Whether pods have volumes.
enum class Storage { kNone, kRandom };

class RetriedPods {
 public:
  RetriedPods(Storage storage, uint64_t seed, bool incremental) : random_(seed) {
    LoadedConfiguration loaded =
        LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins());
    simulation_ = EmptySimulation(std::move(loaded), seed, incremental);
    // If there are more than 64 nodes, the batch forms evaluate many at a time.
    const int nodes = random_.Percent(10) ? random_.Between(100, 200)
                                          : random_.Between(3, random_.Percent(50) ? 10 : 40);
    for (int i = 0; i < nodes; ++i) nodes_.push_back(RandomNode(i));
    if (storage == Storage::kRandom) {
      std::vector<std::string> names;
      for (const Node& node : nodes_) names.push_back(node.name);
      storage_.emplace(random_, "default", std::move(names));
    }
    const int kinds = random_.Between(1, 4);
    for (int i = 0; i < kinds; ++i) kinds_.push_back(RandomKind());
  }

  Outcome Run(int steps) {
    for (const Node& node : nodes_) simulation_->cluster().Set(node.Build());
    if (storage_.has_value()) storage_->Begin(simulation_->cluster());
    Outcome outcome;
    for (int step = 0; step < steps; ++step) {
      Change();
      simulation_->RunUntilIdle();
      if (random_.Percent(50)) simulation_->Advance(absl::Minutes(5));
      for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
        outcome.said.push_back(absl::StrCat("step ", step, ": ", Describe(pod)));
      }
    }
    outcome.bindings = simulation_->cluster().Bindings();
    outcome.evictions = simulation_->cluster().Evictions();
    outcome.cycles = simulation_->scheduler().counters().cycles;
    outcome.incremental_cycles = simulation_->scheduler().counters().incremental_cycles;
    return outcome;
  }

 private:
  struct Node {
    std::string name, zone;
    int milli_cpu;
    bool cordoned, tainted;

    Object Build() const {
      NodeBuilder node = MakeNode().Name(name).Label(kHost, name);
      if (!zone.empty()) node.Label(kZone, zone);
      if (cordoned) node.Unschedulable();
      if (tainted) node.Taint("taint", zone, TaintEffect::kNoSchedule);
      node.Allocatable("cpu", absl::StrCat(milli_cpu, "m")).Allocatable("pods", "20");
      return node.Object();
    }
  };

  Node RandomNode(int i) {
    return {absl::StrCat("n", i), RandomZone(), random_.Between(1, 4) * 1000, random_.Percent(15),
            random_.Percent(10)};
  }
  std::string RandomZone() {
    const int zone = random_.Below(8);
    return zone == 0 ? "" : absl::StrCat("z", zone % 3);
  }
  std::string RandomApplication() { return absl::StrCat("a", random_.Below(3)); }
  const char* RandomKey() { return random_.Percent(60) ? kZone : kHost; }

  // Mostly with rules that only a few nodes can meet.
  PodBuilder RandomKind() {
    PodBuilder pod = MakePod().Namespace("default").Label("app", RandomApplication());
    pod.Request("cpu", absl::StrCat(random_.Between(1, 8) * 250, "m"));
    if (random_.Percent(20)) pod.NodeAffinityNotIn(kZone, {"z1"});
    if (random_.Percent(20)) pod.TolerationExists("taint");
    if (random_.Percent(10)) pod.HostPort(80);
    if (random_.Percent(40)) pod.Priority(random_.Below(3));
    if (storage_.has_value() && random_.Percent(80)) storage_->AddVolumes(pod);
    const int rules = storage_.has_value() ? random_.Below(6) / 4 : random_.Below(3);
    for (int i = 0; i < rules; ++i) {
      const std::string application = RandomApplication();
      switch (random_.Below(3)) {
        case 0:
          pod.SpreadConstraint(random_.Between(1, 2), RandomKey(),
                               UnsatisfiableAction::kDoNotSchedule, {{"app", application}});
          if (random_.Percent(20)) pod.MinDomains(3);
          if (random_.Percent(30)) pod.NodeTaintsPolicy(NodeInclusionPolicy::kHonor);
          break;
        case 1:
          pod.PodAffinity(RandomKey(), {{"app", application}});
          break;
        default:
          pod.PodAntiAffinity(RandomKey(), {{"app", application}});
      }
    }
    return pod;
  }

  void Change() {
    if (storage_.has_value() && random_.Percent(40)) {
      return storage_->Change(simulation_->cluster());
    }
    const int kind = random_.Below(10);
    Node& node = nodes_[random_.Below(static_cast<int>(nodes_.size()))];
    if (kind == 0 && random_.Percent(30)) {  // others take the place of nodes
      for (int i = random_.Below(60); i > 0; --i) {
        Node& old = nodes_[random_.Below(static_cast<int>(nodes_.size()))];
        simulation_->cluster().Delete(Kind::kNode, old.Build().key());
        old.name = absl::StrCat("m", next_++);
        simulation_->cluster().Set(old.Build());
        if (random_.Percent(10)) simulation_->RunUntilIdle();
      }
    } else if (kind == 0) {
      if (!simulation_->cluster().Delete(Kind::kNode, node.Build().key())) {
        simulation_->cluster().Set(node.Build());
      }
    } else if (kind <= 2) {
      switch (random_.Below(4)) {
        case 0:
          node.cordoned = !node.cordoned;
          break;
        case 1:
          node.tainted = !node.tainted;
          break;
        case 2:
          node.zone = RandomZone();
          break;
        default:
          node.milli_cpu = random_.Between(1, 4) * 1000;
      }
      simulation_->cluster().Set(node.Build());
    } else if (kind <= 4) {
      const std::vector<Object> pods = simulation_->cluster().List(Kind::kPod);
      if (pods.empty()) return;
      const int which = random_.Below(static_cast<int>(pods.size()));
      simulation_->cluster().Delete(Kind::kPod, pods[which].key());
    } else if (kind <= 6) {  // one that another scheduler has bound
      PodBuilder pod = RandomKind().Name(absl::StrCat("p", next_++)).NodeName(node.name);
      simulation_->cluster().Set(pod.Object());
    } else {
      PodBuilder pod = random_.OneOf(kinds_);
      pod.Uid("").Name(absl::StrCat("p", next_++));
      if (random_.Percent(20)) pod.Priority(random_.Below(3));
      simulation_->cluster().Set(pod.Object());
    }
  }

  static std::string Describe(const UnboundPod& pod) {
    const WaitingFor& waiting = pod.waiting;
    std::string text = absl::StrCat(pod.pod, ": ", pod.plugin, ": ", pod.message, " | ",
                                    waiting.ToString(), " | ", waiting.rejecting_nodes);
    for (const auto& [plugin, nodes] : waiting.nodes_by_plugin) {
      absl::StrAppend(&text, " ", plugin, "=", nodes);
    }
    return text;
  }

  Random random_;
  std::optional<RandomStorage> storage_;
  std::vector<Node> nodes_;
  std::vector<PodBuilder> kinds_;
  std::unique_ptr<Simulation> simulation_;
  int next_ = 0;
};

// BERTH_SEED=N repeats one history, BERTH_SEQUENCES=N runs so many, from BERTH_SEED on if given.
void Compare(Storage storage) {
  uint64_t first = 1;
  const char* const seed_text = std::getenv("BERTH_SEED");
  if (seed_text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(seed_text, &first));
  }
  uint64_t count = seed_text != nullptr ? 1 : 100;
  if (const char* text = std::getenv("BERTH_SEQUENCES"); text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(text, &count));
  }
  int64_t cycles = 0;
  int64_t incremental_cycles = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Outcome with = RetriedPods(storage, seed, true).Run(120);
    const Outcome without = RetriedPods(storage, seed, false).Run(120);
    for (size_t i = 0; i < std::min(with.said.size(), without.said.size()); ++i) {
      ASSERT_EQ(with.said[i], without.said[i]);
    }
    EXPECT_EQ(with.said.size(), without.said.size());
    EXPECT_EQ(with.bindings, without.bindings);
    EXPECT_EQ(with.evictions, without.evictions);
    EXPECT_EQ(with.cycles, without.cycles);
    cycles += with.cycles;
    incremental_cycles += with.incremental_cycles;
    if (::testing::Test::HasFailure()) return;
  }
  if (count > 1) {
    // A binding of volumes changes claims and volumes, so what was cached of pods with claims
    // is dropped the more often.
    const int64_t expected = storage == Storage::kNone ? cycles / 2 : cycles / 3;
    EXPECT_GT(incremental_cycles, expected) << "hardly any cycle was incremental";
  }
}

TEST(RetriedPods, HaveTheSameStatusesInFullAndIncremental) { Compare(Storage::kNone); }
TEST(RetriedPods, WithVolumesHaveTheSameStatusesInFullAndIncremental) { Compare(Storage::kRandom); }

}  // namespace
}  // namespace berth
