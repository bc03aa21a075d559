// SPDX-License-Identifier: Apache-2.0
// From "placed" to bound or undone. As kube-scheduler v1.35 schedule_one.go bindingCycle and
// handleBindingCycleError; the Binder runs what is in between.
#ifndef BERTH_SRC_ENGINE_BINDING_CYCLE_H_
#define BERTH_SRC_ENGINE_BINDING_CYCLE_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "berth/clock.h"
#include "engine/attempt.h"
#include "engine/binder.h"
#include "engine/cluster_state.h"
#include "engine/engine_metrics.h"
#include "engine/failure_handler.h"
#include "engine/recorder.h"
#include "engine/stale_groups.h"
#include "queue/scheduling_queue.h"

namespace berth {

// Belongs to the scheduling thread.
class BindingCycle {
 public:
  // What it changes or informs. Everything outlives this.
  struct Parts {
    ClusterState& cluster;
    SchedulingQueue& queue;
    Binder& binder;
    Recorder& recorder;
    FailureHandler& failure_handler;
    EngineMetrics& metrics;
    StaleGroups& stale_groups;
  };
  BindingCycle(const Clock& clock, const Parts& parts)
      : clock_(clock),
        cluster_(parts.cluster),
        queue_(parts.queue),
        binder_(parts.binder),
        recorder_(parts.recorder),
        failure_handler_(parts.failure_handler),
        metrics_(parts.metrics),
        stale_groups_(parts.stale_groups) {}

  // Hands what an attempt on `entry` placed to the binder.
  void Start(const QueueEntry& entry, const AttemptRequest& request, AttemptResult& result);
  // Acts on what the binder has decided. Returns whether there was any.
  bool HandleOutcomes(absl::Time now);

  int64_t bound() const { return bound_; }
  int64_t bind_failures() const { return bind_failures_; }  // bindings that ended in an error

 private:
  void ActivateRequestedPods(CycleState& state);
  // Keeps a placement whose binding failed and binds it again later, if its group already runs in
  // part and would stay so without it. Returns false if it is to be undone.
  bool BindAgain(BindingOutcome& outcome);
  // The watch has shown the pod where it was placed, whatever became of the answer.
  bool SeenBound(const AssumedPod& placement) const;
  void UndoPlacement(BindingOutcome outcome);
  WaitingPtr WhyNotBound(const AssumedPod& placement, const BindingOutcome& outcome) const;

  const Clock& clock_;
  ClusterState& cluster_;
  SchedulingQueue& queue_;
  Binder& binder_;
  Recorder& recorder_;
  FailureHandler& failure_handler_;
  EngineMetrics& metrics_;
  StaleGroups& stale_groups_;
  std::vector<BindingOutcome> outcomes_;  // room for those of HandleOutcomes()
  int64_t bound_ = 0;
  int64_t bind_failures_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_BINDING_CYCLE_H_
