// SPDX-License-Identifier: Apache-2.0
// What a scheduler measures of itself: kube-scheduler's metrics, and Berth's own.
#ifndef BERTH_SRC_METRICS_SCHEDULER_METRICS_H_
#define BERTH_SRC_METRICS_SCHEDULER_METRICS_H_

#include "metrics/metric.h"

namespace berth {

// Groups of metrics. Each enters its members in `list`, in their order; the labels are beside them.

struct MetricsOfAttempts {
  explicit MetricsOfAttempts(MetricList& list);

  CounterMetric schedule_attempts;   // result, profile
  HistogramMetric attempt_duration;  // result, profile
  HistogramMetric algorithm_duration;
  HistogramMetric pod_attempts;
  HistogramMetric sli_duration;  // attempts
  CounterMetric preemption_attempts;
  HistogramMetric preemption_victims;
  HistogramMetric eviction_duration;     // result
  CounterMetric evictions;               // result
  HistogramMetric permit_wait_duration;  // result
  GaugeMetric goroutines;                // operation

  // Plugins, all of one extension point together.
  HistogramMetric extension_point_duration;  // extension_point, status, profile
};

struct MetricsOfQueue {
  explicit MetricsOfQueue(MetricList& list);

  CounterMetric incoming_pods;     // queue, event
  HistogramMetric event_duration;  // event
  GaugeMetric pending_pods;        // queue
  GaugeMetric unschedulable_pods;  // plugin, profile
  GaugeMetric inflight_events;     // event
  GaugeMetric cache_size;          // type
};

// Berth's own: what is pending, and how it is evaluated. As the other group of its own, those that
// are only read again and again are set as a whole.
struct MetricsOfProgress {
  explicit MetricsOfProgress(MetricList& list);

  GaugeMetric oldest_pending_pod;  // queue
  GaugeMetric pod_groups;          // state
  GaugeMetric group_pods;          // state
  GaugeMetric quotas;              // quota, resource, type
  GaugeMetric cycles;              // mode
  GaugeMetric yields;
};

// Berth's own: what went wrong, and what plugins report.
struct MetricsOfFaults {
  explicit MetricsOfFaults(MetricList& list);

  GaugeMetric bind_failures;
  GaugeMetric refused_evictions;
  GaugeMetric unusable_objects;
  GaugeMetric unconfirmed_nodes;
  GaugeMetric deferred_calls;
  GaugeMetric plugin_faults;      // plugin, extension_point
  GaugeMetric slow_plugin_calls;  // plugin, extension_point

  // What a plugin counts (Handle::CounterOf), by the names of plugin and counter. For what has a
  // metric of kube-scheduler's, that one.
  void SetPluginCounter(const std::string& name, int64_t count);

 private:
  GaugeMetric plugin_counters_;      // counter
  GaugeMetric volume_stage_errors_;  // operation; of VolumeBinding
};

// The list is made before the metrics, which enter themselves.
struct ListedMetrics {
  MetricList all;
};

// Written by the scheduler that has it (SchedulerOptions::metrics), read from any thread. Names,
// types, labels and buckets of kube-scheduler v1.35 metrics.go; docs/metrics.md says what each one
// means here.
class SchedulerMetrics : private ListedMetrics,
                         public MetricsOfAttempts,
                         public MetricsOfQueue,
                         public MetricsOfProgress,
                         public MetricsOfFaults {
 public:
  SchedulerMetrics();

  // In the order in which they are shown.
  const MetricList& list() const { return all; }
};

}  // namespace berth

#endif  // BERTH_SRC_METRICS_SCHEDULER_METRICS_H_
