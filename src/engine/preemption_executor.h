// SPDX-License-Identifier: Apache-2.0
// Carries out what PostFilter planned. As kube-scheduler v1.35 framework/preemption executor.go.
#ifndef BERTH_SRC_ENGINE_PREEMPTION_EXECUTOR_H_
#define BERTH_SRC_ENGINE_PREEMPTION_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/clock.h"
#include "berth/framework/postfilter.h"
#include "berth/scheduler.h"
#include "engine/awaited_victims.h"
#include "engine/binder.h"
#include "engine/cluster_state.h"
#include "engine/engine_metrics.h"
#include "engine/evictions.h"
#include "engine/failure_handler.h"
#include "engine/framework_set.h"
#include "engine/recorder.h"
#include "queue/scheduling_queue.h"

namespace berth {

// Belongs to the scheduling thread.
class PreemptionExecutor final : private Evictions::Listener {
 public:
  // What it changes or informs. Everything outlives this.
  struct Parts {
    ClusterState& cluster;
    const FrameworkSet& profiles;
    SchedulingQueue& queue;
    Binder& binder;
    Recorder& recorder;
    FailureHandler& failure_handler;
    EngineMetrics& metrics;
  };
  // `post` brings work back to the scheduling thread, from any thread.
  PreemptionExecutor(const SchedulerOptions& options,
                     std::function<void(std::function<void()>)> post, const Parts& parts);

  // Evicts the victims. One that is not bound yet only loses its placement. `group`: the plan is
  // one of several without which it does not start; else empty.
  void Execute(const AttemptResult::Plan& to_do, const std::string& group);
  // Evicts members of one group, at least one, because of the group itself. `reason` is valid until
  // the process ends. `why`: part of a sentence, for the condition and the event of each.
  void EvictGroup(const std::vector<std::shared_ptr<const PodInfo>>& members,
                  absl::string_view reason, const std::string& why);
  // Whether victims of this pod have not been answered yet.
  bool IsPreempting(absl::string_view preemptor_uid) const {
    return evictions_.IsPreempting(preemptor_uid);
  }
  bool idle() const { return evictions_.idle(); }
  // See AwaitedVictims.
  void GroupTried(const std::string& group) { awaited_.Tried(group); }
  AwaitedVictims::Departure VictimGone(UidRef victim) { return awaited_.Gone(victim); }

  int64_t evictions() const { return evicted_; }          // victims asked to go
  int64_t eviction_failures() const { return refused_; }  // victims that the cluster did not let go

 private:
  void OnEvictionRefused(absl::string_view victim_uid) override;
  void OnEvictionsAnswered(const std::shared_ptr<const PodInfo>& preemptor, bool all_go) override;

  const SchedulerOptions& options_;
  ClusterState& cluster_;
  const FrameworkSet& profiles_;
  SchedulingQueue& queue_;
  Binder& binder_;
  Recorder& recorder_;
  FailureHandler& failure_handler_;
  EngineMetrics& metrics_;
  Evictions evictions_;
  AwaitedVictims awaited_;
  int64_t evicted_ = 0;
  int64_t refused_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_PREEMPTION_EXECUTOR_H_
