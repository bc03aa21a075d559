// SPDX-License-Identifier: Apache-2.0
// Pods that go by topology domains, on more nodes than are distinguished one by one: nodes in
// classes change no decision.
#include "evaluation/incremental/node_equivalence_classes.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/columns/pod_table.h"
#include "berth/configuration.h"
#include "berth/framework/filter.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/incremental/domain_filter.h"
#include "berth/incremental/domain_scorer.h"
#include "tests/engine/empty_simulation.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::Random;

constexpr int kNodes = 200;
constexpr char kHostname[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr char kRack[] =
    "rack";  // several nodes each, and more racks than are distinguished by name
const std::vector<std::string>& Keys() {
  static const auto& keys = *new std::vector<std::string>{kHostname, kZone, kRack, kRack};
  return keys;
}

// One in a hundred has no host name, or that of another node.
NodeBuilder RandomNode(Random& random, int number, bool odd_names) {
  const std::string name = absl::StrCat("n", number);
  NodeBuilder node = MakeNode().Name(name);
  const int odd = odd_names ? random.Below(100) : 99;
  if (odd != 0) node.Label(kHostname, odd == 1 ? "n0" : name);
  if (random.Percent(95)) node.Label(kZone, absl::StrCat("z", random.Below(3)));
  if (random.Percent(95)) node.Label(kRack, absl::StrCat("r", random.Below(24)));
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
  switch (random.Below(9)) {
    case 7:
      pod.PodAffinity(random.OneOf(Keys()), selector);
      break;
    case 8:
      pod.PodAntiAffinity(random.OneOf(Keys()), {{"app", "lonely"}});
      break;
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
  int64_t cycles = 0, incremental_cycles = 0;
};

// Pods come, mostly like those before them, and some go or get other labels; a node changes, comes
// or goes now and then.
class History {
 public:
  History(uint64_t seed, bool incremental) : random_(seed), odd_names_(random_.Percent(30)) {
    simulation_ = EmptySimulation(
        LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins()), seed, incremental);
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
    outcome.incremental_cycles = simulation_->scheduler().counters().incremental_cycles;
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
      case 6:
      case 7: {  // room is left for it, and it never comes
        PodBuilder pod = random_.OneOf(templates_);
        pod.Name(absl::StrCat("nominated", random_.Below(6))).Priority(random_.Between(-1, 9));
        pod.SchedulingGate("never").NominatedNodeName(absl::StrCat("n", random_.Below(12)));
        simulation_->cluster().Set(pod.Object());
        return;
      }
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
        if (random_.Percent(20)) pod.Priority(5);
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
TEST(NodeEquivalenceClasses, ChangeNoDecision) {
  int64_t cycles = 0, incremental_cycles = 0;
  for (const int seed : testing::Seeds(100, 1)) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Outcome with = History(seed, true).Play(50);
    const Outcome without = History(seed, false).Play(50);
    EXPECT_EQ(with.bindings, without.bindings);
    EXPECT_EQ(with.waiting, without.waiting);
    cycles += with.cycles;
    incremental_cycles += with.incremental_cycles;
    if (::testing::Test::HasFailure()) return;
  }
  if (testing::IsOneSeed()) return;
  EXPECT_GT(incremental_cycles * 10, cycles * 9) << "hardly any cycle was incremental";
}

// Pods of the app "x" that are nominated to the node that a pod is asked about.
struct Nominated final : StateData {
  int pods = 0;
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<Nominated>(*this); }
};
constexpr StateKey<Nominated> kNominated{"FewOfApp"};

// Wants few pods of the app "x" in a domain, and no more than two, and counts the rows that it is
// asked about.
class FewOfApp final : public Plugin,
                       public PreFilterPlugin,
                       public PreFilterExtensions,
                       public FilterPlugin,
                       public DomainFilter,
                       public PreScorePlugin,
                       public ScorePlugin,
                       public DomainScorer {
 public:
  FewOfApp(const char* key, int& asked) : key_(Symbol::Intern(key)), asked_(asked) {}
  absl::string_view Name() const override { return "FewOfApp"; }

  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult&) override {
    state.Write(kNominated, std::make_unique<Nominated>());
    nodes_ = &nodes;
    column_ = &nodes.label_column(key_);
    pods_ = nodes.pods().Count({.namespaces = {pod.namespace_name()},
                                .labels = LabelSelector::FromLabels({{"app", "x"}})});
    return Status::Success();
  }
  Status AddPod(CycleState& state, const PodInfo&, const PodInfo&, const NodeInfo&) override {
    ++state.FindMutable(kNominated)->pods;
    return Status::Success();
  }
  Status RemovePod(CycleState& state, const PodInfo&, const PodInfo&, const NodeInfo&) override {
    --state.FindMutable(kNominated)->pods;
    return Status::Success();
  }
  Status Filter(const CycleState& state, const PodInfo&, const NodeInfo& node) const override {
    ++asked_;
    return PodsNear(node) + state.Find(kNominated)->pods <= 2 ? Status::Success()
                                                              : Status::Unschedulable("too many");
  }
  void DescribeDomains(const CycleState&, std::vector<TrackedThreshold>& rules) const override {
    rules.push_back({.counts = DomainCounts(key_, *column_, pods_),
                     .answer = {.max_pods = 2, .above_max = 1, .up_to_max = 0, .without_key = 0}});
  }

  Status PreScore(CycleState&, const PodInfo&, const NodeTable&,
                  absl::Span<const NodeRow>) override {
    return Status::Success();
  }
  std::optional<Status> PreScoreDomains(CycleState&, const PodInfo&, const NodeTable&,
                                        std::vector<DomainSum>& sums) override {
    if (!says_which_) return std::nullopt;
    sums.push_back({.column = column_, .parts = {{.pods = pods_}}});
    return Status::Success();
  }
  void SetFeasible(CycleState&, const EquivalentNodes& feasible) override {
    for (const int64_t most : {0, 1, 2}) {
      const auto takes = [&](NodeRow row) { return PodsNear(nodes_->node(row)) <= most; };
      absl::flat_hash_set<uint32_t> domains;
      for (NodeRow row = 0; row < nodes_->size(); ++row) {
        if (!nodes_->node(row).unschedulable() && takes(row)) domains.insert(column_->index(row));
      }
      EXPECT_EQ(feasible.CountDomains(*column_, takes), domains.size());
    }
  }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&,
                                const NodeInfo& node) const override {
    ++asked_;
    return kMaxNodeScore - PodsNear(node);
  }

  bool says_which_ = true;

 private:
  int64_t PodsNear(const NodeInfo& node) const {
    return pods_->of_domains(*column_)[*column_->Find({true, *node.labels().Find(key_)})];
  }

  const Symbol key_;
  int& asked_;
  const NodeTable* nodes_ = nullptr;
  const LabelColumn* column_ = nullptr;
  std::shared_ptr<const PodCounts> pods_;
};

using Bindings = std::vector<std::pair<std::string, std::string>>;

// Places 30 pods one by one where FewOfApp has its say, over domains of so many nodes. Returns for
// how many of them it was asked about many rows, and says where they went.
struct Question {
  const char* key = kHostname;
  int nodes_a_domain = 1;
  bool says_which = true;
  bool most_are_full = true;
  bool ranked = false;  // the node that pods like best is closed after each pod
};
int PodsForWhichManyAreAsked(const Question& question, Bindings& went) {
  int asked = 0;
  std::vector<PluginRegistration> extra;
  extra.push_back(WithPlugin(
      "FewOfApp", [&](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
        auto plugin = std::make_unique<FewOfApp>(question.key, asked);
        plugin->says_which_ = question.says_which;
        return plugin;
      }));
  const Registry registry = BuiltinRegistry(std::move(extra)).value();
  LoadedConfiguration loaded = ParseConfiguration(
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n"
      "profiles:\n"
      "- plugins: {multiPoint: {enabled: [{name: FewOfApp, weight: 50}]}}\n",
      "configuration", registry);
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  constexpr int kPods = 30;
  std::vector<Object> objects;
  const int domains = kNodes / question.nodes_a_domain;
  const auto node = [&](int i) {
    return MakeNode()
        .Name(absl::StrCat("n", i))
        .Label(question.key, absl::StrCat("d", i / question.nodes_a_domain))
        .Label("rank",
               absl::StrCat(i % question.nodes_a_domain * domains + i / question.nodes_a_domain))
        .Capacity("cpu", "64");
  };
  for (int i = 0; i < kNodes; ++i) objects.push_back(node(i).Object());
  // All but a few domains are full; one of these is closed later on.
  const int full = domains - kPods / 3 - 1;
  for (int i = 0; question.most_are_full && i < 3 * full; ++i) {
    objects.push_back(MakePod()
                          .Name(absl::StrCat("r", i))
                          .Label("app", "x")
                          .NodeName(absl::StrCat("n", i / 3 * question.nodes_a_domain))
                          .Object());
  }
  auto simulation = Simulation::Create({.configuration = std::move(loaded.configuration),
                                        .registry = &registry,
                                        .objects = std::move(objects)});
  EXPECT_TRUE(simulation.ok()) << simulation.status();
  int many = 0;
  for (int i = 0; i < kPods; ++i) {
    asked = 0;
    if (i == kPods / 2) {
      for (int k = 1; k <= question.nodes_a_domain; ++k) {
        (*simulation)->cluster().Set(node(kNodes - k).Unschedulable().Object());
      }
    }
    PodBuilder pod = MakePod().Name(absl::StrCat("p", i)).Label("app", "x");
    if (i == 7) pod.Priority(20);  // leaves no room for others
    for (int k = 0; question.ranked && k < kPods; ++k) {
      pod.PreferredNodeAffinityIn(100 - k, "rank", {absl::StrCat(k)});
    }
    (*simulation)->cluster().Set(pod.Object());
    (*simulation)->RunUntilIdle();
    many += asked > kNodes / 10;
    if (question.ranked) {
      (*simulation)->cluster().Set(node(i * question.nodes_a_domain).Unschedulable().Object());
    }
  }
  went = (*simulation)->cluster().Bindings();
  EXPECT_EQ(went.size(), kPods);
  return many;
}

void ExpectFewAreAsked(Question question) {
  Bindings by_class, by_row;
  EXPECT_LE(PodsForWhichManyAreAsked(question, by_class), 3);
  question.says_which = false;
  EXPECT_GT(PodsForWhichManyAreAsked(question, by_row), 20);
  EXPECT_EQ(by_class, by_row);
}

TEST(NodeEquivalenceClasses, FewRowsAreAskedAbout) { ExpectFewAreAsked({}); }

TEST(NodeEquivalenceClasses, FewRowsAreAskedAboutInRacks) {
  ExpectFewAreAsked({.key = kRack, .nodes_a_domain = 5});
  ExpectFewAreAsked({.key = kRack, .nodes_a_domain = 5, .most_are_full = false});
}

// With the best node the highest score goes, so that all totals change.
TEST(NodeEquivalenceClasses, FewRowsAreAskedAboutIfAllTotalsChange) {
  ExpectFewAreAsked({.most_are_full = false, .ranked = true});
  ExpectFewAreAsked({.key = kRack, .nodes_a_domain = 5, .most_are_full = false, .ranked = true});
}

}  // namespace
}  // namespace berth
