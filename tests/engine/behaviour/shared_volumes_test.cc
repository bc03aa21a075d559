// SPDX-License-Identifier: Apache-2.0
// Pods of one spec that filters evaluate by objects, as the volume plugins do by
// claims: what is kept of these filters changes no decision, and few nodes are
// looked at.
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/configuration.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/incremental/filter_inputs.h"
#include "berth/incremental/object_filter.h"
#include "berth/incremental/sign.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/random_storage.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::NodeBuilder;
using testing::ObjectsFromYaml;
using testing::PodBuilder;
using testing::Random;
using testing::RandomStorage;

using Bindings = std::vector<std::pair<std::string, std::string>>;

// --- With memory and without ---

constexpr const char* kZone = RandomStorage::kZoneLabel;
constexpr char kHost[] = "kubernetes.io/hostname";

// With objects that are there from the start: what is attached to nodes is read at once then.
std::unique_ptr<Simulation> NewSimulation(std::vector<Object> objects, uint64_t seed,
                                          bool incremental) {
  LoadedConfiguration loaded =
      LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  auto created = Simulation::Create({.configuration = std::move(loaded.configuration),
                                     .registry = &Builtins(),
                                     .objects = std::move(objects),
                                     .seed = seed,
                                     .incremental = incremental});
  EXPECT_TRUE(created.ok()) << created.status();
  return *std::move(created);
}

struct Outcome {
  std::vector<std::string> said;  // after every step, of every pod that waits
  Bindings bindings;
  std::vector<std::string> evictions;
  int64_t cycles = 0, incremental_cycles = 0;
};

// Pods of a few specs come several at a time, on nodes of which some limit what
// is attached, while claims, volumes and nodes change now and then, and others
// are nominated.
class History {
 public:
  History(uint64_t seed, bool incremental) : random_(seed) {
    const int nodes = random_.Percent(20) ? random_.Between(100, 200) : random_.Between(4, 40);
    std::vector<std::string> names;
    std::vector<Object> objects;
    for (int i = 0; i < nodes; ++i) {
      nodes_.push_back(RandomNode(i));
      names.push_back(absl::StrCat("n", i));
      objects.push_back(nodes_.back().Object());
    }
    simulation_ = NewSimulation(std::move(objects), seed, incremental);
    storage_.emplace(random_, "default", std::move(names));
    storage_->Begin(simulation_->cluster());
    restless_ = random_.Percent(20) ? 40 : 8;
    PodBuilder base = RandomBase();
    for (int i = random_.Between(1, 4); i > 0; --i) {
      if (random_.Percent(50)) base = RandomBase();  // else only the volumes are others
      kinds_.push_back(WithVolumes(base));
    }
  }

  Outcome Play(int steps) {
    Outcome outcome;
    for (int step = 0; step < steps; ++step) {
      Change();
      simulation_->RunUntilIdle();
      if (random_.Percent(10)) simulation_->Advance(absl::Minutes(5));
      for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
        outcome.said.push_back(
            absl::StrCat("step ", step, ": ", pod.pod, ": ", pod.plugin, ": ", pod.message));
      }
    }
    outcome.bindings = simulation_->cluster().Bindings();
    outcome.evictions = simulation_->cluster().Evictions();
    outcome.cycles = simulation_->scheduler().counters().cycles;
    outcome.incremental_cycles = simulation_->scheduler().counters().incremental_cycles;
    EXPECT_EQ(simulation_->scheduler().counters().unconfirmed, 0)
        << "a batch form was too generous";
    return outcome;
  }

 private:
  NodeBuilder RandomNode(int i) {
    const std::string name = absl::StrCat("n", i);
    NodeBuilder node = MakeNode().Name(name).Label(kHost, name);
    if (random_.Percent(90)) node.Label(kZone, absl::StrCat("z", random_.Below(3)));
    if (random_.Percent(20)) node.Label("pool", "b");
    if (random_.Percent(10)) node.Taint("soft", "", TaintEffect::kPreferNoSchedule);
    if (random_.Percent(10)) node.Taint("hard", "", TaintEffect::kNoSchedule);
    node.Allocatable("cpu", absl::StrCat(random_.Between(2, 8)));
    return node.Allocatable("memory", "64Gi").Allocatable("pods", "30");
  }

  // Without volumes.
  PodBuilder RandomBase() {
    const LabelSet some = {{"app", absl::StrCat("a", random_.Below(2))}};
    PodBuilder pod = MakePod().Namespace("default").Label("app", "a0");
    pod.Request("cpu", absl::StrCat(random_.Between(1, 4) * 200, "m"));
    if (random_.Percent(20)) pod.PreferredNodeAffinityIn(30, "pool", {"b"});
    if (random_.Percent(20)) pod.PreferredPodAffinity(50, kHost, some);
    if (random_.Percent(20)) {
      pod.SpreadConstraint(random_.Between(1, 3), random_.Percent(50) ? kZone : kHost,
                           random_.Percent(50) ? UnsatisfiableAction::kDoNotSchedule
                                               : UnsatisfiableAction::kScheduleAnyway,
                           some);
    }
    if (random_.Percent(40)) pod.Priority(random_.Below(3));
    return pod;
  }

  PodBuilder WithVolumes(PodBuilder pod) {
    if (random_.Percent(70)) {
      storage_->AddVolumes(pod);
    } else if (random_.Percent(80)) {
      api::Volume* const volume = pod.Message().mutable_spec()->add_volumes();
      volume->set_name("disk");
      volume->mutable_volume_source()->mutable_gce_persistent_disk()->set_pd_name(
          absl::StrCat("disk-", random_.Below(3)));
    }
    return pod;
  }

  void Change() {
    if (random_.Percent(restless_)) return storage_->Change(simulation_->cluster());
    const int which = random_.Below(static_cast<int>(nodes_.size()));
    switch (random_.Below(14)) {
      case 0:
        nodes_[which] = RandomNode(which);
        simulation_->cluster().Set(nodes_[which].Object());
        return;
      case 1:
        if (!simulation_->cluster().Delete(Kind::kNode, nodes_[which].Object().key())) {
          simulation_->cluster().Set(nodes_[which].Object());
        }
        return;
      case 2:
      case 3: {
        const std::vector<Object> pods = simulation_->cluster().List(Kind::kPod);
        if (!pods.empty()) simulation_->cluster().Delete(Kind::kPod, random_.OneOf(pods).key());
        return;
      }
      case 4: {  // one for which room is left while it waits, with claims as the
                 // others have
        PodBuilder pod = MakePod().Namespace("default").Name(absl::StrCat("p", next_++));
        storage_->AddVolumes(pod.Request("cpu", "100m").Priority(random_.Below(3)));
        pod.SchedulingGate("closed").NominatedNodeName(absl::StrCat("n", which));
        simulation_->cluster().Set(pod.Object());
        return;
      }
      case 5:  // one that another scheduler has bound
        simulation_->cluster().Set(WithVolumes(RandomBase())
                                       .Name(absl::StrCat("p", next_++))
                                       .NodeName(absl::StrCat("n", which))
                                       .Object());
        return;
      default: {
        PodBuilder pod = random_.OneOf(kinds_);
        for (int copies = random_.Between(1, 6); copies > 0; --copies) {
          simulation_->cluster().Set(pod.Uid("").Name(absl::StrCat("p", next_++)).Object());
          if (random_.Percent(50)) simulation_->RunUntilIdle();
        }
      }
    }
  }

  Random random_;
  std::vector<NodeBuilder> nodes_;
  std::optional<RandomStorage> storage_;
  int restless_ = 0;  // percent of the steps in which an object of storage changes
  std::vector<PodBuilder> kinds_;
  std::unique_ptr<Simulation> simulation_;
  int next_ = 0;
};

// BERTH_SEED=N repeats one history, BERTH_SEQUENCES=N runs so many, from
// BERTH_SEED on if given.
TEST(SharedVolumes, ChangeNoDecision) {
  uint64_t first = 1;
  const char* const seed_text = std::getenv("BERTH_SEED");
  if (seed_text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(seed_text, &first));
  }
  uint64_t count = seed_text != nullptr ? 1 : 40;
  if (const char* text = std::getenv("BERTH_SEQUENCES"); text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(text, &count));
  }
  int64_t cycles = 0, incremental_cycles = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Outcome with = History(seed, true).Play(80);
    const Outcome without = History(seed, false).Play(80);
    EXPECT_EQ(with.bindings, without.bindings);
    EXPECT_EQ(with.evictions, without.evictions);
    EXPECT_EQ(with.said, without.said);
    cycles += with.cycles;
    incremental_cycles += with.incremental_cycles;
    if (::testing::Test::HasFailure()) return;
  }
  if (count == 1) return;
  EXPECT_GT(incremental_cycles * 4, cycles) << "hardly any cycle was incremental";
}

// The claim of a nominated pod was bound to another volume, which made one too
// many on its node, and is bound to the same one now: neither the node nor who
// is nominated to it has changed.
TEST(SharedVolumes, ClaimsOfNominatedPodsAreLookedAtInEveryCycle) {
  const auto claim = [](absl::string_view name, absl::string_view volume) {
    return ObjectsFromYaml(
        absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", name,
                     ", namespace: default, annotations: {pv.kubernetes.io/bind-completed: "
                     "'yes'}}, spec: "
                     "{accessModes: [ReadWriteMany], volumeName: ",
                     volume, "}}"))[0];
  };
  const auto volume = [](absl::string_view name) {
    return ObjectsFromYaml(
        absl::StrCat("{apiVersion: v1, kind: PersistentVolume, metadata: {name: ", name,
                     "}, spec: {accessModes: [ReadWriteMany], csi: {driver: d, "
                     "volumeHandle: ",
                     name, "}}}"))[0];
  };
  for (const bool incremental : {false, true}) {
    // The last node is the worst one, that before it not quite so bad, and all others can attach
    // nothing.
    std::vector<Object> objects = {volume("v"), volume("w")};
    for (int i = 0; i < 20; ++i) {
      const std::string name = absl::StrCat("n", i);
      const char* const cpu = i < 18 ? "64" : i == 18 ? "32" : "8";
      NodeBuilder node = MakeNode().Name(name).Allocatable("cpu", cpu);
      objects.push_back(node.Allocatable("memory", "64Gi").Allocatable("pods", "50").Object());
      if (i == 19) continue;
      objects.push_back(ObjectsFromYaml(absl::StrCat(
          "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: ", name,
          "}, spec: {drivers: [{name: d, nodeID: host, allocatable: {count: ", i == 18 ? 1 : 0,
          "}}]}}"))[0]);
    }
    const auto simulation = NewSimulation(std::move(objects), 1, incremental);
    InMemoryCluster& cluster = simulation->cluster();
    cluster.Set(claim("shared", "v"));
    cluster.Set(claim("other", "w"));
    cluster.Set(MakePod()
                    .Name("nominated")
                    .Priority(9)
                    .SchedulingGate("closed")
                    .NominatedNodeName("n18")
                    .Claim("other")
                    .Object());
    PodBuilder pod = MakePod().Request("cpu", "100m").Claim("shared");
    int next = 0;
    const auto place = [&](int pods) {
      for (; pods > 0; --pods) {
        cluster.Set(pod.Uid("").Name(absl::StrCat("p", next++)).Object());
        simulation->RunUntilIdle();
      }
      EXPECT_EQ(cluster.Bindings().size(), next);
      return cluster.Bindings().back().second;
    };
    EXPECT_EQ(place(6), "n19");
    cluster.Set(claim("other", "v"));
    EXPECT_EQ(place(1), "n18") << "incremental: " << incremental;
  }
}

// --- What is asked ---

// What OnlyListed goes by.
struct Ledger {
  int64_t version = 0;
  absl::flat_hash_set<std::string> closed, liked;  // nodes
  int most_pods = 1000;                            // on a node
  bool fails = false;
  int asked = 0, asked_signed = 0;
};

// Keeps pods off nodes that are closed, or those labelled "contrary" off the others, and may like
// some nodes. What it thinks of a pod it never signs.
class OnlyListed final : public Plugin,
                         public PreFilterPlugin,
                         public FilterPlugin,
                         public ObjectFilter,
                         public PreScorePlugin,
                         public ScorePlugin {
 public:
  explicit OnlyListed(Ledger& ledger) : ledger_(ledger) {}
  absl::string_view Name() const override { return "OnlyListed"; }
  Status PreFilter(CycleState&, const PodInfo&, const NodeTable&, PreFilterResult&) override {
    return Status::Success();
  }
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const override {
    ++ledger_.asked;
    if (ledger_.fails) return Status::Error("out of order");
    if (static_cast<int>(node.pods().size()) >= ledger_.most_pods) {
      return Status::Unschedulable("full");
    }
    const bool contrary = pod.labels().Has(Symbol::Intern("contrary"));
    const bool closed = ledger_.closed.contains(node.name().view()) != contrary;
    return closed || node.labels().Has(Symbol::Intern("shut")) ? Status::Unschedulable("closed")
                                                               : Status::Success();
  }
  void AddInputs(const CycleState&, const PodInfo&, FilterInputs& inputs) const override {
    inputs.Add(ledger_.version);
  }
  Status PreScore(CycleState&, const PodInfo&, const NodeTable&,
                  absl::Span<const NodeRow>) override {
    return ledger_.liked.empty() ? Status::Skip() : Status::Success();
  }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&,
                                const NodeInfo& node) const override {
    return ledger_.liked.contains(node.name().view()) ? kMaxNodeScore : 0;
  }

 private:
  Ledger& ledger_;
};

// Keeps pods off nodes labelled "locked", and is cached as others that sign
// are.
class NotLocked final : public Plugin, public FilterPlugin, public SignPlugin {
 public:
  explicit NotLocked(Ledger& ledger) : ledger_(ledger) {}
  absl::string_view Name() const override { return "NotLocked"; }
  Status Filter(const CycleState&, const PodInfo&, const NodeInfo& node) const override {
    ++ledger_.asked_signed;
    return node.labels().Has(Symbol::Intern("locked"))
               ? Status::UnschedulableAndUnresolvable("locked")
               : Status::Success();
  }
  Status SignPod(const PodInfo&, PodSignature&) const override { return Status::Success(); }
  Aspects DependsOn() const override { return Aspect::kNodeLabels; }

 private:
  Ledger& ledger_;
};

constexpr int kNodes = 300, kLocked = 100;

// Nodes, the last hundred of them locked, and two of three of the others
// closed; the first ones are the smallest. OnlyListed comes before the plugin
// that signs if `first`.
class LedgerTest : public ::testing::TestWithParam<bool> {
 protected:
  LedgerTest() : LedgerTest(true) {}
  explicit LedgerTest(bool incremental) {
    std::vector<PluginRegistration> extra;
    extra.push_back(
        WithPlugin("OnlyListed",
                   [this](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
                     return std::make_unique<OnlyListed>(ledger_);
                   }));
    extra.push_back(WithPlugin(
        "NotLocked", [this](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
          return std::make_unique<NotLocked>(ledger_);
        }));
    registry_.emplace(BuiltinRegistry(std::move(extra)).value());
    Start(incremental);
  }

  // `alone`: without the default profile's plugins that filter or score.
  void Start(bool incremental, bool alone = false) {
    LoadedConfiguration loaded = ParseConfiguration(
        absl::StrCat("apiVersion: kubescheduler.config.k8s.io/v1\n"
                     "kind: KubeSchedulerConfiguration\n"
                     "profiles:\n"
                     "- plugins: {multiPoint: {",
                     alone ? "disabled: [{name: '*'}], " : "", "enabled: [",
                     alone ? "{name: PrioritySort}, {name: DefaultBinder}, " : "", "{name: ",
                     GetParam() ? "OnlyListed}, {name: NotLocked" : "NotLocked}, {name: OnlyListed",
                     "}]}}\n"),
        "configuration", *registry_);
    EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
    std::vector<Object> objects;
    for (int i = 0; i < kNodes; ++i) objects.push_back(Node(i).Object());
    ledger_ = {};
    Close(0);
    next_ = 0;
    auto created = Simulation::Create({.configuration = std::move(loaded.configuration),
                                       .registry = &*registry_,
                                       .objects = std::move(objects),
                                       .incremental = incremental});
    EXPECT_TRUE(created.ok()) << created.status();
    simulation_ = *std::move(created);
  }

  static NodeBuilder Node(int i) {
    NodeBuilder node = MakeNode().Name(absl::StrCat("n", i));
    node.Allocatable("cpu", absl::StrCat(10 + i / 10)).Allocatable("memory", "256Gi");
    node.Allocatable("pods", "100");
    if (i >= kNodes - kLocked) node.Label("locked", "");
    return node;
  }

  // All nodes but each third one, which `open` says.
  void Close(int open) {
    ++ledger_.version;
    ledger_.closed.clear();
    for (int i = 0; i < kNodes; ++i) {
      if (i % 3 != open) ledger_.closed.insert(absl::StrCat("n", i));
    }
  }

  // Alike, one by one. What was asked for the last one is in the ledger.
  void Place(int pods, absl::string_view cpu = "100m", absl::string_view label = "") {
    for (; pods > 0; --pods) {
      ledger_.asked = ledger_.asked_signed = 0;
      PodBuilder pod = MakePod().Name(absl::StrCat("p", next_++)).Request("cpu", cpu);
      if (!label.empty()) pod.Label(label, "");
      simulation_->cluster().Set(pod.Object());
      simulation_->RunUntilIdle();
    }
  }
  Bindings bindings() { return simulation_->cluster().Bindings(); }
  int row_of_last() {
    int row = -1;
    EXPECT_TRUE(absl::SimpleAtoi(bindings().back().second.substr(1), &row));
    return row;
  }

  Ledger ledger_;
  std::optional<Registry> registry_;
  std::unique_ptr<Simulation> simulation_;
  int next_ = 0;
};

TEST_P(LedgerTest, FewNodesAreAskedAboutWhileNothingChanges) {
  // Pods would rather not be on one of the nodes: then the best one is looked
  // for among all.
  for (const bool one_is_tainted : {false, true}) {
    Start(true);
    if (one_is_tainted) {
      simulation_->cluster().Set(
          Node(0).Taint("soft", "", TaintEffect::kPreferNoSchedule).Object());
    }
    Place(20);
    for (int i = 0; i < 20; ++i) {
      Place(1);
      EXPECT_LE(ledger_.asked, 4);
      EXPECT_LE(ledger_.asked_signed, 4);
    }
    EXPECT_EQ(bindings().size(), 40);
  }
}

TEST_P(LedgerTest, PodsOfAnotherSpecAreAnotherClass) {
  Place(20, "100m");
  Place(20, "100m", "contrary");
  for (int i = 0; i < 10; ++i) {
    Place(1, "100m");
    EXPECT_EQ(row_of_last() % 3, 0);
    EXPECT_LE(ledger_.asked, i == 0 ? 30 : 6);
    Place(1, "100m", "contrary");
    EXPECT_NE(row_of_last() % 3, 0);
    EXPECT_LE(ledger_.asked, 6);
  }
}

// What is kept for it would be of no use: the best node is looked for as if there were nothing.
TEST_P(LedgerTest, ARetriedPodIsAClassOfItsOwn) {
  Place(20);
  simulation_->cluster().SetBindFault(
      [](const Identity&, const std::string&) { return absl::UnavailableError("not now"); });
  Place(1, "150m");
  simulation_->Advance(absl::Minutes(1));
  const int64_t before = simulation_->scheduler().counters().cycles;
  ledger_.asked = 0;
  simulation_->Advance(absl::Minutes(5));
  const int64_t tries = simulation_->scheduler().counters().cycles - before;
  EXPECT_GT(tries, 10);
  EXPECT_GT(ledger_.asked, 8 * tries);
  EXPECT_LT(ledger_.asked, 40 * tries);
}

// Where what is said of a node changes with its pods or its labels. The best
// node would be the same one all the time if nothing were said of it.
TEST_P(LedgerTest, NodesThatChangeAreAskedAboutAgain) {
  ledger_.most_pods = 2;
  Place(20, "1m");
  for (int i = 0; i < 20; ++i) {
    Place(1, "1m");
    EXPECT_LE(ledger_.asked, 4) << i;
  }
  constexpr int kFirstShut = 100;
  int shut = 0;
  for (int i = kFirstShut; i < kNodes - kLocked; ++i) {
    if (ledger_.closed.contains(absl::StrCat("n", i))) continue;
    simulation_->cluster().Set(Node(i).Label("shut", "").Object());
    ++shut;
  }
  Place(1, "1m");
  EXPECT_LT(row_of_last(), kFirstShut);
  EXPECT_LE(ledger_.asked, shut + 4);
  EXPECT_EQ(bindings().size(), 41);
}

// Also where no other plugin reads anything of the node.
TEST_P(LedgerTest, NodesWhosePodsChangeAreAskedAboutAgain) {
  Start(true, true);
  ledger_.most_pods = 2;
  Place(20);
  for (int i = 0; i < 20; ++i) {
    Place(1);
    EXPECT_LE(ledger_.asked, 4) << i;
  }
  EXPECT_EQ(bindings().size(), 40);
}

// Then the filter that goes by them is asked again where no other one rejects
// the pod; nobody else is.
TEST_P(LedgerTest, OtherInputsInvalidateOnlyFiltersThatUseThem) {
  Place(30);
  EXPECT_EQ(row_of_last() % 3, 0);
  Close(1);
  Place(1);
  EXPECT_EQ(row_of_last() % 3, 1);
  EXPECT_GE(ledger_.asked, kNodes - kLocked);
  EXPECT_LE(ledger_.asked, kNodes - kLocked + 4);
  EXPECT_LE(ledger_.asked_signed, 4);
  Place(1);
  EXPECT_EQ(row_of_last() % 3, 1);
  EXPECT_LE(ledger_.asked, 4);
}

// The filter is asked about all nodes again for each pod; the others are not.
TEST_P(LedgerTest, InputsThatChangeWithEachPod) {
  Place(20);
  ledger_.closed.clear();
  for (int i = 0; i < 30; ++i) {
    ++ledger_.version;
    Place(1);
    if (i < 5) continue;
    EXPECT_GE(ledger_.asked, kNodes - kLocked) << i;
    EXPECT_LE(ledger_.asked, kNodes + 4) << i;
    EXPECT_LE(ledger_.asked_signed, 4) << i;
  }
  // Once they are the same for two pods, the second one asks about few.
  Close(2);
  Place(1);
  EXPECT_EQ(row_of_last() % 3, 2);
  Place(1);
  EXPECT_EQ(row_of_last() % 3, 2);
  EXPECT_LE(ledger_.asked, 4);
}

TEST_P(LedgerTest, AFilterThatFailsLeavesNothingBehind) {
  Place(30);
  Close(1);
  ledger_.fails = true;
  Place(1);
  EXPECT_EQ(bindings().size(), 30);
  ledger_.fails = false;
  simulation_->Advance(absl::Minutes(5));
  Place(30);
  EXPECT_EQ(bindings().size(), 61);
  EXPECT_EQ(row_of_last() % 3, 1);
  EXPECT_LE(ledger_.asked, 4);
}

TEST_P(LedgerTest, FullEvaluationPlacesPodsTheSame) {
  Bindings went[2];
  for (const bool incremental : {false, true}) {
    Start(incremental);
    Random random(7);
    for (int i = 0; i < 150; ++i) {
      if (random.Percent(10)) Close(random.Below(3));
      if (random.Percent(10)) {
        ++ledger_.version;
        for (int j = 0; j < 5; ++j) ledger_.closed.erase(absl::StrCat("n", random.Below(kNodes)));
      }
      if (random.Percent(10)) {
        NodeBuilder node = MakeNode().Name(absl::StrCat("n", random.Below(kNodes)));
        node.Allocatable("cpu", absl::StrCat(random.Between(1, 50))).Allocatable("pods", "100");
        if (random.Percent(30)) node.Label("locked", "");
        simulation_->cluster().Set(node.Object());
      }
      if (i >= 100) {
        ledger_.liked = {absl::StrCat("n", random.Below(kNodes)), "n3", "n4", "n5"};
      }
      Place(1);
    }
    went[incremental] = bindings();
  }
  EXPECT_EQ(went[true], went[false]);
}

INSTANTIATE_TEST_SUITE_P(BeforeAndAfterWhoSigns, LedgerTest, ::testing::Bool());

}  // namespace
}  // namespace berth
