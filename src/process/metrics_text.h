// SPDX-License-Identifier: Apache-2.0
// Metrics in Prometheus' text format.
#ifndef BERTH_SRC_PROCESS_METRICS_TEXT_H_
#define BERTH_SRC_PROCESS_METRICS_TEXT_H_

#include <functional>
#include <string>
#include <vector>

#include "metrics/metric.h"
#include "process/http.h"

namespace berth {

// Families by name, labels too, numbers as Go writes them (the bounds of buckets are labels, and
// those of kube-scheduler must be equal). Metrics without series are left out, as in Go.
std::string MetricsText(const MetricList& metrics);

// Adds a path that shows them; `refresh`, unless it is null, is called before. The metrics outlive
// the endpoints.
void AddMetricsEndpoint(const std::string& path, MetricList metrics, std::function<void()> refresh,
                        Endpoints& endpoints);

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_METRICS_TEXT_H_
