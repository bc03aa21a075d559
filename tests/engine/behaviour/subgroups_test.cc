// SPDX-License-Identifier: Apache-2.0
// Groups with parts that have minima of their own, as a small plugin defines them.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/extensions/group.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/queue_sort.h"
#include "berth/framework/registry.h"
#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

// Pods with a label "gang" are in one group; the label "role" says which part.
class Roles final : public Plugin, public GroupPlugin, public QueueSortPlugin {
 public:
  explicit Roles(GroupSpec spec) : spec_(std::move(spec)) {}

  absl::string_view Name() const override { return "Roles"; }
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override {
    return a.timestamp < b.timestamp;
  }
  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    const Symbol* gang = pod.labels().Find(Symbol::Intern("gang"));
    if (gang == nullptr) return std::nullopt;
    return absl::StrCat("default/", gang->view());
  }
  std::optional<GroupSpec> Spec(absl::string_view) const override { return spec_; }
  int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const override {
    const Symbol* role = pod.labels().Find(Symbol::Intern("role"));
    for (size_t i = 0; role != nullptr && i < spec.subgroups.size(); ++i) {
      if (spec.subgroups[i].name == role->view()) return static_cast<int>(i);
    }
    return -1;
  }
  Status ReadyToSchedule(const GroupMembers& group) const override {
    return static_cast<int>(group.members().size()) >= spec_.min_member
               ? Status::Success()
               : Status::Unschedulable("too few pods");
  }
  Status GroupUnschedulable(const GroupMembers&, int placed, const Status& cause) const override {
    return Status::Make(cause.code(), {absl::StrCat(placed, " can run: ", cause.message())});
  }

 private:
  const GroupSpec spec_;
};

struct Role {
  std::string name;
  int pods = 0;
  int gpus = 1;
};

// Members by role that got a place on a node with so many GPUs.
std::map<std::string, int> StartedOf(const GroupSpec& spec, const std::vector<Role>& roles,
                                     int gpus, std::string* message = nullptr) {
  const Registry registry =
      BuiltinRegistry({{.name = "Roles",
                        .factory = [spec](const PluginArgs&,
                                          Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
                          return std::make_unique<Roles>(spec);
                        }}})
          .value();
  LoadedConfiguration loaded = ParseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Roles}]
      disabled: [{name: PrioritySort}]
)",
                                                  "roles.yaml", registry);
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  std::vector<Object> objects = {MakeGpuNode("n0", gpus)};
  for (const Role& role : roles) {
    for (int i = 0; i < role.pods; ++i) {
      objects.push_back(testing::MakePod()
                            .Name(absl::StrCat(role.name, "-", i))
                            .Namespace("default")
                            .Label("gang", "g")
                            .Label("role", role.name)
                            .Request("nvidia.com/gpu", absl::StrCat(role.gpus))
                            .Object());
    }
  }
  auto simulation = Simulation::Create({.configuration = loaded.configuration,
                                        .registry = &registry,
                                        .objects = std::move(objects)})
                        .value();
  simulation->RunUntilQuiet();
  std::map<std::string, int> placed;
  for (const auto& [pod, node] : simulation->cluster().Bindings()) {
    for (const Role& role : roles) {
      placed[role.name] += static_cast<int>(absl::StartsWith(pod, "default/" + role.name + "-"));
    }
  }
  if (message != nullptr && !simulation->scheduler().Unbound().empty()) {
    *message = simulation->scheduler().Unbound().front().message;
  }
  return placed;
}

// Item 15 (c): at least five, of t1 at least two of six, of t2 two of two.
GroupSpec TwoRoles() {
  GroupSpec spec;
  spec.min_member = 5;
  spec.subgroups = {{.name = "t1", .min_member = 2}, {.name = "t2", .min_member = 2}};
  return spec;
}

TEST(Subgroups, RoomForFiveIsThreeAndTwo) {
  const auto placed = StartedOf(TwoRoles(), {{"t1", 6}, {"t2", 2}}, 5);
  EXPECT_EQ(placed.at("t1"), 3);
  EXPECT_EQ(placed.at("t2"), 2);
}

TEST(Subgroups, OfTooLittleRoomNobodyTakesAny) {
  std::string message;
  EXPECT_TRUE(StartedOf(TwoRoles(), {{"t1", 6}, {"t2", 2}}, 4, &message).empty());
  EXPECT_TRUE(absl::StrContains(message, "No place exists")) << message;
}

// A leader of four GPUs that has no room: no worker starts.
TEST(Subgroups, WithoutItsLeaderNobodyStarts) {
  GroupSpec spec;
  spec.min_member = 3;
  spec.subgroups = {{.name = "leader", .min_member = 1}, {.name = "worker", .min_member = 2}};
  EXPECT_TRUE(StartedOf(spec, {{"leader", 1, 4}, {"worker", 4, 1}}, 3).empty());
  const auto placed = StartedOf(spec, {{"leader", 1, 4}, {"worker", 4, 1}}, 6);
  EXPECT_EQ(placed.at("leader"), 1);
  EXPECT_EQ(placed.at("worker"), 2);
}

// Either part is enough; the other one does not start in half.
TEST(Subgroups, APartThatMissesItsMinimumTakesNothing) {
  GroupSpec spec;
  spec.min_member = 2;
  spec.min_subgroups = 1;
  spec.subgroups = {{.name = "a", .min_member = 3}, {.name = "b", .min_member = 3}};
  const auto placed = StartedOf(spec, {{"a", 3}, {"b", 3}}, 5);
  EXPECT_EQ(placed.at("a"), 3);
  EXPECT_EQ(placed.at("b"), 0);
}

TEST(Subgroups, APartWithoutPodsIsNoMistake) {
  std::string message;
  EXPECT_TRUE(StartedOf(TwoRoles(), {{"t1", 6}}, 8, &message).empty());
  EXPECT_TRUE(absl::StrContains(message, "subgroup")) << message;
}

}  // namespace
}  // namespace berth
