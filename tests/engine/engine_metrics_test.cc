// SPDX-License-Identifier: Apache-2.0
// What a scheduler tells its metrics while pods come, wait, preempt and are bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "metrics/scheduler_metrics.h"
#include "process/metrics_text.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

// The value of a series, as the text shows it; -1 if it is not there.
double ValueIn(const std::string& text, const std::string& series) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    double value = 0;
    if (absl::StartsWith(line, series + " ") &&
        absl::SimpleAtod(line.substr(series.size() + 1), &value)) {
      return value;
    }
  }
  return -1;
}

// A scheduler over an in-memory cluster, and what its metrics say.
class MetricsOfScheduler : public ::testing::Test {
 protected:
  void Start(KubeSchedulerConfiguration configuration) {
    auto created = Scheduler::Create({.configuration = std::move(configuration),
                                      .registry = &registry_,
                                      .cluster = &cluster_,
                                      .clock = &clock_,
                                      .executor = &executor_,
                                      .metrics = &metrics_});
    EXPECT_TRUE(created.ok()) << created.status();
    scheduler_ = *std::move(created);
  }
  double Value(const std::string& series) { return ValueIn(MetricsText(metrics_.list()), series); }

  const Registry registry_ = *BuiltinRegistry();
  SchedulerMetrics metrics_;
  SimulatedClock clock_{absl::UnixEpoch() + absl::Hours(24)};
  InlineExecutor executor_;
  InMemoryCluster cluster_{clock_};
  std::unique_ptr<Scheduler> scheduler_;
};

class EngineMetricsTest : public MetricsOfScheduler {
 protected:
  EngineMetricsTest() { Start(DefaultConfiguration(registry_)); }
};

TEST_F(EngineMetricsTest, CountsAttemptsAndShowsTheQueue) {
  cluster_.Set(CpuNode("n", "4").Object());
  cluster_.Set(CpuPod("a", "1").Object());
  cluster_.Set(CpuPod("b", "1").Created(clock_.Now() - absl::Seconds(30)).Object());
  cluster_.Set(CpuPod("large", "100").Created(clock_.Now() - absl::Seconds(70)).Object());
  cluster_.Set(CpuPod("gated", "1").SchedulingGate("example.com/g").Object());
  scheduler_->RunUntilIdle();
  const std::string profile = "profile=\"default-scheduler\"";
  EXPECT_EQ(Value("scheduler_schedule_attempts_total{" + profile + ",result=\"scheduled\"}"), 2);
  EXPECT_EQ(Value("scheduler_schedule_attempts_total{" + profile + ",result=\"unschedulable\"}"),
            1);
  EXPECT_EQ(Value("scheduler_scheduling_attempt_duration_seconds_count{" + profile +
                  ",result=\"scheduled\"}"),
            2);
  EXPECT_EQ(Value("scheduler_scheduling_algorithm_duration_seconds_count"), 3);
  EXPECT_EQ(Value("scheduler_pod_scheduling_attempts_bucket{le=\"1\"}"), 2);
  EXPECT_EQ(Value("scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"1\"}"), 2);
  EXPECT_EQ(Value("scheduler_pending_pods{queue=\"active\"}"), 0);
  EXPECT_EQ(Value("scheduler_pending_pods{queue=\"unschedulable\"}"), 1);
  EXPECT_EQ(Value("scheduler_pending_pods{queue=\"gated\"}"), 1);
  EXPECT_EQ(Value("berth_oldest_pending_pod_seconds{queue=\"unschedulable\"}"), 70);
  EXPECT_EQ(Value("scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\"," + profile + "}"), 1);
  EXPECT_EQ(Value("scheduler_unschedulable_pods{plugin=\"SchedulingGates\"," + profile + "}"), 1);
  EXPECT_EQ(Value("scheduler_queue_incoming_pods_total{event=\"UnschedulablePodAdd\",queue="
                  "\"active\"}"),
            3);
  EXPECT_EQ(Value("scheduler_queue_incoming_pods_total{event=\"UnschedulablePodAdd\",queue="
                  "\"unschedulable\"}"),
            1);
  EXPECT_EQ(Value("scheduler_queue_incoming_pods_total{event=\"ScheduleAttemptFailure\",queue="
                  "\"unschedulable\"}"),
            1);
  EXPECT_EQ(Value("scheduler_cache_size{type=\"nodes\"}"), 1);
  EXPECT_EQ(Value("scheduler_cache_size{type=\"pods\"}"), 2);
  EXPECT_EQ(Value("scheduler_event_handling_duration_seconds_count{event=\"NodeAdd\"}"), 1);
  EXPECT_EQ(Value("scheduler_event_handling_duration_seconds_count{event=\"UnschedulablePodAdd\"}"),
            4);
  EXPECT_EQ(Value("scheduler_framework_extension_point_duration_seconds_count{extension_point="
                  "\"Bind\"," +
                  profile + ",status=\"Success\"}"),
            2);
  EXPECT_EQ(Value("scheduler_framework_extension_point_duration_seconds_count{extension_point="
                  "\"PreBindPreFlight\"," +
                  profile + ",status=\"Skip\"}"),
            2);
  EXPECT_EQ(Value("scheduler_framework_extension_point_duration_seconds_count{extension_point="
                  "\"PostFilter\"," +
                  profile + ",status=\"Unschedulable\"}"),
            1);
  EXPECT_EQ(Value("scheduler_preemption_attempts_total"), 1);
  EXPECT_EQ(Value("berth_bind_failures_total"), 0);

  // What requeues a pod is told, and what it waited for is not shown any more.
  cluster_.Set(CpuNode("m", "200").Object());
  clock_.Advance(absl::Seconds(20));
  scheduler_->RunUntilIdle();
  EXPECT_EQ(Value("scheduler_queue_incoming_pods_total{event=\"NodeAdd\",queue=\"active\"}"), 1);
  EXPECT_EQ(Value("scheduler_pod_scheduling_attempts_bucket{le=\"2\"}"), 3);
  EXPECT_EQ(Value("scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\"," + profile + "}"), 0);
  EXPECT_EQ(Value("scheduler_pending_pods{queue=\"unschedulable\"}"), 0);
  EXPECT_EQ(Value("berth_oldest_pending_pod_seconds{queue=\"unschedulable\"}"), 0);
}

// What a scheduler with CapacityScheduling shows of quotas.
class QuotaMetricsTest : public MetricsOfScheduler {
 protected:
  QuotaMetricsTest() {
    KubeSchedulerConfiguration configuration = DefaultConfiguration(registry_);
    configuration.profiles[0].multi_point.enabled.push_back({.name = "CapacityScheduling"});
    // A second profile shares the quotas.
    configuration.profiles.push_back(configuration.profiles[0]);
    configuration.profiles[1].scheduler_name = "other";
    Start(std::move(configuration));
  }
  void Apply(absl::string_view manifest) {
    for (Object& object : berth::testing::ObjectsFromYaml(manifest))
      cluster_.Set(std::move(object));
    clock_.Advance(absl::Seconds(2));
    scheduler_->RunUntilIdle();
  }
  double Value(const std::string& quota, const std::string& resource, const std::string& type) {
    return MetricsOfScheduler::Value(absl::StrCat("berth_quota_resource{quota=\"", quota,
                                                  "\",resource=\"", resource, "\",type=\"", type,
                                                  "\"}"));
  }
};

TEST_F(QuotaMetricsTest, AreThoseOfElasticQuotas) {
  cluster_.Set(CpuNode("n", "8").Object());
  cluster_.Set(CpuPod("a", "1500m").Object());
  Apply(R"(
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: q, namespace: default}
spec: {min: {cpu: 2, memory: 1Gi}, max: {cpu: 3500m, nvidia.com/gpu: 4}}
)");
  EXPECT_EQ(Value("default/q", "cpu", "min"), 2);
  EXPECT_EQ(Value("default/q", "cpu", "max"), 3.5);
  EXPECT_EQ(Value("default/q", "cpu", "used"), 1.5);
  EXPECT_EQ(Value("default/q", "memory", "min"), 1 << 30);
  EXPECT_EQ(Value("default/q", "memory", "max"), -1) << "no bound is not shown";
  EXPECT_EQ(Value("default/q", "nvidia.com/gpu", "min"), -1);
  EXPECT_EQ(Value("default/q", "nvidia.com/gpu", "max"), 4);
  EXPECT_EQ(Value("default/q", "nvidia.com/gpu", "used"), 0);

  // A bound goes, and a pod.
  cluster_.Delete(Kind::kPod, "default/a");
  Apply(R"(
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: q, namespace: default}
spec: {min: {cpu: 2}}
)");
  EXPECT_EQ(Value("default/q", "cpu", "max"), -1);
  EXPECT_EQ(Value("default/q", "cpu", "used"), 0);
  EXPECT_EQ(Value("default/q", "memory", "used"), -1);
}

TEST_F(QuotaMetricsTest, AreThoseOfATree) {
  cluster_.Set(CpuNode("n", "8").Object());
  cluster_.Set(CpuPod("a", "1").Label("scheduling.berth.dev/quota", "team").Object());
  Apply(R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: all}
spec: {min: {cpu: 6}}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: team}
spec: {parent: all, min: {cpu: 2}, max: {cpu: 4, pods: 10}}
)");
  EXPECT_EQ(Value("team", "cpu", "min"), 2);
  EXPECT_EQ(Value("team", "cpu", "max"), 4);
  EXPECT_EQ(Value("team", "cpu", "used"), 1);
  EXPECT_EQ(Value("team", "pods", "max"), 10);
  EXPECT_EQ(Value("team", "pods", "used"), 1);
  EXPECT_EQ(Value("all", "cpu", "used"), 1);
  EXPECT_EQ(Value("all", "pods", "used"), -1) << "it does not name them";
  EXPECT_EQ(Value("", "cpu", "min"), 6) << "what all together are guaranteed";
  EXPECT_EQ(Value("", "cpu", "max"), 8) << "and what the nodes have";
  EXPECT_EQ(Value("", "cpu", "used"), 1);

  // There is less than was promised.
  cluster_.Set(CpuNode("n", "4").Object());
  cluster_.Set(CpuPod("b", "1").Object());
  Apply("");
  EXPECT_EQ(Value("", "cpu", "min"), 6);
  EXPECT_EQ(Value("", "cpu", "max"), 4);
}

TEST_F(EngineMetricsTest, CountsPreemptionsAndFailedBindings) {
  cluster_.Set(CpuNode("n", "4").Object());
  for (int i = 0; i < 4; ++i) cluster_.Set(CpuPod(absl::StrCat("low", i), "1").Object());
  scheduler_->RunUntilIdle();
  cluster_.Set(CpuPod("high", "2").Priority(100).Object());
  scheduler_->RunUntilIdle();
  EXPECT_EQ(Value("scheduler_preemption_attempts_total"), 1);
  EXPECT_EQ(Value("scheduler_preemption_victims_bucket{le=\"1\"}"), 0);
  EXPECT_EQ(Value("scheduler_preemption_victims_bucket{le=\"2\"}"), 1);
  EXPECT_EQ(Value("scheduler_preemption_goroutines_execution_total{result=\"success\"}"), 1);
  EXPECT_EQ(Value("scheduler_preemption_goroutines_duration_seconds_count{result=\"success\"}"), 1);

  cluster_.Set(CpuNode("m", "4").Object());
  cluster_.SetBindFault(
      [](const Identity&, const std::string&) { return absl::UnavailableError("no"); });
  cluster_.Set(CpuPod("unlucky", "1").Object());
  clock_.Advance(absl::Seconds(20));
  scheduler_->RunUntilIdle();
  EXPECT_GE(Value("berth_bind_failures_total"), 1);
  EXPECT_GE(
      Value("scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"error\"}"),
      1);
}

TEST(EngineMetricsThreads, AreReadWhileTheSchedulerRuns) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(2);
  const Registry registry = *BuiltinRegistry();
  SchedulerMetrics metrics;
  auto scheduler = *Scheduler::Create({.configuration = DefaultConfiguration(registry),
                                       .registry = &registry,
                                       .cluster = &cluster,
                                       .clock = &clock,
                                       .executor = executor.get(),
                                       .metrics = &metrics});
  std::thread running([&] { EXPECT_TRUE(scheduler->Run().ok()); });
  cluster.Set(CpuNode("n", "100").Object());
  for (int i = 0; i < 60; ++i) cluster.Set(CpuPod(absl::StrCat("p", i), "1").Object());
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  const auto shows = [&](const std::string& series, double value) {
    while (ValueIn(MetricsText(metrics.list()), series) != value) {
      if (absl::Now() > deadline) return false;
    }
    return true;
  };
  EXPECT_TRUE(shows(
      "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"}", 60));
  // How things stand, too, though nothing happens any more.
  EXPECT_TRUE(shows("scheduler_cache_size{type=\"pods\"}", 60));
  EXPECT_TRUE(shows("scheduler_goroutines{operation=\"binding\"}", 0));
  scheduler->Stop();
  running.join();
}

}  // namespace
}  // namespace berth
