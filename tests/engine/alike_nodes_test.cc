// Pods that go by topology domains, on more nodes than are told apart one by one: nodes in classes
// change no decision.
#include "engine/alike_nodes.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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
  return pod;
}

struct Outcome {
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> waiting;  // "pod: message"
  int64_t remembered = 0;
};

// Pods come, mostly like those before them, and some go; a node changes, comes or goes now and
// then.
Outcome PlayHistory(uint64_t seed, bool remember) {
  Random random(seed);
  auto simulation = EmptySimulation(
      LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins()), seed, remember);
  const bool odd_names = random.Percent(30);
  for (int i = 0; i < kNodes; ++i) {
    simulation->cluster().Set(RandomNode(random, i, odd_names).Object());
  }
  std::vector<PodBuilder> templates;
  for (int i = 0; i < 4; ++i) templates.push_back(RandomTemplate(random));
  std::vector<std::string> pods;
  for (int step = 0; step < 50; ++step) {
    const int kind = random.Below(20);
    if (kind == 0) {
      const int which = random.Below(kNodes);
      simulation->cluster().Set(RandomNode(random, which, odd_names).Object());
    } else if (kind == 1) {
      const Object node = MakeNode().Name(absl::StrCat("n", random.Below(kNodes))).Object();
      simulation->cluster().Delete(Kind::kNode, node.key());
    } else if (kind <= 4 && !pods.empty()) {
      simulation->cluster().Delete(Kind::kPod, random.OneOf(pods));
    } else {
      PodBuilder pod = random.OneOf(templates);
      for (int copies = random.Between(1, 5); copies > 0; --copies) {
        const Object object = pod.Name(absl::StrCat("p", pods.size())).Object();
        pods.emplace_back(object.key());
        simulation->cluster().Set(object);
      }
    }
    simulation->RunUntilIdle();
  }
  Outcome outcome;
  outcome.bindings = simulation->cluster().Bindings();
  for (const UnboundPod& pod : simulation->scheduler().Unbound()) {
    outcome.waiting.push_back(absl::StrCat(pod.pod, ": ", pod.plugin, ": ", pod.message));
  }
  outcome.remembered = simulation->scheduler().counters().remembered_cycles;
  return outcome;
}

// BERTH_SEED=N repeats one history.
TEST(AlikeNodes, ChangeNoDecision) {
  uint64_t first = 1, last = 60;
  if (const char* text = std::getenv("BERTH_SEED"); text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(text, &first));
    last = first;
  }
  int64_t remembered = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Outcome with = PlayHistory(seed, true);
    const Outcome without = PlayHistory(seed, false);
    EXPECT_EQ(with.bindings, without.bindings);
    EXPECT_EQ(with.waiting, without.waiting);
    remembered += with.remembered;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(remembered, 0);
}

}  // namespace
}  // namespace berth
