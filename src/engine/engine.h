// SPDX-License-Identifier: Apache-2.0
// The scheduler: one thread that takes in events, tries what is due and hands bindings out. As
// kube-scheduler v1.35 scheduler.go.
#ifndef BERTH_SRC_ENGINE_ENGINE_H_
#define BERTH_SRC_ENGINE_ENGINE_H_

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/scheduler.h"
#include "engine/binder.h"
#include "engine/binding_cycle.h"
#include "engine/cluster_state.h"
#include "engine/engine_metrics.h"
#include "engine/entry_scheduler.h"
#include "engine/event_handlers.h"
#include "engine/failure_handler.h"
#include "engine/framework_set.h"
#include "engine/free_resources_on_nodes.h"
#include "engine/group_reservations.h"
#include "engine/inbox.h"
#include "engine/moved_pods.h"
#include "engine/plugin_services.h"
#include "engine/preemption_executor.h"
#include "engine/random_sequence.h"
#include "engine/recorder.h"
#include "engine/stale_groups.h"
#include "engine/table_updater.h"
#include "engine/timers.h"
#include "engine/unbound_report.h"
#include "queue/scheduling_queue.h"

namespace berth {

// The profiles, and what they are made over: that is there before the plugins and goes after them.
struct ProfileSetup {
  explicit ProfileSetup(SchedulerOptions given)
      : options(std::move(given)),
        random(options.seed),
        recorder(*options.cluster, *options.executor),
        services(options, inbox, timers, recorder) {}

  const SchedulerOptions options;
  Inbox inbox;
  Timers timers;
  RandomSequence random;
  ClusterState cluster;
  Recorder recorder;
  PluginServices services;
  std::unique_ptr<FrameworkSet> profiles;
};

class Engine final : public Scheduler {
 public:
  static absl::StatusOr<std::unique_ptr<Engine>> Create(SchedulerOptions options);
  ~Engine() override;

  absl::Status Run() override;
  void Stop() override { inbox_.Stop(); }
  void TakeEvents() override;
  void RunUntilIdle() override;
  bool RunSteps(int64_t most) override;
  void Wait(absl::Time until) override;
  absl::Time NextDue() const override;
  absl::Time NextRetry() const override;
  bool AwaitsOutside() const override;
  absl::Time NextTimer(absl::Time set_until) const override { return timers_.NextDue(set_until); }
  std::vector<UnboundPod> Unbound() const override { return unbound_report_.Pods(); }
  std::vector<PodGroupState> PodGroups() const override { return unbound_report_.Groups(); }
  std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const override {
    return unbound_report_.ExplainWaiting(uid);
  }
  std::string WhyAlone(const PodInfo& pod) const override;
  std::vector<ResourceUsage> Usage() override;
  SchedulerCounters counters() const override;
  std::map<std::string, int64_t> PluginCounters() const override {
    return profiles_.plugin_counters();
  }
  void ObserveAttempts(std::function<void(const AttemptRecord&)> observe) override {
    observe_ = std::move(observe);
  }

  // What is counted and assumed. For tests.
  const ClusterState& cluster() const { return cluster_; }

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // `setup` has its profiles.
  explicit Engine(std::unique_ptr<ProfileSetup> setup);
  absl::Status Watch();

  bool Step();
  // Many events in a row do not hold up pods that wait: kube-scheduler handles events beside its
  // loop. One takes some microseconds. A number, not a time: the same input has the same outcome.
  static constexpr int64_t kMaxConsecutiveEvents = 160;
  int64_t ConsecutiveEvents() const;
  // Takes in what has arrived, until ConsecutiveEvents() is `limit`. Returns whether there was any.
  bool TakeInbox(int64_t limit = std::numeric_limits<int64_t>::max());
  // When to warn that the cluster has not sent kSynced; InfiniteFuture if there is no need.
  absl::Time SyncDeadline() const;
  // Says once that the cluster has not sent kSynced for long.
  void WarnIfNotSynced(absl::Time now);

  // Shows metrics of how things stand, if they are wanted and it is time.
  void PublishMetrics();
  std::vector<QuotaFigure> Quotas();

  void PrefetchAhead(const QueueEntry& entry) const;
  const QueueEntry* NextEntry();
  AttemptRequest MakeRequest(const QueueEntry& entry) const;
  void TryEntry(const QueueEntry& entry);
  class AttemptIntake;
  void UpdateMembers(const AttemptRequest& request);
  void Observe(const AttemptRequest& request, const AttemptResult& result, Symbol requeued_by,
               SteadyTime ended) const;

  const std::unique_ptr<ProfileSetup> setup_;
  const SchedulerOptions& options_;  // these are in `setup_`
  Inbox& inbox_;
  Timers& timers_;
  ClusterState& cluster_;
  const FrameworkSet& profiles_;
  AttemptObserver* const attempt_observer_;  // options_.cluster, or null
  EngineMetrics metrics_;
  FreeResourcesOnNodes room_;
  SchedulingQueue queue_;
  Binder binder_;
  FailureHandler failure_handler_;
  PreemptionExecutor preemption_executor_;
  StaleGroups stale_groups_;
  MovedPods moved_pods_;
  BindingCycle binding_cycle_;
  TableUpdater table_updater_;
  EntryScheduler entry_scheduler_;
  GroupReservations reservations_;
  EventHandlers event_handlers_;
  UnboundReport unbound_report_;

  std::vector<Inbox::Item> arrived_;  // taken out of the inbox; emptied one by one
  size_t next_item_ = 0;              // of these
  size_t next_event_ = 0;             // of that one
  int64_t consecutive_events_ = 0;    // and answers, since the last attempt
  int64_t queue_steps_ = 0;           // as of then
  int64_t ticked_steps_ = 0;          // the same, after the last Tick()
  // An attempt that is not over (AttemptResult::yielded).
  struct Unfinished {
    const QueueEntry* entry = nullptr;  // in flight, or null
    absl::Duration spent;
    int cycles = 0;
    int given_up = 0;  // so often, since events changed its pods
  };
  Unfinished unfinished_;
  bool watching_ = false;
  absl::Time sync_deadline_ = absl::InfiniteFuture();
  int64_t attempts_ = 0;
  int64_t cycles_ = 0;
  int64_t timer_calls_ = 0;
  std::function<void(const AttemptRecord&)> observe_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_ENGINE_H_
