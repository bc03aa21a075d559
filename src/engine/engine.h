// SPDX-License-Identifier: Apache-2.0
// The scheduler: one thread that takes in events, tries what is due and hands bindings out.
#ifndef BERTH_SRC_ENGINE_ENGINE_H_
#define BERTH_SRC_ENGINE_ENGINE_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "berth/mutex.h"
#include "berth/scheduler.h"
#include "engine/attempt.h"
#include "engine/binding_cycle.h"
#include "engine/cluster_state.h"
#include "engine/evictions.h"
#include "engine/profile_handle.h"
#include "engine/profiles.h"
#include "engine/timers.h"
#include "queue/scheduling_queue.h"

namespace berth {

// What arrives from other threads: watch events, and work to be done on the scheduling thread.
class Inbox final : public WatchSink {
 public:
  // Events, or work.
  struct Item {
    std::optional<WatchEvent> event;
    std::vector<WatchEvent> events;
    std::function<void()> work;
  };

  void Deliver(std::vector<WatchEvent> events) override;
  void DeliverOne(WatchEvent event) override;
  void Post(std::function<void()> work);
  // Drops what has arrived and whatever comes from now on.
  void Close();

  // Puts what has arrived first into `items`, in order, which was empty: all, or a block of it.
  // The room that `items` had is used again.
  void Take(std::vector<Item>& items);
  bool empty() const;
  // Blocks until something arrives, `deadline` has passed, or Stop().
  void WaitUntil(absl::Time deadline);
  void Stop();
  bool stopped() const;

 private:
  void Add(Item item);

  mutable Mutex mutex_;
  CondVar arrived_;
  // In blocks, so that no list is moved or freed that has become long.
  static constexpr size_t kBlock = 256;
  std::vector<Item> items_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::vector<Item>> more_ ABSL_GUARDED_BY(mutex_);  // what came after these
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Written with the mutex held, and read without. `any_` says that it is worth looking: what it
  // stands for is read with the mutex held, so that nothing need be ordered by it.
  std::atomic<bool> any_ = false;
  std::atomic<bool> stopped_ = false;
};

class Engine final : public Scheduler, private SchedulerServices, private Evictions::Listener {
 public:
  static absl::StatusOr<std::unique_ptr<Engine>> Create(SchedulerOptions options);
  ~Engine() override;

  absl::Status Run() override;
  void Stop() override { inbox_.Stop(); }
  void TakeEvents() override;
  void RunUntilIdle() override;
  bool RunSteps(int64_t most) override;
  absl::Time NextDue() const override;
  absl::Time NextRetry() const override;
  absl::Time NextTimer(absl::Time set_until) const override { return timers_.NextDue(set_until); }
  std::vector<UnboundPod> Unbound() const override;
  std::vector<PodGroupState> PodGroups() const override;
  std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const override;
  std::string WhyAlone(const PodInfo& pod) const override;
  std::vector<ResourceUsage> Usage() override;
  SchedulerCounters counters() const override;
  std::map<std::string, int64_t> PluginCounters() const override {
    return profiles_->plugin_counters();
  }
  void ObserveAttempts(std::function<void(const AttemptRecord&)> observe) override {
    observe_ = std::move(observe);
  }

  // What is counted and assumed. For tests.
  const ClusterState& cluster() const { return cluster_; }

 private:
  explicit Engine(SchedulerOptions options);
  void MakeQueue();

  // --- inbox.cc: what arrives ---
  // Takes in what has arrived, until ConsecutiveEvents() is `limit`. Returns whether there was any.
  bool TakeInbox(int64_t limit = std::numeric_limits<int64_t>::max());
  // A long train of events does not hold up who waits: kube-scheduler handles events beside its
  // loop. One takes some microseconds. A number, not a time: the same input has the same outcome.
  static constexpr int64_t kMaxConsecutiveEvents = 160;
  int64_t ConsecutiveEvents() const;
  void OnEvent(WatchEvent event);
  void PrimeTables();
  void UpdateTables(bool before_attempt);
  uint64_t ChangesSoFar() const;
  void UpdateQueue(const ClusterChange& change);

  // --- engine.cc: the loop, and one attempt with its consequences ---
  using SteadyTime = std::chrono::steady_clock::time_point;
  bool Step();
  // Says once that the cluster has not sent kSynced for long.
  void WarnIfNotSynced(absl::Time now);
  void PrefetchAhead(const QueuedGroup& entry) const;
  const QueuedGroup* NextEntry();
  void TryEntry(const QueuedGroup& entry);
  AttemptRequest MakeRequest(const QueuedGroup& entry) const;
  void Observe(const AttemptRequest& request, const AttemptResult& result, Symbol requeued_by,
               SteadyTime ended) const;
  void StartBinding(const QueuedGroup& entry, const AttemptRequest& request, AttemptResult& result);
  void ReportGroupFailure(const AttemptRequest& request, AttemptResult& result);
  WaitingPtr WhyGroup(const AttemptRequest& request, const AttemptResult& result) const;
  Rejection Describe(const AttemptRequest& request, const AttemptResult& result) const;
  bool HandleBindingOutcomes(absl::Time now);
  void ActivateRequestedPods(CycleState& state);

  // --- consequences.cc: what the cluster is told ---
  // Takes over what the attempt decided of the pod's nomination, or drops it from `failure` if that
  // changes nothing.
  void NoteNomination(PodFailure& failure);
  // The pod is nominated no more: those that left room for it are tried again.
  void RequeuePodsBlockedByNomination(const std::shared_ptr<const PodInfo>& pod);
  void ReportFailure(const PodFailure& failure);
  void ReportBound(const Placement& placement);
  void Preempt(const std::shared_ptr<const PodInfo>& preemptor, const PostFilterResult& plan);
  void OnEvictionRefused(absl::string_view victim_uid) override;
  void OnEvictionsAnswered(const std::shared_ptr<const PodInfo>& preemptor, bool all_go) override;
  std::vector<std::shared_ptr<const PodInfo>> PodsNominatedTo(Symbol node_name) const;
  void EndNominations(Symbol node_name);
  void PatchNomination(const PodInfo& pod, absl::string_view node_name);
  Status StillFits(const Placement& placement);
  Status Refilter(const Framework& framework, const PodInfo& pod, const NodeInfo& node);
  void ClearLowerNominations(const PodInfo& pod, const std::string& node_name);
  // Keeps a placement whose binding failed and binds it again later, if its group already runs in
  // part and would stay so without it. Returns false if it is to be undone.
  bool BindAgain(BindingOutcome& outcome);
  // The watch has shown the pod where it was placed, whatever became of the answer.
  bool SeenBound(const Placement& placement) const;
  void UndoPlacement(BindingOutcome outcome);
  WaitingPtr WhyNotBound(const Placement& placement, const BindingOutcome& outcome) const;

  // --- reports.cc: what it says about itself ---
  WaitingFor Explain(const PendingReport& report) const;
  WaitingFor Explain(const Binder::Unbound& unbound) const;
  bool WaitsForVictims(const PodInfo& pod, WaitingFor& waiting) const;

  // --- SchedulerServices ---
  void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) override;
  void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) override;
  WaitingPod* FindWaitingPod(absl::string_view uid) override;
  bool IsPreempting(absl::string_view uid) const override { return evictions_.IsPreempting(uid); }
  bool incremental() const override { return options_.incremental; }
  absl::Status Bind(const PodInfo& pod, absl::string_view node_name,
                    const BindMetadata& metadata) override;
  void Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) override;
  TimerId RunAt(absl::Time time, std::function<void()> work) override;
  bool CancelTimer(TimerId timer) override { return timers_.Cancel(timer); }
  void Post(std::function<void()> work) override;
  // The answer to a binding was lost, with `lost`: asks until the cluster says what happened.
  absl::Status ResolveLostBinding(const PodBinding& binding, absl::Status lost) const;

  const SchedulerOptions options_;
  PrefetchingCluster* const prefetching_cluster_;  // options_.cluster, or null
  Inbox inbox_;
  Timers timers_;                     // these two outlive the plugins, which may call until they go
  std::vector<Inbox::Item> arrived_;  // taken out of the inbox; emptied one by one
  size_t next_item_ = 0;              // of these
  size_t next_event_ = 0;             // of that one
  int64_t consecutive_events_ = 0;    // and answers, since the last attempt
  int64_t queue_steps_ = 0;           // as of then
  int64_t ticked_steps_ = 0;          // the same, after the last Tick()
  RandomSequence random_;
  ClusterState cluster_;
  std::unique_ptr<Profiles> profiles_;
  std::unique_ptr<SchedulingQueue> queue_;
  Binder binder_;
  Evictions evictions_;
  Attempts attempts_;
  // An attempt that is not over (AttemptResult::yielded).
  struct Unfinished {
    const QueuedGroup* entry = nullptr;  // in flight, or null
    absl::Duration spent;
    int cycles = 0;
  };
  Unfinished unfinished_;
  std::vector<BindingOutcome> settled_;  // room for those of HandleBindingOutcomes()
  // The last thing the cluster was told about each pending pod, to tell it only what is new.
  IdentityMap<std::string, ByUid> reported_;
  std::atomic<bool> ending_ = false;
  bool watching_ = false;
  // When to warn that the cluster has not sent kSynced; InfiniteFuture if there is no need.
  absl::Time sync_deadline_ = absl::InfiniteFuture();
  uint64_t events_ = 0;             // so far
  uint64_t tables_updated_at_ = 0;  // ChangesSoFar() when plugins were told last
  uint64_t tables_order_ = 0;       // NodeTable::order_version() then
  bool synced_ = false;
  SchedulerCounters counters_;
  std::function<void(const AttemptRecord&)> observe_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_ENGINE_H_
