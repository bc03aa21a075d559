// SPDX-License-Identifier: Apache-2.0
// Pods that wait for room take turns, and everything goes as if each of them were tried whenever a
// pod ends: the same bindings in the same order, the same evictions, the same pods that wait.
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using testing::Random;

constexpr char kGangLabel[] = "scheduling.x-k8s.io/pod-group";

struct Outcome {
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> evictions;
  std::vector<std::string> waiting;
  int64_t attempts = 0;
};

// What else is in the cluster.
enum class Mix { kPods, kPriorities, kGangs, kQuotas };

KubeSchedulerConfiguration ConfigurationOf(Mix mix) {
  std::string plugins = "[]";
  if (mix == Mix::kGangs) plugins = "[{name: Coscheduling}]";
  if (mix == Mix::kQuotas) plugins = "[{name: CapacityScheduling}]";
  LoadedConfiguration loaded = ParseConfiguration(
      absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: )",
                   plugins, R"(
      disabled: )",
                   mix == Mix::kQuotas ? "[{name: DefaultPreemption}]" : "[]", R"(
    queueSort:
      disabled: )",
                   mix == Mix::kGangs ? "[{name: Coscheduling}]" : "[]", "\n"),
      "config", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  return loaded.configuration;
}

class BusyCluster {
 public:
  BusyCluster(Mix mix, uint64_t seed, bool turns_for_room) : random_(seed), mix_(mix) {
    KubeSchedulerConfiguration configuration = ConfigurationOf(mix);
    configuration.pod_max_backoff_seconds = random_.OneOf(std::vector<int>{1, 2, 4, 10});
    simulation_ = Simulation::Create({.configuration = std::move(configuration),
                                      .registry = &Builtins(),
                                      .objects = {},
                                      .seed = seed,
                                      .turns_for_room = turns_for_room})
                      .value();
    alike_ = random_.Percent(30);
    for (int i = random_.Between(1, 6); i > 0; --i) node_cpus_.push_back(random_.Between(2, 8));
  }

  Outcome Run(int steps) {
    for (size_t i = 0; i < node_cpus_.size(); ++i) SetNode(i);
    if (mix_ == Mix::kGangs) {
      for (int i = 0; i < 3; ++i) simulation_->cluster().Set(MakeGroup(absl::StrCat("g", i), 2));
    }
    if (mix_ == Mix::kQuotas) SetQuota();
    for (int step = 0; step < steps; ++step) {
      for (int i = random_.Below(5); i > 0; --i) Change();
      if (random_.Percent(80)) {
        simulation_->Advance(absl::Milliseconds(random_.Below(3000)));
      } else {
        simulation_->RunUntilIdle();
      }
      if (random_.Percent(2)) simulation_->Advance(absl::Minutes(6));
    }
    Outcome outcome;
    outcome.bindings = simulation_->cluster().Bindings();
    outcome.evictions = simulation_->cluster().Evictions();
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      outcome.waiting.push_back(pod.pod);
    }
    outcome.attempts = simulation_->scheduler().counters().attempts;
    return outcome;
  }

 private:
  void SetNode(size_t i) {
    auto node = MakeNode().Name(absl::StrCat("n", i)).Label("host", absl::StrCat("n", i));
    node.Allocatable("cpu", absl::StrCat(node_cpus_[i])).Allocatable("memory", "16Gi");
    node.Allocatable("pods", i % 2 == 0 ? "6" : "110");
    if (i % 3 == 2) node.Taint("t", "", TaintEffect::kNoSchedule);
    simulation_->cluster().Set(node.Object());
  }

  void SetQuota() {
    auto quota = std::make_shared<api::ElasticQuota>();
    quota->mutable_metadata()->set_name("quota");
    quota->mutable_metadata()->set_namespace_("default");
    (*quota->mutable_spec()->mutable_max())["cpu"].set_string(absl::StrCat(random_.Between(4, 20)));
    (*quota->mutable_spec()->mutable_min())["cpu"].set_string("4");
    simulation_->cluster().Set(Object::Of(std::move(quota)));
  }

  void Change() {
    const int kind = random_.Below(20);
    if (kind < 12) return AddPod();
    if (kind < 14) {
      const std::vector<Object> pods = simulation_->cluster().List(Kind::kPod);
      if (pods.empty()) return;
      simulation_->cluster().Delete(Kind::kPod, random_.OneOf(pods).key());
    } else if (kind < 16) {
      ChangePod();
    } else if (kind == 16) {
      const size_t i = random_.Below(static_cast<int>(node_cpus_.size()));
      node_cpus_[i] = random_.Between(2, 8);
      SetNode(i);
    } else if (kind == 17) {
      const size_t i = random_.Below(static_cast<int>(node_cpus_.size()));
      if (!simulation_->cluster().Delete(Kind::kNode, absl::StrCat("n", i))) SetNode(i);
    } else if (kind == 18 && mix_ == Mix::kQuotas) {
      SetQuota();
    }
  }

  void AddPod() {
    const std::string name = absl::StrCat("p", next_++);
    PodBuilder pod = MakePod().Name(name).Namespace("default");
    pod.Request("cpu", absl::StrCat(alike_ ? 1000 : random_.Between(0, 12) * 250, "m"));
    if (!alike_) pod.Request("memory", absl::StrCat(random_.Between(0, 6000), "Mi"));
    if (random_.Percent(75)) {
      pod.Annotation("simulation.berth/run-time", absl::StrCat(random_.Between(1, 30), "s"));
    }
    if (mix_ != Mix::kPods && random_.Percent(25)) pod.Priority(random_.Below(3));
    if (random_.Percent(10)) pod.PreemptNever();
    if (random_.Percent(10)) pod.TolerationExists("t");
    if (random_.Percent(5)) pod.NodeSelector("host", "n0");
    if (random_.Percent(5)) pod.HostPort(80);
    if (random_.Percent(5)) pod.Label("app", "a").PodAntiAffinity("host", {{"app", "a"}});
    if (mix_ == Mix::kGangs && random_.Percent(20)) {
      pod.Label(kGangLabel, absl::StrCat("g", random_.Below(3)));
    }
    pods_.emplace(name, pod);
    simulation_->cluster().Set(pod.Object());
  }

  // A pod that waits gets another label, or its gate opens.
  void ChangePod() {
    const std::vector<UnboundPod> waiting = simulation_->scheduler().Unbound();
    if (waiting.empty()) return;
    const std::string name = random_.OneOf(waiting).pod.substr(sizeof("default/") - 1);
    const auto known = pods_.find(name);
    if (known == pods_.end()) return;
    known->second.Label("changed", absl::StrCat(next_++));
    simulation_->cluster().Set(known->second.Object());
  }

  Random random_;
  const Mix mix_;
  bool alike_ = false;
  std::vector<int> node_cpus_;
  std::map<std::string, PodBuilder> pods_;
  std::unique_ptr<Simulation> simulation_;
  int next_ = 0;
};

class RetryTurns : public ::testing::TestWithParam<Mix> {};
INSTANTIATE_TEST_SUITE_P(Mixes, RetryTurns,
                         ::testing::Values(Mix::kPods, Mix::kPriorities, Mix::kGangs,
                                           Mix::kQuotas));

// BERTH_SEED=N repeats one history, BERTH_SEQUENCES=N runs so many, from BERTH_SEED on if given.
TEST_P(RetryTurns, EverythingGoesAsIfEachWereTried) {
  uint64_t first = 1;
  const char* const seed_text = std::getenv("BERTH_SEED");
  if (seed_text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(seed_text, &first));
  }
  uint64_t count = seed_text != nullptr ? 1 : 50;
  if (const char* text = std::getenv("BERTH_SEQUENCES"); text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(text, &count));
  }
  int64_t attempts = 0, attempts_of_each = 0;
  size_t bound = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Outcome turns = BusyCluster(GetParam(), seed, true).Run(150);
    const Outcome each = BusyCluster(GetParam(), seed, false).Run(150);
    for (size_t i = 0; i < std::min(turns.bindings.size(), each.bindings.size()); ++i) {
      ASSERT_EQ(turns.bindings[i], each.bindings[i]) << "binding " << i;
    }
    ASSERT_EQ(turns.bindings.size(), each.bindings.size());
    ASSERT_EQ(turns.evictions, each.evictions);
    ASSERT_EQ(turns.waiting, each.waiting);
    attempts += turns.attempts;
    attempts_of_each += each.attempts;
    bound += turns.bindings.size();
  }
  printf("%zu bindings, %lld attempts in turns, %lld if each is tried\n", bound,
         static_cast<long long>(attempts), static_cast<long long>(attempts_of_each));
  EXPECT_LE(attempts, attempts_of_each);
  if (GetParam() <= Mix::kPriorities && count > 1) {
    EXPECT_LT(attempts * 10, attempts_of_each * 9);
  }
}

}  // namespace
}  // namespace berth
