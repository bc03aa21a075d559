// SPDX-License-Identifier: Apache-2.0
// Options that no scheduler can be made of, and a cluster that does not begin.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "berth/simulation.h"
#include "engine/explainer.h"
#include "gmock/gmock.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

const Registry& Builtins() {
  static const Registry& registry = *new Registry(BuiltinRegistry().value());
  return registry;
}

// Delivers what it is told to, and kSynced only when it is told to.
class MuteCluster final : public Cluster {
 public:
  absl::Status Watch(WatchSink& to, const std::vector<Kind>& kinds) override {
    sink = &to;
    watched = kinds;
    return absl::OkStatus();
  }
  void StopWatching() override {}
  absl::Status Bind(const PodBinding&) override { return absl::OkStatus(); }
  absl::StatusOr<std::string> AssignedNode(const Identity&) override { return std::string(); }
  absl::Status Evict(const Identity&, const std::string&) override { return absl::OkStatus(); }
  absl::Status PatchPodStatus(const PodStatusPatch&) override { return absl::OkStatus(); }
  void Record(RecordedEvent) override {}

  WatchSink* sink = nullptr;
  std::vector<Kind> watched;
};

class Options : public ::testing::Test {
 protected:
  SchedulerOptions Good() {
    return {.configuration = DefaultConfiguration(Builtins()),
            .registry = &Builtins(),
            .cluster = &cluster_,
            .clock = &clock_,
            .executor = &executor_};
  }

  MuteCluster cluster_;
  SimulatedClock clock_{absl::UnixEpoch()};
  InlineExecutor executor_;
};

TEST_F(Options, EachWrongOneIsNamedInASentence) {
  EXPECT_TRUE(Scheduler::Create(Good()).ok());
  const struct {
    std::string want;
    std::function<void(SchedulerOptions&)> spoil;
  } cases[] = {
      {"SchedulerOptions::registry is null", [](auto& o) { o.registry = nullptr; }},
      {"SchedulerOptions::cluster is null", [](auto& o) { o.cluster = nullptr; }},
      {"SchedulerOptions::clock is null", [](auto& o) { o.clock = nullptr; }},
      {"SchedulerOptions::executor is null", [](auto& o) { o.executor = nullptr; }},
      {"SchedulerOptions::configuration has no profile",
       [](auto& o) { o.configuration.profiles.clear(); }},
      {"profiles[0] has no scheduler_name",
       [](auto& o) { o.configuration.profiles[0].scheduler_name = ""; }},
      {"profiles[1] has the scheduler_name \"default-scheduler\"",
       [](auto& o) { o.configuration.profiles.push_back(o.configuration.profiles[0]); }},
      {"profiles[0].percentage_of_nodes_to_score is 101",
       [](auto& o) { o.configuration.profiles[0].percentage_of_nodes_to_score = 101; }},
      {"configuration.percentage_of_nodes_to_score is -1",
       [](auto& o) { o.configuration.percentage_of_nodes_to_score = -1; }},
      {"pod_initial_backoff_seconds is 0; it must be positive",
       [](auto& o) { o.configuration.pod_initial_backoff_seconds = 0; }},
      {"pod_max_backoff_seconds is 0, less than pod_initial_backoff_seconds, which is 1",
       [](auto& o) { o.configuration.pod_max_backoff_seconds = 0; }},
      {"filter_block_size is -1", [](auto& o) { o.filter_block_size = -1; }},
      {"group_search_steps is -1", [](auto& o) { o.group_search_steps = -1; }},
      {"work_budget_steps is -1", [](auto& o) { o.work_budget_steps = -1; }},
      {"slow_plugin_call is -1s", [](auto& o) { o.slow_plugin_call = -absl::Seconds(1); }},
      {"ElsewherePlugin",
       [](auto& o) {
         o.configuration.profiles[0].multi_point.enabled.push_back({.name = "ElsewherePlugin"});
       }},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.want);
    SchedulerOptions options = Good();
    c.spoil(options);
    const absl::Status refused = Scheduler::Create(std::move(options)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(c.want));
  }
}

std::vector<Kind> WithPodsAndNodes(std::set<Kind> kinds) {
  kinds.insert({Kind::kPod, Kind::kNode});
  return {kinds.begin(), kinds.end()};
}

TEST_F(Options, TheClusterIsAskedForTheKindsThatEnabledPluginsLookAt) {
  SchedulerOptions options = Good();
  Profile& profile = options.configuration.profiles[0];
  const auto watched = [&] {
    EXPECT_TRUE(Scheduler::Create(options).ok());
    return cluster_.watched;
  };
  EXPECT_THAT(watched(), IsSupersetOf({Kind::kPod, Kind::kNode, Kind::kNamespace, Kind::kService,
                                       Kind::kPodDisruptionBudget, Kind::kCSIStorageCapacity}));
  EXPECT_THAT(watched(), Not(Contains(AnyOf(Kind::kElasticQuota, Kind::kPodGroup, Kind::kLease,
                                            Kind::kPriorityClass, Kind::kDevice))));

  const std::map<std::string, std::set<Kind>> kinds_of = {
      {"NodeName", {}},
      {"InterPodAffinity", {Kind::kNamespace}},
      {"PodTopologySpread",
       {Kind::kService, Kind::kReplicationController, Kind::kReplicaSet, Kind::kStatefulSet}},
      {"Coscheduling",
       {Kind::kPodGroup, Kind::kVolcanoPodGroup, Kind::kKubernetesPodGroup,
        Kind::kCompositePodGroup, Kind::kAlphaWorkload, Kind::kPriorityClass}},
      {"CapacityScheduling",
       {Kind::kElasticQuota, Kind::kClusterQuota, Kind::kNamespace, Kind::kPodDisruptionBudget,
        Kind::kResourceClaim, Kind::kResourceSlice, Kind::kDeviceClass}},
      {"PreemptionToleration", {Kind::kPriorityClass, Kind::kPodDisruptionBudget}},
      {"GpuPacking", {Kind::kDevice}},
  };
  for (const auto& [plugin, kinds] : kinds_of) {
    SCOPED_TRACE(plugin);
    profile.multi_point.enabled.clear();
    profile.multi_point.enabled.push_back({.name = "DefaultBinder"});
    if (plugin != "Coscheduling") profile.multi_point.enabled.push_back({.name = "PrioritySort"});
    profile.multi_point.enabled.push_back({.name = plugin});
    EXPECT_EQ(watched(), WithPodsAndNodes(kinds));
  }
}

TEST_F(Options, AllThatIsWrongIsSaidAtOnce) {
  const absl::Status refused = Scheduler::Create({}).status();
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("registry is null"), HasSubstr("cluster is null"), HasSubstr("clock is null"),
            HasSubstr("executor is null"), HasSubstr("configuration has no profile")));
}

TEST_F(Options, ASimulationAndAnExplanationRefuseThemToo) {
  EXPECT_THAT(std::string(Simulation::Create({}).status().message()),
              AllOf(HasSubstr("registry is null"), HasSubstr("no profile")));
  Problems problems;
  EXPECT_EQ(Explainer::Create({}, Builtins(), clock_, {}, problems), nullptr);
  EXPECT_THAT(problems.ToString(), HasSubstr("the configuration has no profile"));
}

TEST_F(Options, AClusterThatNeverSendsSyncedIsNamedOnce) {
  std::vector<std::string> said;
  SchedulerOptions options = Good();
  options.warn = [&](absl::string_view sentence) { said.emplace_back(sentence); };
  const auto scheduler = Scheduler::Create(std::move(options)).value();
  cluster_.sink->DeliverOne({WatchEvent::Type::kSet, CpuNode("n0", "4").Object()});
  scheduler->RunUntilIdle();
  EXPECT_EQ(scheduler->NextDue(), clock_.Now() + absl::Seconds(30));
  clock_.Advance(absl::Seconds(29));
  scheduler->RunUntilIdle();
  EXPECT_THAT(said, IsEmpty());
  clock_.Advance(absl::Seconds(1));
  scheduler->RunUntilIdle();
  clock_.Advance(absl::Hours(1));
  scheduler->RunUntilIdle();
  EXPECT_THAT(said, ElementsAre("the cluster backend has not sent kSynced for 30s, after 1 event; "
                                "nothing is scheduled until it does"));
}

TEST_F(Options, AClusterThatSendsSyncedInTimeIsNot) {
  std::vector<std::string> said;
  SchedulerOptions options = Good();
  options.warn = [&](absl::string_view sentence) { said.emplace_back(sentence); };
  const auto scheduler = Scheduler::Create(std::move(options)).value();
  cluster_.sink->DeliverOne({WatchEvent::Type::kSynced, std::nullopt});
  scheduler->RunUntilIdle();
  EXPECT_EQ(scheduler->NextDue(), absl::InfiniteFuture());
  clock_.Advance(absl::Hours(1));
  scheduler->RunUntilIdle();
  EXPECT_THAT(said, IsEmpty());
}

}  // namespace
}  // namespace berth
