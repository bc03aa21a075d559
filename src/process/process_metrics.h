// SPDX-License-Identifier: Apache-2.0
// What a process measures beside its scheduler: itself, its calls to the API server, whether it
// leads.
#ifndef BERTH_SRC_PROCESS_PROCESS_METRICS_H_
#define BERTH_SRC_PROCESS_PROCESS_METRICS_H_

#include <string>

#include "kubernetes/api_client.h"
#include "metrics/metric.h"

namespace berth {

// As Prometheus' client for Go and client-go name them. Threads: any.
class ProcessMetrics {
 public:
  // `version` is Berth's.
  explicit ProcessMetrics(const std::string& version);

  const MetricList& list() const { return list_; }

  // Reads the process as it is now: call it before these are shown.
  void Refresh();
  // For one try of a call: ApiClientOptions::observe.
  void ObserveCall(const ApiCallRecord& call);
  // Whether this process holds the lease of that name.
  void SetLeader(const std::string& lease, bool is_leader) {
    leader_.With({lease}).Set(is_leader ? 1 : 0);
  }

 private:
  MetricList list_;  // before the metrics, which enter themselves
  GaugeMetric cpu_seconds_, resident_bytes_, virtual_bytes_, most_virtual_bytes_;
  GaugeMetric open_files_, most_files_, start_time_;
  GaugeMetric heap_bytes_;            // state
  GaugeMetric build_info_;            // version
  GaugeMetric leader_;                // name
  CounterMetric requests_;            // code, method, host
  HistogramMetric rate_limiter_;      // verb, host
  HistogramMetric request_duration_;  // verb, host
  HistogramMetric request_bytes_;     // verb, host
  HistogramMetric response_bytes_;    // verb, host
};

// The results of health checks, which /metrics/slis shows. Threads: any.
class HealthMetrics {
 public:
  HealthMetrics();

  const MetricList& list() const { return list_; }
  // `type` is "healthz", "livez" or "readyz".
  void Observe(const std::string& check, const std::string& type, bool passed);

 private:
  MetricList list_;        // before the metrics, which enter themselves
  GaugeMetric last_;       // type, name
  CounterMetric results_;  // type, name, status
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_PROCESS_METRICS_H_
