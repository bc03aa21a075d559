// SPDX-License-Identifier: Apache-2.0
// What preemption caches between cycles changes no decision: the same random history of priorities,
// budgets, quotas, nominations, topology rules and volumes with SchedulerOptions::incremental and
// without.
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "berth/api/policy_v1.pb.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/time.h"
#include "tests/engine/empty_simulation.h"
#include "tests/engine/random_storage.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using testing::Random;
using testing::RandomStorage;

constexpr const char* kZone = RandomStorage::kZoneLabel;
constexpr const char* kHost = "host";

struct Outcome {
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> evictions;
  std::vector<std::string> waiting;  // "pod: message"
  std::vector<std::string> notes;
  int64_t incremental_cycles = 0;
};

constexpr absl::string_view kByPriority = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 100}
)";
constexpr absl::string_view kByQuota = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: CapacityScheduling}]}
    postFilter:
      enabled: [{name: CapacityScheduling}]
      disabled: [{name: "*"}]
)";
constexpr absl::string_view kByToleration = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    postFilter:
      enabled: [{name: PreemptionToleration}]
      disabled: [{name: "*"}]
)";
constexpr const char* kNamespaces[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
constexpr int kFewNamespaces = 3;

// At least `kept` of the pods stay; the simulation works out how many may go.
Object Budget(const std::string& name_space, int kept, const std::string& app) {
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->mutable_metadata()->set_name(absl::StrCat("of-", app));
  budget->mutable_metadata()->set_namespace_(name_space);
  (*budget->mutable_spec()->mutable_selector()->mutable_match_labels())["app"] = app;
  budget->mutable_spec()->mutable_min_available()->set_int_val(kept);
  return Object::Of(std::move(budget));
}

Object Quota(const std::string& name_space, int min_cpu, int max_cpu) {
  auto quota = std::make_shared<api::ElasticQuota>();
  quota->mutable_metadata()->set_name("quota");
  quota->mutable_metadata()->set_namespace_(name_space);
  (*quota->mutable_spec()->mutable_min())["cpu"].set_string(absl::StrCat(min_cpu));
  (*quota->mutable_spec()->mutable_max())["cpu"].set_string(absl::StrCat(max_cpu));
  return Object::Of(std::move(quota));
}

// Pods of priority `value` are safe from pods up to two above that, for so long.
Object Class(int value, int toleration_seconds) {
  auto priority_class = std::make_shared<api::PriorityClass>();
  priority_class->mutable_metadata()->set_name(absl::StrCat("class-", value));
  priority_class->set_value(value);
  auto& annotations = *priority_class->mutable_metadata()->mutable_annotations();
  const std::string prefix = "preemption-toleration.scheduling.x-k8s.io/";
  annotations[prefix + "minimum-preemptable-priority"] = absl::StrCat(value + 2);
  annotations[prefix + "toleration-seconds"] = absl::StrCat(toleration_seconds);
  return Object::Of(std::move(priority_class));
}

// What pods ask for besides room: mostly nothing, or they are of a few kinds with topology rules,
// or with topology rules and volumes.
enum class Rules { kFew, kDomains, kVolumes };

class CrowdedCluster {
 public:
  CrowdedCluster(absl::string_view configuration, Rules rules, int namespaces, uint64_t seed,
                 bool incremental)
      : rules_(rules), namespaces_(namespaces), random_(seed) {
    LoadedConfiguration loaded = ParseConfiguration(configuration, "test", Builtins());
    simulation_ = EmptySimulation(std::move(loaded), seed, incremental);
  }

  Outcome Run(int steps) {
    // If there are more than 64 nodes, only what changed is looked at again.
    nodes_ = random_.Percent(5) ? random_.Between(70, 120) : random_.Between(3, 12);
    restless_ = random_.Percent(50);
    std::vector<std::string> names;
    for (int i = 0; i < nodes_; ++i) {
      SetNode(i);
      names.push_back(absl::StrCat("n", i));
    }
    if (rules_ == Rules::kVolumes) {
      storage_.emplace(random_, "a", std::move(names));
      storage_->Begin(simulation_->cluster());
    }
    if (rules_ != Rules::kFew) {
      for (int i = 0; i < 4; ++i) kinds_.push_back(RandomKind());
    }
    for (int value = 0; value < 4; ++value) {
      simulation_->cluster().Set(Class(value, 20 * random_.Below(4)));
    }
    for (int step = 0; step < steps; ++step) {
      Change();
      simulation_->RunUntilIdle();
      if (random_.Percent(30)) simulation_->Advance(absl::Seconds(random_.Below(40)));
    }
    simulation_->RunUntilQuiet(absl::Minutes(2));
    Outcome outcome;
    outcome.bindings = simulation_->cluster().Bindings();
    outcome.evictions = simulation_->cluster().Evictions();
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      outcome.waiting.push_back(absl::StrCat(pod.pod, ": ", pod.plugin, ": ", pod.message));
    }
    for (const RecordedEvent& event : simulation_->cluster().RecordedEvents()) {
      outcome.notes.push_back(
          absl::StrCat(event.pod->name(), ": ", event.reason, ": ", event.note()));
    }
    outcome.incremental_cycles = simulation_->scheduler().counters().incremental_cycles;
    EXPECT_EQ(simulation_->scheduler().counters().unconfirmed, 0)
        << "a batch form was too generous";
    return outcome;
  }

 private:
  void SetNode(int i) {
    auto node = MakeNode().Name(absl::StrCat("n", i));
    node.Allocatable("cpu", absl::StrCat(random_.Between(2, 6)));
    node.Allocatable("memory", "64Gi");
    node.Allocatable("pods", absl::StrCat(random_.Between(3, 20)));
    node.Label(kZone, absl::StrCat("z", random_.Below(2))).Label(kHost, absl::StrCat("n", i));
    if (random_.Percent(10)) node.Taint("dedicated", "yes", TaintEffect::kNoSchedule);
    simulation_->cluster().Set(node.Object());
  }

  void LoseOrRegainANode() {
    const int node = random_.Below(nodes_);
    const std::string key = absl::StrCat("n", node);
    if (!simulation_->cluster().Delete(Kind::kNode, key)) SetNode(node);
  }

  void Change() {
    if (storage_.has_value() && random_.Percent(20)) storage_->Change(simulation_->cluster());
    if (rules_ != Rules::kFew && random_.Percent(3)) {
      const std::string team = absl::StrCat("team-", random_.Below(2));
      simulation_->cluster().Set(testing::ObjectsFromYaml(absl::StrCat(
          "{apiVersion: v1, kind: Namespace, metadata: {name: ", kNamespaces[random_.Below(2)],
          ", labels: {team: ", team, "}}}"))[0]);
    }
    if (restless_ && random_.Percent(40)) LoseOrRegainANode();
    const int kind = random_.Below(20);
    if (kind == 0) {  // a node changes
      SetNode(random_.Below(nodes_));
    } else if (kind == 1) {
      LoseOrRegainANode();
    } else if (kind <= 3) {  // a pod goes
      const std::vector<Object> pods = simulation_->cluster().List(Kind::kPod);
      if (pods.empty()) return;
      const int which = random_.Below(static_cast<int>(pods.size()));
      if (random_.Percent(50)) {
        simulation_->cluster().Delete(Kind::kPod, pods[which].key());
      } else {
        simulation_->cluster().DeleteGracefully(pods[which].key());
      }
    } else if (kind == 4) {
      const std::string name_space = kNamespaces[random_.Below(namespaces_)];
      const int kept = random_.Below(3);
      simulation_->cluster().Set(Budget(name_space, kept, absl::StrCat("app-", random_.Below(2))));
    } else if (kind == 5) {
      const std::string name_space = kNamespaces[random_.Below(namespaces_)];
      const int min_cpu = random_.Between(1, 6 * nodes_ / namespaces_);
      simulation_->cluster().Set(Quota(name_space, min_cpu, min_cpu + random_.Below(2 * nodes_)));
    } else if (kind == 6) {
      const int value = random_.Below(4);
      simulation_->cluster().Set(Class(value, 20 * random_.Below(4)));
    } else if (rules_ == Rules::kFew) {
      AddPods();
    } else {
      AddPodsOfAKind();
    }
  }

  // With one or two rules about other pods, of which most are about few of them.
  PodBuilder RandomKind() {
    const auto app = [this] { return absl::StrCat("app-", random_.Below(3)); };
    PodBuilder pod = MakePod().Namespace(kNamespaces[random_.Below(2)]).Label("app", app());
    pod.Request("cpu", absl::StrCat(random_.Between(1, 2)));
    if (storage_.has_value()) storage_->AddVolumes(pod.Namespace("a"));
    for (int i = random_.Between(storage_.has_value() ? 0 : 1, 2); i > 0; --i) {
      const char* const key = random_.Percent(50) ? kZone : kHost;
      const std::string other = app();
      switch (random_.Below(4)) {
        case 0:
        case 1:
          pod.SpreadConstraint(random_.Between(1, 2), key, UnsatisfiableAction::kDoNotSchedule,
                               {{"app", other}});
          if (random_.Percent(30)) pod.MinDomains(random_.Between(2, 3));
          if (random_.Percent(30)) pod.NodeTaintsPolicy(NodeInclusionPolicy::kHonor);
          break;
        case 2:
          pod.PodAntiAffinity(key, {{"app", other}});
          break;
        default:
          pod.PodAffinity(key, {{"app", other}});
          break;
      }
      if (random_.Percent(30) && pod.Message().spec().affinity().has_pod_anti_affinity()) {
        auto* const terms = pod.Message()
                                .mutable_spec()
                                ->mutable_affinity()
                                ->mutable_pod_anti_affinity()
                                ->mutable_required_during_scheduling_ignored_during_execution();
        (*terms->Mutable(0)->mutable_namespace_selector()->mutable_match_labels())["team"] =
            "team-1";
      }
    }
    return pod;
  }

  void AddPodsOfAKind() {
    PodBuilder pod = random_.OneOf(kinds_);
    pod.Priority(random_.Below(4));
    if (random_.Percent(10)) pod.NominatedNodeName(absl::StrCat("n", random_.Below(nodes_)));
    if (random_.Percent(20)) pod.NodeName(absl::StrCat("n", random_.Below(nodes_)));
    for (int copies = random_.Between(1, 3); copies > 0; --copies) {
      simulation_->cluster().Set(pod.Uid("").Name(absl::StrCat("p", next_++)).Object());
    }
  }

  // Pods of few classes, and a few at a time.
  void AddPods() {
    const int priority = random_.Below(4);
    const int cpu = random_.Between(1, 3);
    const std::string name_space = kNamespaces[random_.Below(namespaces_)];
    const std::string app = absl::StrCat("app-", random_.Below(3));
    const int extra = random_.Below(20);
    const std::string nominated = absl::StrCat("n", random_.Below(nodes_));
    const int grace = random_.Below(3) * 20;
    const bool in_class = random_.Percent(50);
    const int copies = random_.Between(1, 5);
    for (int i = 0; i < copies; ++i) {
      PodBuilder pod = MakePod().Name(absl::StrCat("p", next_++)).Namespace(name_space);
      pod.Priority(priority).Request("cpu", absl::StrCat(cpu)).Label("app", app);
      if (extra == 0) pod.NominatedNodeName(nominated);
      if (extra == 1) pod.NodeSelector(kZone, "z1");
      if (extra == 2) pod.HostPort(80);
      if (extra == 3) pod.PreemptNever();
      if (extra == 4) pod.PodAntiAffinity(kZone, {{"app", app}});
      if (extra == 5) pod.NodeName(nominated);  // somebody else placed it
      auto object = std::make_shared<api::Pod>(pod.Object().As<api::Pod>());
      object->mutable_spec()->set_termination_grace_period_seconds(grace);
      if (in_class) {
        object->mutable_spec()->set_priority_class_name(absl::StrCat("class-", priority));
        api::PodCondition* scheduled = object->mutable_status()->add_conditions();
        scheduled->set_type("PodScheduled");
        scheduled->set_status("True");
        SetTime(simulation_->now(), scheduled->mutable_last_transition_time());
      }
      simulation_->cluster().Set(Object::Of(std::move(object)));
    }
  }

  const Rules rules_;
  const int namespaces_;
  Random random_;
  std::optional<RandomStorage> storage_;
  std::vector<PodBuilder> kinds_;
  std::unique_ptr<Simulation> simulation_;
  int nodes_ = 0;
  bool restless_ = false;  // nodes come and go all the time
  int next_ = 0;
};

// BERTH_SEED=N repeats one history, BERTH_SEQUENCES=N runs so many, from BERTH_SEED on if given.
void Compare(absl::string_view configuration, Rules rules = Rules::kFew,
             int namespaces = kFewNamespaces) {
  uint64_t first = 1;
  const char* const seed_text = std::getenv("BERTH_SEED");
  if (seed_text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(seed_text, &first));
  }
  uint64_t count = seed_text != nullptr ? 1 : rules == Rules::kFew ? 150 : 30;
  if (const char* text = std::getenv("BERTH_SEQUENCES"); text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(text, &count));
  }
  const uint64_t last = first + count - 1;
  uint64_t evictions = 0;
  uint64_t incremental_cycles = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Outcome with = CrowdedCluster(configuration, rules, namespaces, seed, true).Run(60);
    const Outcome without = CrowdedCluster(configuration, rules, namespaces, seed, false).Run(60);
    EXPECT_EQ(with.bindings, without.bindings);
    EXPECT_EQ(with.evictions, without.evictions);
    EXPECT_EQ(with.waiting, without.waiting);
    EXPECT_EQ(with.notes, without.notes);
    evictions += with.evictions.size();
    incremental_cycles += with.incremental_cycles;
    if (::testing::Test::HasFailure()) return;
  }
  if (first == last) return;
  EXPECT_GT(evictions, 2 * count);
  EXPECT_GT(incremental_cycles, 6 * count);
}

TEST(PreemptionHistories, ChangesNoDecisionByPriority) { Compare(kByPriority); }
TEST(PreemptionHistories, ChangesNoDecisionByPriorityAndTopology) {
  Compare(kByPriority, Rules::kDomains);
}
TEST(PreemptionHistories, ChangesNoDecisionByPriorityAndVolumes) {
  Compare(kByPriority, Rules::kVolumes);
}
TEST(PreemptionHistories, ChangesNoDecisionByTolerationAndTopology) {
  Compare(kByToleration, Rules::kDomains);
}
TEST(PreemptionHistories, ChangesNoDecisionByQuota) { Compare(kByQuota); }
// So that quotas have pods on few nodes each.
TEST(PreemptionHistories, ChangesNoDecisionByManyQuotas) { Compare(kByQuota, Rules::kFew, 10); }
TEST(PreemptionHistories, ChangesNoDecisionByToleration) { Compare(kByToleration); }

}  // namespace
}  // namespace berth
