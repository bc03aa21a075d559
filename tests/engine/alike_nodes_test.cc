// Pods that go by topology domains, on more nodes than are told apart one by one: nodes in classes
// change no decision.
#include "engine/alike_nodes.h"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "tests/engine/empty_simulation.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::Random;

constexpr int kNodes = 140;
constexpr char kHostname[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";
const std::vector<std::string>& Keys() {
  static const auto& keys = *new std::vector<std::string>{kHostname, kHostname, kZone, "rack"};
  return keys;
}

// One in a hundred has no host name, or that of another node.
NodeBuilder RandomNode(Random& random, int number, bool odd_names) {
  const std::string name = absl::StrCat("n", number);
  NodeBuilder node = MakeNode().Name(name);
  const int odd = odd_names ? random.Below(100) : 99;
  if (odd != 0) node.Label(kHostname, odd == 1 ? "n0" : name);
  if (random.Percent(95)) node.Label(kZone, absl::StrCat("z", random.Below(3)));
  if (random.Percent(90)) node.Label("rack", absl::StrCat("r", random.Below(12)));
  node.Label("pool", random.Percent(70) ? "a" : "b");
  node.Capacity("cpu", absl::StrCat(random.Between(2, 6)));
  node.Capacity("memory", absl::StrCat(random.Between(4, 12), "Gi"));
  if (random.Percent(10)) node.Taint("soft", "", TaintEffect::kPreferNoSchedule);
  if (random.Percent(5)) node.Taint("hard", "", TaintEffect::kNoSchedule);
  return node;
}

void AddTerm(Random& random, PodBuilder& pod) {
  const std::string& key = random.OneOf(Keys());
  const LabelSet selector = {{"app", absl::StrCat("a", random.Below(3))}};
  const int weight = random.Between(1, 100);
  switch (random.Below(7)) {
    case 0:
    case 1:
      pod.PreferredPodAffinity(weight, key, selector);
      break;
    case 2:
      pod.PreferredPodAntiAffinity(weight, key, selector);
      break;
    case 3:
      pod.PodAntiAffinity(kHostname, selector);
      break;
    case 4:
      pod.SpreadConstraint(random.Between(1, 3), key, UnsatisfiableAction::kDoNotSchedule,
                           selector);
      break;
    default:
      pod.SpreadConstraint(random.Between(1, 3), key, UnsatisfiableAction::kScheduleAnyway,
                           selector);
      if (random.Percent(30)) pod.NodeTaintsPolicy(NodeInclusionPolicy::kHonor);
  }
}

PodBuilder RandomTemplate(Random& random) {
  PodBuilder pod = MakePod();
  pod.Container().Request("cpu", absl::StrCat(random.Between(1, 4) * 100, "m"));
  pod.Label("app", absl::StrCat("a", random.Below(3)));
  for (int i = random.Between(0, 3); i > 0; --i) AddTerm(random, pod);
  if (random.Percent(20)) pod.NodeSelector("pool", "a");
  if (random.Percent(10)) pod.PreferredNodeAffinityIn(30, "pool", {"b"});
  if (random.Percent(30)) {  // where the first zone is full, the second one is worth more
    pod.PreferredNodeAffinityIn(100, kZone, {"z0"}).PreferredNodeAffinityIn(2, kZone, {"z1"});
  }
  return pod;
}

struct Outcome {
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> waiting;  // "pod: message"
  int64_t cycles = 0, remembered = 0;
};

// Pods come, mostly like those before them, and some go or get other labels; a node changes, comes
// or goes now and then.
class History {
 public:
  History(uint64_t seed, bool remember) : random_(seed), odd_names_(random_.Percent(30)) {
    simulation_ = EmptySimulation(
        LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins()), seed, remember);
    for (int i = 0; i < kNodes; ++i) {
      nodes_.push_back(RandomNode(random_, i, odd_names_));
      simulation_->cluster().Set(nodes_.back().Object());
    }
    for (int i = 0; i < 4; ++i) templates_.push_back(RandomTemplate(random_));
  }

  Outcome Play(int steps) {
    for (int step = 0; step < steps; ++step) {
      Change();
      simulation_->RunUntilIdle();
    }
    Outcome outcome;
    outcome.bindings = simulation_->cluster().Bindings();
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      outcome.waiting.push_back(absl::StrCat(pod.pod, ": ", pod.plugin, ": ", pod.message));
    }
    outcome.cycles = simulation_->scheduler().counters().cycles;
    outcome.remembered = simulation_->scheduler().counters().remembered_cycles;
    return outcome;
  }

 private:
  void Change() {
    switch (random_.Below(20)) {
      case 0: {
        const int which = random_.Below(kNodes);
        nodes_[which] = RandomNode(random_, which, odd_names_);
        simulation_->cluster().Set(nodes_[which].Object());
        return;
      }
      case 1: {  // nothing else of it changes
        NodeBuilder& node = nodes_[random_.Below(kNodes)];
        node.Label(random_.OneOf(Keys()), absl::StrCat("z", random_.Below(3)));
        simulation_->cluster().Set(node.Object());
        return;
      }
      case 2: {
        NodeBuilder& node = nodes_[random_.Below(kNodes)];
        simulation_->cluster().Delete(Kind::kNode, node.Object().key());
        return;
      }
      case 3:
      case 4:
        if (const auto pod = RandomPod()) simulation_->cluster().Delete(Kind::kPod, pod->key());
        return;
      case 5:
        if (const auto pod = RandomPod()) {
          auto relabelled = std::make_shared<api::Pod>(pod->As<api::Pod>());
          (*relabelled->mutable_metadata()->mutable_labels())["app"] =
              absl::StrCat("a", random_.Below(3));
          simulation_->cluster().Set(Object(Kind::kPod, std::move(relabelled)));
        }
        return;
      default: {
        PodBuilder pod = random_.OneOf(templates_);
        for (int copies = random_.Between(1, 5); copies > 0; --copies) {
          simulation_->cluster().Set(pod.Name(absl::StrCat("p", next_++)).Object());
        }
      }
    }
  }

  std::optional<Object> RandomPod() {
    const std::vector<Object> pods = simulation_->cluster().List(Kind::kPod);
    if (pods.empty()) return std::nullopt;
    return random_.OneOf(pods);
  }

  Random random_;
  const bool odd_names_;
  std::vector<NodeBuilder> nodes_;
  std::vector<PodBuilder> templates_;
  std::unique_ptr<Simulation> simulation_;
  int next_ = 0;
};

// BERTH_SEED=N repeats one history.
TEST(AlikeNodes, ChangeNoDecision) {
  uint64_t first = 1, last = 60;
  if (const char* text = std::getenv("BERTH_SEED"); text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(text, &first));
    last = first;
  }
  int64_t cycles = 0, remembered = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Outcome with = History(seed, true).Play(50);
    const Outcome without = History(seed, false).Play(50);
    EXPECT_EQ(with.bindings, without.bindings);
    EXPECT_EQ(with.waiting, without.waiting);
    cycles += with.cycles;
    remembered += with.remembered;
    if (::testing::Test::HasFailure()) return;
  }
  if (first == last) return;
  std::cout << remembered << " of " << cycles << " cycles remembered\n";
}

}  // namespace
}  // namespace berth
