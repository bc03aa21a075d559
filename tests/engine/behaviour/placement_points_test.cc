// SPDX-License-Identifier: Apache-2.0
// The placement extension points, as a plugin of somebody else has them.
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/columns/node_table.h"
#include "berth/framework/placement.h"
#include "berth/framework/plugin.h"
#include "berth/framework/registry.h"
#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a test makes of each point; placements are the nodes with each value of a label.
struct Script {
  std::string label = "half";
  std::function<Status(const NodePlacement&, const PlacementProgress&)> feasible;
  std::function<absl::StatusOr<int64_t>(const NodePlacement&, const PlacementAssignments&)> score;
  NodeRow extra_row = -1;          // in each placement
  std::vector<std::string> asked;  // "a 0/2": scheduled and remaining
};

class Generates : public Plugin, public PlacementGeneratePlugin {
 public:
  Generates(std::string name, Script& script) : name_(std::move(name)), script_(script) {}
  absl::string_view Name() const override { return name_; }
  Status GeneratePlacements(const PlacementGroup& group, const NodeTable& nodes,
                            PlacementTiers& tiers) override {
    EXPECT_EQ(group.name, "default/g");
    std::map<std::string, std::shared_ptr<NodePlacement>> by_value;
    const LabelColumn& column = nodes.label_column(Symbol::Intern(script_.label));
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      const LabelValue& value = column.values()[column.index(row)];
      if (!value.present) continue;
      auto& placement = by_value[std::string(value.value.view())];
      if (placement == nullptr) placement = std::make_shared<NodePlacement>();
      placement->name = std::string(value.value.view());
      placement->rows.push_back(row);
    }
    auto tier = std::make_shared<PlacementTier>();
    tier->name = script_.label;
    for (auto& [value, placement] : by_value) {
      if (script_.extra_row >= 0) placement->rows.push_back(script_.extra_row);
      tier->placements.push_back(std::move(placement));
    }
    tiers.push_back(std::move(tier));
    return Status::Success();
  }

 protected:
  const std::string name_;
  Script& script_;
};

class AllPoints final : public Generates,
                        public PlacementFeasiblePlugin,
                        public PlacementScorePlugin {
 public:
  using Generates::Generates;
  Status PlacementFeasible(const PlacementGroup&, const NodePlacement& placement,
                           const PlacementProgress& progress, const NodeTable&) const override {
    script_.asked.push_back(
        absl::StrCat(placement.name, " ", progress.scheduled, "/", progress.remaining));
    return script_.feasible ? script_.feasible(placement, progress) : Status::Wait();
  }
  absl::StatusOr<int64_t> ScorePlacement(const PlacementGroup&, const NodePlacement& placement,
                                         const PlacementAssignments& assignments,
                                         const NodeTable&) const override {
    return script_.score(placement, assignments);
  }
};

template <class T>
PluginRegistration Register(const std::string& name, Script& script) {
  return {.name = name,
          .factory = [name, &script](const PluginArgs&,
                                     Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
            return std::make_unique<T>(name, script);
          }};
}

class PlacementPoints : public ::testing::Test {
 protected:
  // Nodes by name, half, side and GPUs; a gang of so many members with one GPU each.
  struct TestNode {
    std::string name, half, side;
    int gpus;
  };
  void Run(std::vector<PluginRegistration> plugins, const std::string& points,
           const std::vector<TestNode>& nodes, int members) {
    const Registry registry = BuiltinRegistry(std::move(plugins)).value();
    LoadedConfiguration loaded = ParseConfiguration(absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Coscheduling}]
      disabled: [{name: PrioritySort}]
)",
                                                                 points),
                                                    "points.yaml", registry);
    ASSERT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
    std::vector<Object> objects = {MakeGroup("g", members)};
    for (const TestNode& node : nodes) {
      objects.push_back(testing::MakeNode()
                            .Name(node.name)
                            .Label("half", node.half)
                            .Label("side", node.side)
                            .Allocatable("cpu", "8")
                            .Allocatable("nvidia.com/gpu", absl::StrCat(node.gpus))
                            .Object());
    }
    for (int i = 0; i < members; ++i) {
      objects.push_back(MakeGpuPod(absl::StrCat("g-", i), 1, "g"));
    }
    auto simulation = Simulation::Create({.configuration = loaded.configuration,
                                          .registry = &registry,
                                          .objects = std::move(objects)})
                          .value();
    simulation->RunUntilIdle();
    for (const auto& [pod, node] : simulation->cluster().Bindings()) bound_.push_back(node);
    for (const UnboundPod& pod : simulation->scheduler().Unbound()) why_ = pod.message;
  }

  std::vector<std::string> bound_;  // nodes
  std::string why_;
};

constexpr char kGenerate[] = R"(    placementGenerate: {enabled: [{name: Halves}]}
)";
constexpr char kAllPoints[] = R"(    placementGenerate: {enabled: [{name: Halves}]}
    placementFeasible: {enabled: [{name: Halves}]}
    placementScore: {enabled: [{name: Halves, weight: 3}]}
)";

TEST_F(PlacementPoints, AGroupIsWithinOnePlacement) {
  Script script;
  Run({Register<Generates>("Halves", script)}, kGenerate,
      {{"n0", "a", "x", 1}, {"n1", "b", "x", 1}, {"n2", "b", "x", 1}}, 2);
  EXPECT_THAT(bound_, ElementsAre("n1", "n2"));
}

TEST_F(PlacementPoints, WithoutOneItWaitsAndSaysWhy) {
  Script script;
  Run({Register<Generates>("Halves", script)}, kGenerate,
      {{"n0", "a", "x", 1}, {"n1", "b", "x", 1}}, 2);
  EXPECT_THAT(bound_, ElementsAre());
  EXPECT_THAT(why_, HasSubstr("No place exists: 2 members need 2 nvidia.com/gpu in one half; the "
                              "best, a, has 1 free, room for 1."));
}

TEST_F(PlacementPoints, WhatSeveralPluginsSayIsIntersected) {
  Script halves, sides{.label = "side"};
  Run({Register<Generates>("Halves", halves), Register<Generates>("Sides", sides)},
      "    placementGenerate: {enabled: [{name: Halves}, {name: Sides}]}\n",
      {{"n0", "a", "x", 2},
       {"n1", "a", "y", 2},
       {"n2", "b", "x", 2},
       {"n3", "b", "y", 1},
       {"n4", "b", "x", 1}},
      3);
  EXPECT_THAT(bound_, ::testing::UnorderedElementsAre("n2", "n2", "n4"));
}

// Without a score it were the tighter one.
TEST_F(PlacementPoints, TheHighestScoreWins) {
  Script script;
  script.score = [](const NodePlacement& placement,
                    const PlacementAssignments& assignments) -> absl::StatusOr<int64_t> {
    EXPECT_EQ(assignments.pods.size(), 2);
    return placement.name == "b" ? 70 : 30;
  };
  Run({Register<AllPoints>("Halves", script)}, kAllPoints,
      {{"n0", "a", "x", 2}, {"n1", "b", "x", 4}, {"n2", "c", "x", 3}}, 2);
  EXPECT_THAT(bound_, ElementsAre("n1", "n1"));
}

TEST_F(PlacementPoints, AScoreOutOfRangeIsTheError) {
  Script script;
  script.score = [](const NodePlacement&, const PlacementAssignments&) { return 101; };
  Run({Register<AllPoints>("Halves", script)}, kAllPoints, {{"n0", "a", "x", 2}}, 2);
  EXPECT_THAT(bound_, ElementsAre());
  EXPECT_THAT(why_, HasSubstr("running PlacementScore plugin \"Halves\": the score of a is 101"));
}

TEST_F(PlacementPoints, AnInfeasiblePlacementIsGivenUp) {
  Script script;
  script.score = [](const NodePlacement&, const PlacementAssignments&) { return 1; };
  script.feasible = [](const NodePlacement& placement, const PlacementProgress& progress) {
    if (placement.name == "a" && progress.scheduled == 1) {
      return Status::Unschedulable("not here");
    }
    return progress.scheduled == 2 ? Status::Success() : Status::Wait();
  };
  Run({Register<AllPoints>("Halves", script)}, kAllPoints,
      {{"n0", "a", "x", 2}, {"n1", "b", "x", 3}}, 2);
  EXPECT_THAT(bound_, ElementsAre("n1", "n1"));
  ASSERT_GE(script.asked.size(), 5);
  script.asked.resize(5);
  EXPECT_THAT(script.asked, ElementsAre("a 0/2", "a 1/1", "b 0/2", "b 1/1", "b 2/0"));
}

TEST_F(PlacementPoints, RowsThatDoNotExistAreAnError) {
  Script script;
  script.extra_row = 7;
  Run({Register<Generates>("Halves", script)}, kGenerate, {{"n0", "a", "x", 2}}, 2);
  EXPECT_THAT(bound_, ElementsAre());
  EXPECT_THAT(why_, HasSubstr("nodes that do not exist"));
}

TEST_F(PlacementPoints, APluginThatThrowsFailsTheGroupAlone) {
  Script script;
  script.score = [](const NodePlacement&, const PlacementAssignments&) -> absl::StatusOr<int64_t> {
    throw std::runtime_error("lost");
  };
  Run({Register<AllPoints>("Halves", script)}, kAllPoints, {{"n0", "a", "x", 2}}, 2);
  EXPECT_THAT(bound_, ElementsAre());
  EXPECT_THAT(why_, HasSubstr("Halves"));
}

}  // namespace
}  // namespace berth
