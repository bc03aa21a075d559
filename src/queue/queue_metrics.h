// SPDX-License-Identifier: Apache-2.0
// What the queue reports to SchedulerMetrics: the pods that came into its parts, and why.
#ifndef BERTH_SRC_QUEUE_QUEUE_METRICS_H_
#define BERTH_SRC_QUEUE_QUEUE_METRICS_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "metrics/scheduler_metrics.h"
#include "queue/queue_entry.h"

namespace berth {

// The parts of the queue as metrics name them; gated entries that were never tried are
// "unschedulable" there, as in kube-scheduler.
inline absl::string_view IncomingQueueName(QueueState state) {
  switch (state) {
    case QueueState::kActive:
      return "active";
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
      return "backoff";
    default:
      return "unschedulable";
  }
}

// Belongs to the queue. Without metrics it counts nothing.
class QueueMetrics {
 public:
  // `metrics`, which may be null, outlives this.
  explicit QueueMetrics(SchedulerMetrics* metrics) : metrics_(metrics) {}

  // Why entries move from now on: an event, or kube-scheduler's name for what is none.
  void SetCause(const char* cause) {
    if (metrics_ != nullptr) cause_ = Symbol::Intern(cause);
  }
  void SetCause(Symbol cause) { cause_ = cause; }
  // Pods of an entry came into `state`.
  void CountIncoming(QueueState state, size_t pods) {
    if (metrics_ == nullptr) return;
    Counter*& series = incoming_[{IncomingQueueName(state).data(), cause_}];
    if (series == nullptr) {
      series = &metrics_->incoming_pods.With(
          {std::string(IncomingQueueName(state)), std::string(cause_.view())});
    }
    series->Add(static_cast<int64_t>(pods));
  }

 private:
  SchedulerMetrics* const metrics_;
  Symbol cause_;
  absl::flat_hash_map<std::pair<const char*, Symbol>, Counter*> incoming_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_QUEUE_METRICS_H_
