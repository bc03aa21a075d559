// SPDX-License-Identifier: Apache-2.0
// Names, texts and buckets. Those of kube-scheduler v1.35 are held against its own by
// tests/metrics/scheduler_metrics_test.cc.
#include "metrics/scheduler_metrics.h"

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace berth {
namespace {

using Labels = std::vector<std::string>;

MetricInfo CounterInfo(std::string name, std::string help, Labels labels = {}) {
  return {std::move(name), MetricType::kCounter, std::move(help), std::move(labels), {}};
}
MetricInfo GaugeInfo(std::string name, std::string help, Labels labels = {}) {
  return {std::move(name), MetricType::kGauge, std::move(help), std::move(labels), {}};
}
MetricInfo HistogramInfo(std::string name, std::string help, std::vector<double> bounds,
                         Labels labels = {}) {
  return {std::move(name), MetricType::kHistogram, std::move(help), std::move(labels),
          std::move(bounds)};
}

std::vector<double> AttemptBuckets() { return ExponentialBuckets(0.001, 2, 15); }
std::vector<double> PointBuckets() { return ExponentialBuckets(0.0001, 2, 12); }
std::vector<double> LongBuckets() { return ExponentialBuckets(0.01, 2, 20); }

}  // namespace

MetricsOfAttempts::MetricsOfAttempts(MetricList& list)
    : schedule_attempts(
          CounterInfo(
              "scheduler_schedule_attempts_total",
              "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' "
              "means a pod could not be scheduled, while 'error' means an internal scheduler "
              "problem.",
              {"result", "profile"}),
          list),
      attempt_duration(
          HistogramInfo("scheduler_scheduling_attempt_duration_seconds",
                        "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + "
                        "binding)",
                        AttemptBuckets(), {"result", "profile"}),
          list),
      algorithm_duration(
          HistogramInfo("scheduler_scheduling_algorithm_duration_seconds",
                        "[ALPHA] Scheduling algorithm latency in seconds", AttemptBuckets()),
          list),
      pod_attempts(HistogramInfo("scheduler_pod_scheduling_attempts",
                                 "[STABLE] Number of attempts to successfully schedule a pod.",
                                 ExponentialBuckets(1, 2, 5)),
                   list),
      sli_duration(HistogramInfo("scheduler_pod_scheduling_sli_duration_seconds",
                                 "[BETA] E2e latency for a pod being scheduled, from the time the "
                                 "pod enters the scheduling queue and might involve multiple "
                                 "scheduling attempts.",
                                 LongBuckets(), {"attempts"}),
                   list),
      preemption_attempts(CounterInfo("scheduler_preemption_attempts_total",
                                      "[STABLE] Total preemption attempts in the cluster till now"),
                          list),
      preemption_victims(HistogramInfo("scheduler_preemption_victims",
                                       "[STABLE] Number of selected preemption victims",
                                       ExponentialBuckets(1, 2, 7)),
                         list),
      eviction_duration(
          HistogramInfo("scheduler_preemption_goroutines_duration_seconds",
                        "[ALPHA] Duration in seconds for running goroutines for the preemption.",
                        LongBuckets(), {"result"}),
          list),
      evictions(CounterInfo("scheduler_preemption_goroutines_execution_total",
                            "[ALPHA] Number of preemption goroutines executed.", {"result"}),
                list),
      permit_wait_duration(
          HistogramInfo("scheduler_permit_wait_duration_seconds",
                        "[ALPHA] Duration of waiting on permit.", AttemptBuckets(), {"result"}),
          list),
      goroutines(GaugeInfo("scheduler_goroutines",
                           "[ALPHA] Number of running goroutines split by the work they do such as "
                           "binding.",
                           {"operation"}),
                 list),
      extension_point_duration(
          HistogramInfo("scheduler_framework_extension_point_duration_seconds",
                        "[STABLE] Latency for running all plugins of a specific extension point.",
                        PointBuckets(), {"extension_point", "status", "profile"}),
          list) {}

MetricsOfQueue::MetricsOfQueue(MetricList& list)
    : incoming_pods(CounterInfo("scheduler_queue_incoming_pods_total",
                                "[STABLE] Number of pods added to scheduling queues by event and "
                                "queue type.",
                                {"queue", "event"}),
                    list),
      event_duration(
          HistogramInfo("scheduler_event_handling_duration_seconds",
                        "[ALPHA] Event handling latency in seconds.", PointBuckets(), {"event"}),
          list),
      pending_pods(
          GaugeInfo("scheduler_pending_pods",
                    "[STABLE] Number of pending pods, by the queue type. 'active' means number of "
                    "pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' "
                    "means number of pods in unschedulablePods that the scheduler attempted to "
                    "schedule and failed; 'gated' is the number of unschedulable pods that the "
                    "scheduler never attempted to schedule because they are gated.",
                    {"queue"}),
          list),
      unschedulable_pods(
          GaugeInfo(
              "scheduler_unschedulable_pods",
              "[ALPHA] The number of unschedulable pods broken down by plugin name. A pod will "
              "increment the gauge for all plugins that caused it to not schedule and so this "
              "metric have meaning only when broken down by plugin.",
              {"plugin", "profile"}),
          list),
      inflight_events(GaugeInfo("scheduler_inflight_events",
                                "[ALPHA] Number of events currently tracked in the scheduling "
                                "queue.",
                                {"event"}),
                      list),
      cache_size(
          GaugeInfo("scheduler_cache_size",
                    "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler "
                    "cache.",
                    {"type"}),
          list) {}

MetricsOfProgress::MetricsOfProgress(MetricList& list)
    : oldest_pending_pod(
          GaugeInfo("berth_oldest_pending_pod_seconds",
                    "How long the pod that has been pending longest is, by queue.", {"queue"}),
          list),
      pod_groups(GaugeInfo("berth_pod_groups",
                           "Pod groups with members and a definition: 'running' has its minimum, "
                           "'partial' a part of it, 'waiting' nothing.",
                           {"state"}),
                 list),
      group_pods(GaugeInfo("berth_pod_group_pods",
                           "Members of pod groups: 'assigned' have a node, 'pending' have none.",
                           {"state"}),
                 list),
      quotas(GaugeInfo("berth_quota_resource",
                       "What quotas guarantee ('min'), allow ('max') and have in use ('used') of a "
                       "resource, in its unit: CPUs, bytes, pieces.",
                       {"quota", "resource", "type"}),
             list),
      cycles(CounterInfo("berth_scheduling_cycles_total",
                         "Scheduling cycles: 'full' evaluated every node, 'incremental' only what "
                         "had changed.",
                         {"mode"}),
             list),
      yields(CounterInfo("berth_work_budget_yields_total",
                         "Attempts that yielded because they had spent their work budget."),
             list) {}

MetricsOfFaults::MetricsOfFaults(MetricList& list)
    : bind_failures(CounterInfo("berth_bind_failures_total", "Bindings that ended in an error."),
                    list),
      refused_evictions(
          CounterInfo("berth_refused_evictions_total", "Evictions that the cluster refused."),
          list),
      unusable_objects(
          CounterInfo("berth_unusable_objects_total", "Objects that could not be parsed."), list),
      unconfirmed_nodes(CounterInfo("berth_unconfirmed_nodes_total",
                                    "Nodes that FilterNodes() accepted and Filter() rejected: a "
                                    "fault in a plugin."),
                        list),
      deferred_calls(CounterInfo("berth_deferred_calls_total",
                                 "Calls that plugins had deferred and that have run."),
                     list),
      plugin_faults(
          CounterInfo("berth_plugin_faults_total",
                      "Calls of a plugin that threw or broke the contract of their point.",
                      {"plugin", "extension_point"}),
          list),
      slow_plugin_calls(
          CounterInfo("berth_slow_plugin_calls_total",
                      "Calls of a plugin that took at least SchedulerOptions::slow_plugin_call.",
                      {"plugin", "extension_point"}),
          list),
      plugin_counters_(CounterInfo("berth_plugin_counter_total",
                                   "Counters of plugins' own (Handle::CounterOf).", {"counter"}),
                       list),
      // kube-scheduler v1.35 volumebinding/metrics/metrics.go.
      volume_stage_errors_(
          CounterInfo("scheduler_volume_scheduling_stage_error_total",
                      "[ALPHA] Volume scheduling stage error count", {"operation"}),
          list) {}

void MetricsOfFaults::SetPluginCounter(const std::string& name, int64_t count) {
  absl::string_view rest = name;
  const bool is_volume_stage = absl::ConsumePrefix(&rest, "VolumeBinding/stage_error/");
  GaugeMetric& metric = is_volume_stage ? volume_stage_errors_ : plugin_counters_;
  metric.With({std::string(rest)}).Set(static_cast<double>(count));
}

SchedulerMetrics::SchedulerMetrics()
    : MetricsOfAttempts(all), MetricsOfQueue(all), MetricsOfProgress(all), MetricsOfFaults(all) {}

}  // namespace berth
