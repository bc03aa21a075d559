// SPDX-License-Identifier: Apache-2.0
// The scheduling queue: which group of pods is tried next, and when a rejected one is tried again.
// As kube-scheduler v1.35 backend/queue with queueing hints and PopFromBackoffQ, by groups.
#ifndef BERTH_SRC_QUEUE_SCHEDULING_QUEUE_H_
#define BERTH_SRC_QUEUE_SCHEDULING_QUEUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/clock.h"
#include "berth/extensions/queue_order.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/queue_sort.h"
#include "framework/fault_log.h"
#include "queue/early_attempts.h"
#include "queue/entry_index.h"
#include "queue/event_queue.h"
#include "queue/event_table.h"
#include "queue/free_resources_view.h"
#include "queue/gates.h"
#include "queue/in_flight.h"
#include "queue/pending_report.h"
#include "queue/queue_census.h"
#include "queue/queue_entry.h"
#include "queue/queue_metrics.h"
#include "queue/queue_profile.h"
#include "queue/queueing_hints.h"
#include "queue/requeuer.h"
#include "queue/retry_turns.h"
#include "queue/sub_queues.h"

namespace berth {

struct QueueOptions {
  absl::Duration initial_backoff = absl::Seconds(1);
  absl::Duration max_backoff = absl::Seconds(10);  // zero: no backoff
  absl::Duration max_in_unschedulable = absl::Minutes(5);
  // If more entries have to move, the rest follows with the next Tick().
  size_t max_moves_per_tick = 1024;  // at least 1
  // The same if hints have to be asked for more classes of entries.
  size_t max_hints_per_tick = 2048;  // at least 1
  // Where slow sorting is counted, and for which plugin; null: nowhere.
  FaultLog* fault_log = nullptr;
  Symbol queue_sort_name;
  SchedulerMetrics* metrics = nullptr;  // may be null
  QueueOrder* order = nullptr;          // null: QueueSort alone decides
  // Where there is room; null: entries that might fit are tried, without a look whether they do.
  FreeResourcesView* room = nullptr;
};

// Each pod is in exactly one place: an entry that is active, in backoff, unschedulable, gated or in
// flight. Entries are compared by the QueueSort plugin, then by arrival; where a plugin is a
// QueueOrder, only those that wait in the same line.
//
// The group index (Groups) must have a change before the queue gets it. Belongs to the scheduling
// thread.
class SchedulingQueue final : private EventQueue::Listener {
 public:
  // `sort`, `groups` and `clock` outlive the queue. `groups` may be null if no profile has a group
  // plugin.
  SchedulingQueue(const QueueSortPlugin& sort, std::vector<QueueProfile> profiles,
                  const Groups* groups, const Clock& clock, QueueOptions options = {});
  ~SchedulingQueue() override;
  SchedulingQueue(const SchedulingQueue&) = delete;
  SchedulingQueue& operator=(const SchedulingQueue&) = delete;

  // --- Pods ---

  // A pending pod is new or changed: Update() if its uid is known. It joins the entry of its group,
  // in any state; the gates of a group that waited are checked again.
  void Add(std::shared_ptr<const PodInfo> pod, std::optional<std::string> group);
  // The pod changed. In flight: its events are logged. Unschedulable: the hints of the plugins that
  // rejected it decide whether it is requeued.
  void Update(std::shared_ptr<const PodInfo> pod, std::optional<std::string> group);
  // It was deleted, or bound by another scheduler. Unknown uids are ignored.
  void Delete(UidRef pod);
  bool Contains(UidRef pod) const { return entries_.FindByPod(pod) != nullptr; }
  // The entry that holds the pod, or null.
  const QueueEntry* FindByPod(UidRef pod) const { return entries_.FindByPod(pod); }
  const QueueEntry* Find(absl::string_view key) const { return entries_.Find(key); }

  // --- Attempts ---

  // The next entry, now in flight; null if nothing is due. Takes from the backoff queue (not of
  // errors) if nothing is active, or it is the turn of a line that has nothing active. Valid until
  // it is given to Done() or AddUnschedulable(); its members may change as events come in. These
  // two and Placed() ignore whatever is not in flight.
  const QueueEntry* Pop();
  // Prefetches the entry of the next Pop(), and the data of the entry in flight, while that one is
  // tried: many waiting pods are not in the processor's cache. Returns the next pod if it is known
  // already and a single one; else null.
  const Identity* PrefetchNext(const QueueEntry& in_flight) const;
  // The pod of an entry in flight has a node: it is not pending any more.
  void Placed(const QueueEntry* in_flight, UidRef pod);
  // Ends the flight. Members that are left (they came while it lasted) are queued as active.
  void Done(const QueueEntry* in_flight);
  // Ends the flight with a failure: what is left of the entry waits for its backoff or for an
  // event, or is active at once if the hint of a plugin that returned Pending says so. Events since
  // Pop() count. An entry without members is deleted.
  void AddUnschedulable(const QueueEntry* in_flight, const Rejection& rejection);
  // The attempt continues after a yield, with what happened since Pop(): of the events so far only
  // activations still count. False if its pods are gone or belong to another entry now: then it is
  // Done().
  bool Resume(const QueueEntry* in_flight);
  // A pod that had been placed, whose entry is done, is pending again: its binding failed. It waits
  // for its backoff, which `history` (of its entry at that time) decides.
  void Return(std::shared_ptr<const PodInfo> pod, std::optional<std::string> group,
              const AttemptHistory& history, const Rejection& rejection);

  // --- Events ---

  // Something changed: asks the hints of plugins that registered for such an event and rejected an
  // entry, and requeues. A wildcard event with a pod in `change` concerns that pod alone. `scope`
  // limits it. If there are too many entries, the next Tick() does the rest, and the events that
  // come meanwhile; each event concerns the entries that wait when it comes.
  void MoveAllOnEvent(const ClusterEvent& event, const ObjectChange& change,
                      const EventScope& scope = {});
  // The work for events so far: a step takes some tenths of a microsecond.
  int64_t steps() const { return events_.steps(); }
  // Whether hints are still to be asked for an event.
  bool has_pending_events() const { return events_.has_pending(); }
  // Whether so many events are unfinished that no more should be taken in.
  bool has_many_pending_events() const { return events_.pending() >= kManyEvents; }
  // Makes the entries of these pods active at once, backoff or not; one in flight is tried again
  // after it comes back.
  void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods);
  // What a PreEnqueue plugin waited for has happened without an event: checks the gates of the
  // pod's entry again.
  void RecheckGates(absl::string_view uid);
  // No event will come for the pod: it is tried again after its backoff, or, if that is not
  // required, as soon as nothing else is active.
  enum class RetryBackoff : uint8_t { kUnlessIdle, kAlways };
  void Retry(absl::string_view uid, RetryBackoff backoff);
  // The same for a group, in all profiles.
  void RetryGroup(absl::string_view group, RetryBackoff backoff);
  // Members of the group that are not in the queue changed (bound, deleted): checks again whether
  // it is ready.
  void GroupChanged(absl::string_view group);

  // --- Time ---

  // Does what is due: moves entries that earlier events requeued, asks hints for unfinished events,
  // moves entries whose backoff ended, whose retry time has come, or that have been unschedulable
  // for too long. Returns whether more is due now, because there was too much for one call.
  bool Tick(absl::Time now);
  // When Tick() next has something to do; InfiniteFuture if never.
  absl::Time NextDue() const;
  // NextDue() without the safety net for long unschedulable pods.
  absl::Time NextRetry() const;

  // --- Reports ---

  // Every pending pod, in order of arrival.
  std::vector<PendingReport> Pending() const { return ReportPending(entries_, places_); }
  // One of them; absent if the pod is not in the queue.
  std::optional<PendingReport> Report(absl::string_view uid) const {
    return ReportOne(entries_, places_, uid);
  }
  // Pods.
  int size() const { return entries_.size(); }
  int active_size() const { return places_.active_size(); }  // entries
  int backoff_size() const { return places_.backoff_size(); }
  int unschedulable_size() const { return places_.unschedulable_size(); }
  int gated_size() const { return places_.gated_size(); }
  int in_flight_size() const { return in_flight_.size(); }
  // Walks through all entries.
  QueueCensus Count() const { return CountQueue(entries_, in_flight_); }
  // Whether Pop() would return an entry.
  bool CanPop() const { return places_.CanPop(); }

  // For tests: InvalidArgument with the first inconsistency found.
  absl::Status CheckInvariants() const;

 private:
  using Entry = QueueEntry;
  static constexpr size_t kManyEvents = 16;

  // Members.
  std::pair<Entry*, bool> FindOrCreate(const PodInfo& pod, const std::optional<std::string>& group);
  void Enter(PendingPod member, std::optional<std::string> group);
  void MembersGrew(Entry& entry);
  void AskAboutOwnUpdate(Entry& entry, const ObjectChange& change);
  void Erase(Entry& entry);
  std::vector<Entry*> EntriesOfGroup(absl::string_view group);

  // Events.
  void Retry(Entry& entry, RetryBackoff backoff);
  void OnEvent(Entry& entry, const ClusterEvent& event, const ObjectChange& change) override;
  void RequeueOne(Entry& entry, Symbol event, std::optional<RequeueStrategy> strategy) override;

  const std::vector<QueueProfile> profiles_;
  const Clock& clock_;
  const QueueOptions options_;
  const EventTable table_;
  const Backoff backoff_;
  uint64_t next_sequence_ = 0;  // of an entry

  QueueMetrics metrics_;
  EntryIndex entries_;
  SubQueues places_;
  Gates gates_;
  const QueueingHints hints_;
  RetryTurns turns_;
  EventQueue events_;
  Requeuer requeuer_;
  InFlight in_flight_;
  EarlyAttempts early_;
  uint64_t next_arrival_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_SCHEDULING_QUEUE_H_
