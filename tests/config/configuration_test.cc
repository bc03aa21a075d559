// SPDX-License-Identifier: Apache-2.0
// Reading of whole configurations. What is wrong with a file, and how that is said, stands in
// problems/: each NAME.yaml there gives exactly the lines of NAME.txt.
#include "berth/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/config/fake_registry.h"

namespace berth {
namespace {

constexpr absl::string_view kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

KubeSchedulerConfiguration Read(absl::string_view body) {
  const LoadedConfiguration loaded =
      ParseConfiguration(absl::StrCat(kHead, body), "test.yaml", FakeRegistry());
  EXPECT_TRUE(loaded.problems.empty()) << loaded.problems.ToString();
  return loaded.configuration;
}

std::string Names(const PluginSet& set) {
  return absl::StrJoin(set.enabled, " ", [](std::string* out, const PluginEntry& entry) {
    absl::StrAppend(out, entry.name, entry.weight == 0 ? "" : absl::StrCat(":", entry.weight));
  });
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Configuration, Problems) {
  const bool update = std::getenv("BERTH_UPDATE_GOLDEN") != nullptr;
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/config/problems")) {
    if (entry.path().extension() == ".yaml") files.insert(entry.path());
  }
  ASSERT_GE(files.size(), 10u);
  for (const std::filesystem::path& file : files) {
    const std::string name = file.filename().string();
    const LoadedConfiguration loaded = ParseConfiguration(ReadFile(file), name, FakeRegistry());
    const std::string got = loaded.problems.ToString();
    std::filesystem::path golden = file;
    golden.replace_extension(".txt");
    if (update) std::ofstream(golden, std::ios::binary) << got;
    EXPECT_EQ(got, ReadFile(golden))
        << "of " << name << "; to accept it, run with BERTH_UPDATE_GOLDEN=1";
    EXPECT_FALSE(got.empty()) << name;
    EXPECT_FALSE(loaded.configuration.profiles.empty()) << name;
  }
}

TEST(Configuration, NothingGivenIsTheDefaults) {
  const std::string defaults = ConfigurationToYaml(DefaultConfiguration(FakeRegistry()));
  for (const absl::string_view body :
       {"", "profiles: []", "profiles: [{}]", "profiles: [{schedulerName: default-scheduler}]",
        "profiles:\nextenders: []\nleaderElection: {}\nparallelism: ~",
        "leaderElection: {leaseDuration: 0s, resourceLock: ''}\nclientConnection: {qps: 0, burst: "
        "0}",
        "profiles: [{plugins: {multiPoint: {}, score: {enabled: []}}, pluginConfig: []}]"}) {
    EXPECT_EQ(ConfigurationToYaml(Read(body)), defaults) << body;
  }
}

TEST(Configuration, Defaults) {
  const KubeSchedulerConfiguration configuration = DefaultConfiguration(FakeRegistry());
  EXPECT_EQ(configuration.parallelism, 16);
  EXPECT_TRUE(configuration.leader_election.leader_elect);
  EXPECT_EQ(configuration.leader_election.lease_duration, absl::Seconds(15));
  EXPECT_EQ(configuration.leader_election.renew_deadline, absl::Seconds(10));
  EXPECT_EQ(configuration.leader_election.retry_period, absl::Seconds(2));
  EXPECT_EQ(configuration.leader_election.resource_lock, "leases");
  EXPECT_EQ(configuration.leader_election.resource_name, "kube-scheduler");
  EXPECT_EQ(configuration.leader_election.resource_namespace, "kube-system");
  EXPECT_EQ(configuration.client_connection.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(configuration.client_connection.qps, 50);
  EXPECT_EQ(configuration.client_connection.burst, 100);
  EXPECT_TRUE(configuration.enable_profiling);
  EXPECT_TRUE(configuration.enable_contention_profiling);
  EXPECT_EQ(configuration.percentage_of_nodes_to_score, 0);
  EXPECT_EQ(configuration.pod_initial_backoff_seconds, 1);
  EXPECT_EQ(configuration.pod_max_backoff_seconds, 10);
  EXPECT_FALSE(configuration.delay_cache_until_active);
  ASSERT_EQ(configuration.profiles.size(), 1u);
  EXPECT_EQ(configuration.profiles[0].scheduler_name, "default-scheduler");
  EXPECT_FALSE(configuration.profiles[0].percentage_of_nodes_to_score.has_value());
  EXPECT_EQ(configuration.profiles[0].multi_point.enabled.size(), 19u);
  EXPECT_THAT(configuration.profiles[0].args, testing::IsEmpty());
}

TEST(Configuration, FieldsAreRead) {
  const KubeSchedulerConfiguration configuration = Read(R"(
parallelism: 4
leaderElection: {leaderElect: false, leaseDuration: 1m, resourceName: berth}
clientConnection: {kubeconfig: /etc/berth/kubeconfig, qps: 0.5, burst: 7}
enableProfiling: false
percentageOfNodesToScore: 40
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 2
delayCacheUntilActive: true
profiles:
- schedulerName: a
  percentageOfNodesToScore: 100
  plugins:
    multiPoint:
      enabled: [{name: Gang}, {name: NodeAffinity, weight: 7}]
      disabled: [{name: PrioritySort}]
    score:
      enabled: [{name: Pack, weight: 5}]
      disabled: [{name: '*'}]
  pluginConfig:
  - name: Gang
    args: {waitSeconds: 5}
- schedulerName: b
)");
  EXPECT_EQ(configuration.parallelism, 4);
  EXPECT_FALSE(configuration.leader_election.leader_elect);
  EXPECT_EQ(configuration.leader_election.lease_duration, absl::Minutes(1));
  EXPECT_EQ(configuration.leader_election.renew_deadline, absl::Seconds(10));
  EXPECT_EQ(configuration.leader_election.resource_name, "berth");
  EXPECT_EQ(configuration.client_connection.kubeconfig, "/etc/berth/kubeconfig");
  EXPECT_EQ(configuration.client_connection.qps, 0.5);
  EXPECT_EQ(configuration.client_connection.burst, 7);
  EXPECT_FALSE(configuration.enable_profiling);
  EXPECT_FALSE(configuration.enable_contention_profiling) << "follows enableProfiling";
  EXPECT_EQ(configuration.percentage_of_nodes_to_score, 40);
  EXPECT_EQ(configuration.pod_initial_backoff_seconds, 2);
  EXPECT_EQ(configuration.pod_max_backoff_seconds, 2);
  EXPECT_TRUE(configuration.delay_cache_until_active);

  ASSERT_EQ(configuration.profiles.size(), 2u);
  const Profile& a = configuration.profiles[0];
  EXPECT_EQ(a.scheduler_name, "a");
  EXPECT_EQ(a.percentage_of_nodes_to_score, 100);
  EXPECT_EQ(Names(a.multi_point),
            "SchedulingGates NodeUnschedulable NodeName TaintToleration:3 NodeAffinity:7 NodePorts "
            "NodeResourcesFit:1 VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone "
            "PodTopologySpread:2 InterPodAffinity:2 DynamicResources:2 DefaultPreemption "
            "NodeResourcesBalancedAllocation:1 ImageLocality:1 DefaultBinder Gang");
  EXPECT_EQ(Names(a.at(ExtensionPoint::kScore)), "Pack:5");
  EXPECT_EQ(a.at(ExtensionPoint::kScore).disabled[0].name, "*");
  EXPECT_EQ(a.at(ExtensionPoint::kScore).enabled[0].where.ToString(), "test.yaml:20:17");
  EXPECT_EQ(Names(a.at(ExtensionPoint::kFilter)), "");
  EXPECT_EQ(a.args.at("Gang").As<GangArgs>().wait_seconds, 5);
  EXPECT_EQ(a.args.at("Gang").As<GangArgs>().reject_percentage, 10);
  EXPECT_EQ(a.args.at("Pack").As<PackArgs>().nodes, 100) << "enabled, so defaulted";
  EXPECT_EQ(configuration.profiles[1].scheduler_name, "b");
  EXPECT_THAT(configuration.profiles[1].args, testing::IsEmpty());
}

TEST(Configuration, JsonIsReadToo) {
  const LoadedConfiguration loaded = ParseConfiguration(
      R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
          "profiles":[{"schedulerName":"json"}]})",
      "test.json", FakeRegistry());
  EXPECT_TRUE(loaded.problems.empty()) << loaded.problems.ToString();
  EXPECT_EQ(loaded.configuration.profiles[0].scheduler_name, "json");
}

TEST(Configuration, ExtendersAreRead) {
  const LoadedConfiguration loaded = ParseConfiguration(absl::StrCat(kHead, R"(
extenders:
- urlPrefix: https://gpu.example.com/scheduler
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 3
  enableHTTPS: true
  tlsConfig: {serverName: gpu, caData: Y2VydA==}
  httpTimeout: 0s
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]
)"),
                                                        "test.yaml", FakeRegistry());
  EXPECT_TRUE(loaded.problems.ok());
  EXPECT_EQ(loaded.problems.ToString(), "");
  ASSERT_EQ(loaded.configuration.extenders.size(), 1u);
  const Extender& extender = loaded.configuration.extenders[0];
  EXPECT_EQ(extender.url_prefix, "https://gpu.example.com/scheduler");
  EXPECT_EQ(extender.weight, 3);
  EXPECT_EQ(extender.tls_config->ca_data, "cert");
  EXPECT_EQ(extender.http_timeout, absl::Seconds(5));
  EXPECT_TRUE(extender.managed_resources[0].ignored_by_scheduler);

  const std::string yaml = ConfigurationToYaml(loaded.configuration);
  EXPECT_EQ(ConfigurationToYaml(ParseConfiguration(yaml, "", FakeRegistry()).configuration), yaml);
}

TEST(Configuration, WrittenOutItReadsBackTheSame) {
  for (const absl::string_view body :
       {"", "profiles: [{schedulerName: 'yes', percentageOfNodesToScore: 3}, {schedulerName: b}]",
        "profiles: [{plugins: {multiPoint: {enabled: [{name: Pack, weight: 2}], disabled: [{name: "
        "'*'}]}, filter: {disabled: [{name: NodeName}]}}, pluginConfig: [{name: Pack, args: "
        "{mode: Least, byName: {'a b': {name: 'x: y'}}}}]}]"}) {
    const std::string yaml = ConfigurationToYaml(Read(body));
    const LoadedConfiguration again = ParseConfiguration(yaml, "", FakeRegistry());
    EXPECT_TRUE(again.problems.empty()) << again.problems.ToString();
    EXPECT_EQ(ConfigurationToYaml(again.configuration), yaml);
  }
}

TEST(Configuration, FilesThatCannotBeRead) {
  const LoadedConfiguration missing = LoadConfigurationFile("tests/no-such.yaml", FakeRegistry());
  EXPECT_EQ(missing.problems.ToString(),
            "tests/no-such.yaml: error: cannot be read: No such file or directory\n");
  const LoadedConfiguration folder = LoadConfigurationFile("tests/config", FakeRegistry());
  EXPECT_EQ(folder.problems.ToString(), "tests/config: error: cannot be read: is a folder\n");
  EXPECT_FALSE(LoadConfigurationFile("/dev/null", FakeRegistry()).problems.ok());
}

}  // namespace
}  // namespace berth
