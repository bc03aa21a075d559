// SPDX-License-Identifier: Apache-2.0
// Runs the OpenB trace through the profiles of a configuration.
#ifndef BERTH_SRC_TRACE_OPENB_RUN_H_
#define BERTH_SRC_TRACE_OPENB_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/configuration.h"
#include "berth/framework/registry.h"
#include "berth/scheduler.h"
#include "berth/simulation.h"
#include "trace/openb.h"

namespace berth {

// What was decided about one arrival.
struct TraceDecision {
  int pod = 0;        // position in the list
  std::string node;   // empty: it had to stay out
  std::string cards;  // "0-3"; empty for pods without GPU
};

// Averages over the arrivals after which the demand that arrived rounds to `arrived` percent of the
// GPUs (half to even; if there are none, over those that round to the neighbours).
struct TraceColumn {
  int arrived = 0;
  double allocation = 0;             // demand of the placed pods, percent of all GPUs
  double fragmentation = 0;          // percent of all GPUs
  double fragmentation_of_idle = 0;  // percent of the idle GPUs
  int64_t unscheduled = 0;           // pods, after the last arrival with at most `arrived` percent
};

// A point in time of the trace as it happened.
struct TraceMoment {
  int64_t seconds = 0;                       // since the start of the trace
  double allocation = 0, fragmentation = 0;  // percent of all GPUs
  double cpu = 0;                            // requested, percent of all CPUs
  int64_t running = 0, waiting = 0;          // pods
};

struct TraceResult {
  std::vector<TraceDecision> decisions;
  std::vector<TraceColumn> columns;       // of the arrival mode
  std::map<std::string, int64_t> shapes;  // of the pods that stayed out
  int64_t unscheduled = 0, cpu_pods_unscheduled = 0;
  double seconds = 0;  // wall time of scheduling

  // For the time mode.
  std::vector<TraceMoment> moments;
  struct Delays {
    double mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;  // seconds from arrival to node
  } delays;
  double mean_allocation = 0;  // over time, percent of all GPUs

  // What went wrong with plugins (SchedulerCounters).
  std::vector<PluginTrouble> troubles;
  int64_t unconfirmed = 0;
};

// `result` with what the scheduler says of its plugins; Aborted if the simulation gave up.
absl::StatusOr<TraceResult> AddTroubles(const Simulation& simulation, TraceResult result);

struct TraceOptions {
  KubeSchedulerConfiguration configuration;
  const Registry* registry = nullptr;
  // Ends when so many percent have arrived.
  double until_percent = 1000;
  // Called now and then with the number of arrivals done.
  std::function<void(int64_t)> progress;
};

// Pods arrive one by one in the order of trace.arrivals and are placed at once or never. Gives
// plugins that have an argument `typicalPods`, and were not given it, the mix of the list. Errors:
// of the profiles, and if a pod got a node and no cards.
absl::StatusOr<TraceResult> RunArrivals(const OpenbTrace& trace, TraceOptions options);

// Pods arrive at their times, wait if they must, and run as long as they did; `every_seconds` of
// the trace a moment is noted.
absl::StatusOr<TraceResult> RunTimes(const OpenbTrace& trace, TraceOptions options,
                                     int64_t every_seconds);

}  // namespace berth

#endif  // BERTH_SRC_TRACE_OPENB_RUN_H_
