// SPDX-License-Identifier: Apache-2.0
// Sums that say that no evictions make room for a gang change no decision: random clusters with
// them, and with a DefaultPreemption that says nothing of its victims, so that each plan is tried.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "plugins/default_preemption/default_preemption.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Random;

// DefaultPreemption, but for FreesLowerPriorityOnly().
class PlainPreemption final : public Plugin,
                              public PostFilterPlugin,
                              public PostFilterBound,
                              public PreEnqueuePlugin,
                              public EnqueueExtensions,
                              public ExplainsWaitingAs<WaitingReason::kWaitingForVictims> {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle) {
    return std::make_unique<PlainPreemption>(args, handle);
  }
  PlainPreemption(const PluginArgs& args, Handle& handle)
      : plugin_(args.As<DefaultPreemptionArgs>(), handle) {}

  absl::string_view Name() const override { return plugin_.Name(); }
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult& result) override {
    return plugin_.PostFilter(state, pod, statuses, result);
  }
  bool MayHelp(const PodInfo& pod) override { return plugin_.MayHelp(pod); }
  Status PreEnqueue(const PodInfo& pod) override { return plugin_.PreEnqueue(pod); }
  std::vector<ClusterEventWithHint> EventsToRegister() const override { return {}; }
  bool HintsReadSpecOnly() const override { return true; }

 private:
  DefaultPreemption plugin_;
};

const Registry& WithPlainPreemption() {
  static const Registry& registry = *[] {
    Registry::Builder builder;
    for (const auto& [name, builtin] : Builtins().plugins()) {
      PluginRegistration registration = builtin;
      if (name == DefaultPreemption::kName) registration.factory = &PlainPreemption::Create;
      builder.Add(std::move(registration));
    }
    return new Registry(*std::move(builder).Build());
  }();
  return registry;
}

struct Outcome {
  std::vector<std::pair<std::string, std::string>> bindings;
  std::vector<std::string> evictions;
  std::vector<std::string> waiting;
  int proofs = 0;
};

// Nodes full of pods and gangs of all priorities, and gangs that come and have to evict.
class FullCluster {
 public:
  FullCluster(const Registry& registry, int seed) : random_(seed) {
    simulation_ =
        Simulation::Create({.configuration = GangConfiguration(), .registry = &registry}).value();
    nodes_ = random_.Between(1, 6);
    for (int n = 0; n < nodes_; ++n) Set(MakeGpuNode(absl::StrCat("n", n), 8));
    for (int n = 0; n < nodes_; ++n) {
      for (int free = 8; free > 0 && random_.Percent(90);) free -= AddRunning(n, free);
    }
  }

  // Several gangs: a plan that is tried and taken back leaves nothing that decides between equals
  // for later ones.
  Outcome Run() {
    for (int step = random_.Between(2, 5); step > 0; --step) {
      AddGang();
      simulation_->RunUntilQuiet(absl::Minutes(1));
      NoteProofs();
      if (random_.Percent(50)) Lose();
    }
    simulation_->RunUntilQuiet(absl::Minutes(10));
    outcome_.bindings = simulation_->cluster().Bindings();
    outcome_.evictions = simulation_->cluster().Evictions();
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      outcome_.waiting.push_back(pod.pod);
    }
    return std::move(outcome_);
  }

 private:
  void Set(Object object) { simulation_->cluster().Set(std::move(object)); }

  // Returns how many GPUs it takes.
  int AddRunning(int node, int free) {
    const int gpus = random_.Between(1, free < 4 ? free : 4);
    auto pod = Pod(gpus, random_.OneOf<int>({0, 0, 10, 100, 1000}));
    pod.NodeName(absl::StrCat("n", node)).Phase("Running");
    if (random_.Percent(30)) {  // members may be of several priorities
      const std::string group = absl::StrCat("v", random_.Below(3));
      Set(MakeGroup(group, random_.Between(1, 3)));
      pod.Label("scheduling.x-k8s.io/pod-group", group);
    }
    Set(pod.Object());
    return gpus;
  }

  testing::PodBuilder Pod(int gpus, int priority) {
    auto pod = testing::MakePod().Name(absl::StrCat("p", next_++)).Namespace("default");
    pod.Request("nvidia.com/gpu", absl::StrCat(gpus)).Priority(priority);
    if (random_.Percent(20)) pod.Request("cpu", absl::StrCat(random_.Between(1, 40)));
    return pod;
  }

  void AddGang() {
    const std::string gang = absl::StrCat("g", next_++);
    const int members = random_.Between(2, 5 * nodes_);
    Set(MakeGroup(gang, random_.Between(members / 2, members)));
    const int gpus = random_.Between(1, 5);
    const int priority = random_.OneOf<int>({0, 10, 100});
    const bool unlike = random_.Percent(40);
    for (int m = 0; m < members; ++m) {
      auto pod = Pod(unlike ? random_.Between(1, 3) : gpus, random_.Percent(5) ? 1000 : priority);
      if (random_.Percent(3)) pod.PreemptNever();
      Set(pod.Label("scheduling.x-k8s.io/pod-group", gang).Object());
    }
  }

  void Lose() {
    const std::vector<Object> pods = simulation_->cluster().List(Kind::kPod);
    if (pods.empty()) return;
    simulation_->cluster().Delete(Kind::kPod, random_.OneOf(pods).key());
  }

  void NoteProofs() {
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      outcome_.proofs += absl::StrContains(pod.message, "Evictions would make room for at most");
    }
  }

  Random random_;
  int nodes_ = 0, next_ = 0;
  std::unique_ptr<Simulation> simulation_;
  Outcome outcome_;
};

TEST(EvictionBound, ChangesNoDecision) {
  int proofs = 0, evictions = 0, waiting = 0;
  for (const int seed : testing::Seeds(1000)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Outcome with = FullCluster(Builtins(), seed).Run();
    const Outcome without = FullCluster(WithPlainPreemption(), seed).Run();
    EXPECT_EQ(without.proofs, 0);
    EXPECT_EQ(with.evictions, without.evictions);
    EXPECT_EQ(with.bindings, without.bindings);
    EXPECT_EQ(with.waiting, without.waiting);
    if (HasFailure()) return;
    proofs += with.proofs;
    evictions += static_cast<int>(with.evictions.size());
    waiting += static_cast<int>(with.waiting.size());
  }
  printf("proofs %d, evictions %d, waiting %d\n", proofs, evictions, waiting);
  EXPECT_GT(proofs, 150);
  EXPECT_GT(evictions, 400);
  EXPECT_GT(waiting, 400);
}

// A gang whose members are of two priorities does not end for a preemptor between them: so sums of
// what less important pods take say enough.
TEST(EvictionBound, CountsNoPodThatGoesWithItsGang) {
  auto simulation =
      Simulation::Create({.configuration = GangConfiguration(), .registry = &Builtins()}).value();
  InMemoryCluster& cluster = simulation->cluster();
  for (const char* node : {"n0", "n1"}) cluster.Set(MakeGpuNode(node, 8));
  cluster.Set(MakeGroup("runs", 2));
  for (const int priority : {0, 1000}) {
    cluster.Set(testing::MakePod()
                    .Name(absl::StrCat("runs-", priority))
                    .Namespace("default")
                    .Label("scheduling.x-k8s.io/pod-group", "runs")
                    .Request("nvidia.com/gpu", "8")
                    .Priority(priority)
                    .NodeName(priority == 0 ? "n0" : "n1")
                    .Phase("Running")
                    .Object());
  }
  cluster.Set(MakeGroup("g", 2));
  for (const char* name : {"g-0", "g-1"}) {
    cluster.Set(testing::MakePod()
                    .Name(name)
                    .Namespace("default")
                    .Label("scheduling.x-k8s.io/pod-group", "g")
                    .Request("nvidia.com/gpu", "8")
                    .Priority(100)
                    .Object());
  }
  simulation->RunUntilQuiet();
  EXPECT_THAT(cluster.Evictions(), IsEmpty());
  for (const UnboundPod& pod : simulation->scheduler().Unbound()) {
    EXPECT_THAT(pod.message, HasSubstr("Evictions would make room for at most 1 of 2."));
  }
}

}  // namespace
}  // namespace berth
