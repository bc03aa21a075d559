// SPDX-License-Identifier: Apache-2.0
// What is evaluated again when pods that fit nowhere are tried again.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/builtin_plugins.h"
#include "berth/configuration.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/incremental/sign.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::NodeBuilder;

// Rejects nodes that are not labelled "open", in one of two ways, and counts how often it is asked.
class OnlyOpen final : public Plugin, public FilterPlugin, public SignPlugin {
 public:
  explicit OnlyOpen(int& asked) : asked_(asked) {}

  absl::string_view Name() const override { return "OnlyOpen"; }
  Status Filter(const CycleState&, const PodInfo&, const NodeInfo& node) const override {
    ++asked_;
    if (node.labels().Has(Symbol::Intern("open"))) return Status::Success();
    return Status::UnschedulableAndUnresolvable(
        node.labels().Has(Symbol::Intern("locked")) ? "locked" : "closed");
  }
  Status SignPod(const PodInfo&, PodSignature&) const override { return Status::Success(); }
  Aspects DependsOn() const override { return Aspect::kNodeLabels; }

 private:
  int& asked_;
};

constexpr int kNodes = 300;

Object NodeWith(int i, absl::string_view label) {
  NodeBuilder node = MakeNode().Name(absl::StrCat("n", i));
  if (!label.empty()) node.Label(label, "");
  return node.Object();
}

// The default profile with OnlyOpen.
class RejectionCacheTest : public ::testing::Test {
 protected:
  RejectionCacheTest() {
    std::vector<PluginRegistration> extra;
    extra.push_back(WithPlugin(
        "OnlyOpen", [this](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
          return std::make_unique<OnlyOpen>(asked_);
        }));
    registry_.emplace(BuiltinRegistry(std::move(extra)).value());
  }

  static constexpr absl::string_view kNoReasonGroup = "{multiPoint: {enabled: [{name: OnlyOpen}]}}";

  std::unique_ptr<Simulation> NewSimulation(
      bool incremental, int64_t work_budget_steps = SchedulerOptions().work_budget_steps,
      absl::string_view plugins = kNoReasonGroup) {
    LoadedConfiguration loaded =
        ParseConfiguration(absl::StrCat("apiVersion: kubescheduler.config.k8s.io/v1\n"
                                        "kind: KubeSchedulerConfiguration\n"
                                        "profiles:\n"
                                        "- plugins: ",
                                        plugins, "\n"),
                           "configuration", *registry_);
    EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
    std::vector<Object> objects;
    for (int i = 0; i < kNodes; ++i) objects.push_back(NodeWith(i, ""));
    auto created = Simulation::Create({.configuration = std::move(loaded.configuration),
                                       .registry = &*registry_,
                                       .objects = std::move(objects),
                                       .incremental = incremental,
                                       .work_budget_steps = work_budget_steps});
    EXPECT_TRUE(created.ok()) << created.status();
    return *std::move(created);
  }

  // A pod to each second node.
  static void AddNominatedPods(Simulation& simulation) {
    for (int i = 0; i < kNodes; i += 2) {
      testing::PodBuilder pod = MakePod().Name(absl::StrCat("nominated-", i)).Priority(5);
      pod.SchedulingGate("wait").NominatedNodeName(NodeWith(i, "").key());
      simulation.cluster().Set(pod.Object());
    }
  }

  // Alike.
  static void AddPods(int first, int count, Simulation& simulation) {
    for (int i = first; i < first + count; ++i) {
      simulation.cluster().Set(MakePod().Name(absl::StrCat("p", i)).Object());
    }
    simulation.RunUntilIdle();
  }

  int asked_ = 0;
  std::optional<Registry> registry_;
};

// The profile scores by images, whose spread is another with each node; that is no reason to filter
// all nodes again.
TEST_F(RejectionCacheTest, OnlyNewNodesAreFilteredWhenNodesComeAndGo) {
  const auto simulation = NewSimulation(true);
  AddPods(0, 3, *simulation);  // what is said of a kind is kept from its second pod on
  EXPECT_GE(asked_, kNodes);

  for (int round = 0; round < 20; ++round) {
    const int64_t cycles = simulation->scheduler().counters().cycles;
    asked_ = 0;
    simulation->cluster().Set(NodeWith(kNodes + round, ""));
    simulation->cluster().Delete(Kind::kNode, NodeWith(7 * round, "").key());
    simulation->RunUntilIdle();
    simulation->Advance(absl::Minutes(5));
    simulation->RunUntilIdle();
    EXPECT_GE(simulation->scheduler().counters().cycles, cycles + 3);
    EXPECT_GT(asked_, 0) << "the one that came";
    EXPECT_LT(asked_, 20) << round;
  }
}

// When all nodes have been filtered to find a place for a pod, and none is feasible, they are
// filtered once more to keep why.
TEST_F(RejectionCacheTest, NodesAreFilteredTwiceToKeepWhyAPodFitsNowhere) {
  std::string said[2];
  for (const bool incremental : {false, true}) {
    const auto simulation = NewSimulation(incremental);
    AddPods(0, 2, *simulation);
    simulation->cluster().Set(NodeWith(0, "open"));
    simulation->RunUntilIdle();
    simulation->Advance(absl::Minutes(5));  // they are placed
    AddPods(2, 4, *simulation);             // and how all nodes score is kept
    ASSERT_EQ(simulation->scheduler().counters().bound, 6);
    simulation->cluster().Set(NodeWith(0, ""));
    for (int change = 0; change < 12; ++change) {  // so many that nobody follows them
      for (int i = 0; i < kNodes; ++i) {
        simulation->cluster().Set(NodeWith(i, change % 2 == 0 ? "other" : "locked"));
      }
      simulation->RunUntilIdle();
    }
    for (int i = 0; i < kNodes; i += 3) simulation->cluster().Set(NodeWith(i, "closed"));
    simulation->RunUntilIdle();

    asked_ = 0;
    AddPods(6, 1, *simulation);
    EXPECT_GE(asked_, kNodes);
    if (incremental) {
      EXPECT_LT(asked_, 2 * kNodes + 100);
    }
    const std::vector<UnboundPod> waiting = simulation->scheduler().Unbound();
    ASSERT_EQ(waiting.size(), 1);
    said[incremental] = waiting.front().message;
    // And what is kept is right: from here on it is followed.
    for (int i = 0; i < kNodes; i += 10) {
      simulation->cluster().Set(NodeWith(i, i % 20 == 0 ? "closed" : "locked"));
      simulation->RunUntilIdle();
      simulation->Advance(absl::Minutes(5));
      absl::StrAppend(&said[incremental], "\n", simulation->scheduler().Unbound().front().message);
    }
  }
  EXPECT_EQ(said[true], said[false]);
  EXPECT_THAT(said[true], ::testing::HasSubstr("100 closed, 200 locked"));
}

// To evaluate the node of a nominated pod takes longer: where they are many, it stops in between.
TEST_F(RejectionCacheTest, NodesOfNominatedPodsAreFilteredInSteps) {
  std::string said[2];
  for (const int64_t work_budget_steps : {0, 1}) {
    const auto simulation = NewSimulation(true, work_budget_steps);
    int stops = 0, attempts = 0;
    simulation->scheduler().ObserveAttempts(
        [&](const AttemptRecord& attempt) { ++(attempt.yielded ? stops : attempts); });
    AddNominatedPods(*simulation);
    AddPods(0, 3, *simulation);
    absl::StrAppend(&said[work_budget_steps], attempts, " attempts\n");
    for (const UnboundPod& pod : simulation->scheduler().Unbound()) {
      absl::StrAppend(&said[work_budget_steps], pod.pod, ": ", pod.message, "\n");
    }
    if (work_budget_steps == 0) {
      EXPECT_EQ(stops, 0);
    } else {
      EXPECT_GT(stops, kNodes / 4);
      for (int i = 0; i < kNodes; i += 2) {
        simulation->cluster().Set(NodeWith(i, i == 200 ? "open" : "other"));
      }
      simulation->RunUntilIdle();
      simulation->Advance(absl::Minutes(5));
      EXPECT_EQ(simulation->scheduler().counters().bound, 3);
    }
  }
  EXPECT_EQ(said[0], said[1]);
}

TEST_F(RejectionCacheTest, AGroupIsTriedAtOnce) {
  const auto simulation =
      NewSimulation(true, 1,
                    "{multiPoint: {enabled: [{name: OnlyOpen}, {name: Coscheduling}]}, queueSort: "
                    "{enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}}");
  AddNominatedPods(*simulation);
  int stops = 0;
  simulation->scheduler().ObserveAttempts(
      [&](const AttemptRecord& attempt) { stops += attempt.yielded; });
  for (int group = 0; group < 3; ++group) {
    const std::string name = absl::StrCat("g", group);
    simulation->cluster().Set(MakeGroup(name, 2));
    for (int i = 0; i < 2; ++i) {
      simulation->cluster().Set(MakePod()
                                    .Name(absl::StrCat(name, "-", i))
                                    .Label("scheduling.x-k8s.io/pod-group", name)
                                    .Object());
    }
    simulation->RunUntilIdle();
  }
  EXPECT_GE(simulation->scheduler().counters().attempts, 3);
  EXPECT_EQ(stops, 0);
  EXPECT_GT(simulation->scheduler().counters().incremental_cycles, 0);
}

// Each time one more of them is to be filtered again than was evaluated.
TEST_F(RejectionCacheTest, TheSearchEndsThoughNodesChange) {
  const auto simulation = NewSimulation(true, 1);
  int stops = 0, attempts = 0, next = 0;
  simulation->scheduler().ObserveAttempts([&](const AttemptRecord& attempt) {
    ++(attempt.yielded ? stops : attempts);
    if (!attempt.yielded || stops > 5'000) return;
    for (int i = 0; i < 2; ++i, next += 2) {
      simulation->cluster().Set(NodeWith(next % kNodes, next / kNodes % 2 == 0 ? "other" : "more"));
    }
  });
  AddNominatedPods(*simulation);
  AddPods(0, 3, *simulation);
  EXPECT_GT(stops, 0);
  EXPECT_LT(stops, 1'000);
  EXPECT_GE(attempts, 3);
}

}  // namespace
}  // namespace berth
