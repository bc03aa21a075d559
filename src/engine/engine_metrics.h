// SPDX-License-Identifier: Apache-2.0
// What a scheduler reports to SchedulerMetrics.
#ifndef BERTH_SRC_ENGINE_ENGINE_METRICS_H_
#define BERTH_SRC_ENGINE_ENGINE_METRICS_H_

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/extensions/quota_report.h"
#include "berth/scheduler.h"
#include "engine/attempt.h"
#include "engine/binder.h"
#include "engine/cluster_state.h"
#include "metrics/scheduler_metrics.h"
#include "queue/scheduling_queue.h"

namespace berth {

// Pod groups with a definition, and their members.
struct GroupCensus {
  int running = 0, partial = 0, waiting = 0;
  int assigned = 0, pending = 0;
};

// Belongs to the scheduling thread. Without metrics nothing measures: every call does nothing.
class EngineMetrics {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // `metrics`, which may be null, and `clock` outlive this.
  EngineMetrics(SchedulerMetrics* metrics, const Clock& clock);

  bool enabled() const { return metrics_ != nullptr; }

  // --- As it happens ---

  // An attempt that does not continue, and took that long.
  void AttemptEnded(const AttemptRequest& request, const AttemptResult& result,
                    absl::Duration took);
  void Yielded() {
    if (metrics_ != nullptr) metrics_->yields.only().Add(1);
  }
  // The evictions for a pod were asked for, and were answered.
  void EvictionsBegan(absl::string_view preemptor_uid);
  void EvictionsEnded(absl::string_view preemptor_uid, bool all_go);
  // A binding ended: bound, or undone for the reason in `status`.
  void BindingEnded(const AssumedPod& placement, const Status& status);
  // An event was handled, which `change` describes.
  void EventHandled(const ClusterChange& change, SteadyTime begun);

  // --- As things stand ---

  // What is shown of the state.
  void Publish(const QueueCensus& queue, const Cache& cache, const GroupCensus& groups,
               const std::vector<QuotaFigure>& quotas, int binding,
               const SchedulerCounters& counters,
               const std::map<std::string, int64_t>& plugin_counters);
  // Whether it is time to publish, at most once a second. `now` is the wall's or the simulation's.
  bool IsDue(absl::Time now) const { return metrics_ != nullptr && now >= next_publication_; }
  // When it is; InfiniteFuture without metrics.
  absl::Time next_publication() const {
    return metrics_ == nullptr ? absl::InfiniteFuture() : next_publication_;
  }

 private:
  enum class Result : uint8_t { kScheduled, kUnschedulable, kError };
  void PublishQuotas(const std::vector<QuotaFigure>& quotas);
  void CountAttempt(Result result, const Framework& framework, absl::Duration took);

  struct AttemptSeries {
    Counter* count = nullptr;
    Histogram* duration = nullptr;
  };

  SchedulerMetrics* const metrics_;
  const Clock& clock_;
  absl::Time next_publication_ = absl::InfinitePast();
  // Series that were asked for so far.
  absl::flat_hash_map<std::pair<const Framework*, Result>, AttemptSeries> attempts_;
  absl::flat_hash_map<std::string, Histogram*> events_;
  absl::flat_hash_map<std::string, SteadyTime> evictions_;  // by the preemptor's uid
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_ENGINE_METRICS_H_
