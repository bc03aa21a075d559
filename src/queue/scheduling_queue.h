// SPDX-License-Identifier: Apache-2.0
// The scheduling queue: which group of pods is tried next, and when a rejected one is tried again.
// As kube-scheduler v1.35 backend/queue with queueing hints and PopFromBackoffQ, by groups.
#ifndef BERTH_SRC_QUEUE_SCHEDULING_QUEUE_H_
#define BERTH_SRC_QUEUE_SCHEDULING_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/identity_map.h"
#include "berth/clock.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/group.h"
#include "berth/framework/queue_sort.h"
#include "framework/fault_log.h"
#include "queue/backoff.h"
#include "queue/event_log.h"
#include "queue/hint_classes.h"
#include "queue/ordered_entries.h"
#include "queue/plugin_events.h"
#include "queue/queued_group.h"
#include "queue/stored_event.h"

namespace berth {

// What the queue must know of a profile. The plugins outlive the queue.
struct QueueProfile {
  Symbol name;  // schedulerName
  // Every plugin that can reject, with its events; only the timeout requeues pods of a plugin that
  // is not listed.
  std::vector<PluginEvents> plugins;
  // All PreEnqueue plugins, `first` (if not empty) before the others; a rejection names its plugin.
  // Absent: no gates.
  std::function<Status(const PodInfo&, Symbol first)> pre_enqueue;
  // Asked for ReadyToSchedule() and for the creation time of groups; null: groups are always ready.
  const GroupPlugin* group_plugin = nullptr;
  Symbol group_plugin_name;
};

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
};

// A pending pod for a report.
struct PendingReport {
  std::shared_ptr<const PodInfo> pod;
  std::string group;  // empty for a single pod
  QueueState state;   // kGated for a gated pod of a group that is not
  Status status;      // why; its plugin() is the one that rejected or gates
  int attempts = 0;
  // Of the last attempt; null before it, or if the pod is gated.
  std::shared_ptr<const WaitingFor> waiting = nullptr;
  absl::Time backoff_end = absl::InfinitePast();  // of entries in backoff
};

// The entries that an event may concern: those with a pod in the scope.
struct EventScope {
  int32_t highest_priority = std::numeric_limits<int32_t>::max();  // pods up to it
  bool own = true;                                                 // also the pod that changed

  bool IsAll() const { return own && highest_priority == std::numeric_limits<int32_t>::max(); }
};

// Each pod is in exactly one place: an entry that is active, in backoff, unschedulable, gated or in
// flight. Entries are compared by the QueueSort plugin, then by arrival.
//
// The group index (Groups) must have a change before the queue gets it. Belongs to the scheduling
// thread.
class SchedulingQueue {
 public:
  // `sort`, `groups` and `clock` outlive the queue. `groups` may be null if no profile has a group
  // plugin.
  SchedulingQueue(const QueueSortPlugin& sort, std::vector<QueueProfile> profiles,
                  const Groups* groups, const Clock& clock, QueueOptions options = {});
  ~SchedulingQueue();
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
  bool Contains(UidRef pod) const { return FindEntryOf(pod) != nullptr; }
  // The entry that holds the pod, or null.
  const QueuedGroup* FindByPod(UidRef pod) const { return FindEntryOf(pod); }
  const QueuedGroup* Find(absl::string_view key) const;

  // --- Attempts ---

  // The next entry, now in flight; null if nothing is due. Takes from the backoff queue (not of
  // errors) if nothing is active. Valid until it is given to Done() or AddUnschedulable(); its
  // members may change as events come in. These two and Placed() ignore whatever is not in flight.
  const QueuedGroup* Pop();
  // Prefetches the entry of the next Pop(), and the data of the entry in flight, while that one is
  // tried: many waiting pods are not in the processor's cache. Returns the next pod if it is known
  // already and a single one; else null.
  const Identity* PrefetchNext(const QueuedGroup& in_flight) const;
  // The pod of an entry in flight has a node: it is not pending any more.
  void Placed(const QueuedGroup* in_flight, UidRef pod);
  // Ends the flight. Members that are left (they came while it lasted) are queued as active.
  void Done(const QueuedGroup* in_flight);
  // Ends the flight with a failure: what is left of the entry waits for its backoff or for an
  // event, or is active at once if the hint of a plugin that returned Pending says so. Events since
  // Pop() count. An entry without members is deleted.
  void AddUnschedulable(const QueuedGroup* in_flight, const Rejection& rejection);
  // The attempt continues after a yield, with what happened since Pop(): of the events so far only
  // activations still count. False if its pods are gone or belong to another entry now: then it is
  // Done().
  bool Resume(const QueuedGroup* in_flight);
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
  int64_t steps() const { return steps_; }
  // Whether hints are still to be asked for an event.
  bool has_pending_events() const { return !pending_events_.empty(); }
  // Whether so many events are unfinished that no more should be taken in.
  bool has_many_pending_events() const {
    return has_pending_events() && pending_events_.size() >= kManyEvents;
  }
  // Makes the entries of these pods active at once, backoff or not; one in flight is tried again
  // after it comes back.
  void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods);
  // What a PreEnqueue plugin waited for has happened without an event: checks the gates of the
  // pod's entry again.
  void RecheckGates(absl::string_view uid);
  // No event will come for the pod: it is tried again after its backoff, or, if that is not
  // required, as soon as nothing else is active.
  enum class RetryBackoff : uint8_t { kUnlessIdle, kAlways };
  void Retry(absl::string_view uid, RetryBackoff rest);
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
  std::vector<PendingReport> Pending() const;
  // One of them; absent if the pod is not in the queue.
  std::optional<PendingReport> Report(absl::string_view uid) const;
  // Pods.
  int size() const;
  int active_size() const { return active_.size(); }  // entries
  int backoff_size() const { return backoff_.size() + error_backoff_.size(); }
  int unschedulable_size() const { return unschedulable_.size(); }
  int gated_size() const { return gated_size_; }
  int in_flight_size() const { return static_cast<int>(in_flight_.size()); }
  // Whether Pop() would return an entry.
  bool CanPop() const { return !active_.empty() || !backoff_.empty(); }

  // For tests: InvalidArgument with the first inconsistency found.
  absl::Status CheckInvariants() const;

 private:
  using Entry = QueuedGroup;
  static constexpr size_t kManyEvents = 16;
  enum class Strategy : uint8_t { kSkip, kAfterBackoff, kImmediately };  // rising
  enum class Gates : uint8_t { kSkip, kGroupOnly, kAll };

  struct ActiveLess {
    const QueueSortPlugin* sort;
    bool operator()(const Entry& a, const Entry& b) const {
      if (sort->Less(a.lead, b.lead)) return true;
      if (sort->Less(b.lead, a.lead)) return false;
      return a.sequence < b.sequence;
    }
  };
  struct BackoffLess {
    ActiveLess active;
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.backoff_expiration != b.backoff_expiration) {
        return a.backoff_expiration < b.backoff_expiration;
      }
      return active(a, b);
    }
  };
  struct ErrorBackoffLess {
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.backoff_expiration != b.backoff_expiration) {
        return a.backoff_expiration < b.backoff_expiration;
      }
      return a.sequence < b.sequence;
    }
  };
  struct UnschedulableLess {
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
      return a.sequence < b.sequence;
    }
  };

  // Entries.
  const QueueProfile* ProfileOf(Symbol name) const;
  std::optional<GroupSpec> SpecOf(const Entry& entry) const;
  const Entry* FindEntry(absl::string_view key) const;
  Entry* FindEntry(absl::string_view key) {
    return const_cast<Entry*>(std::as_const(*this).FindEntry(key));
  }
  Entry* InFlight(const QueuedGroup* entry) const;
  const Entry* FindEntryOf(UidRef pod) const {
    const Entry* const single = single_pods_.Find(pod);
    if (single != nullptr && single->is_taken) return single;
    Entry* const* const group = group_of_.Find(pod);
    return group == nullptr ? nullptr : *group;
  }
  Entry* FindEntryOf(UidRef pod) {
    return const_cast<Entry*>(std::as_const(*this).FindEntryOf(pod));
  }
  // The entry that `pod` belongs to; a new one is in no place yet.
  std::pair<Entry*, bool> FindOrCreate(const PodInfo& pod, const std::optional<std::string>& group);

  // Members.
  void Enter(PendingPod member, std::optional<std::string> group);
  void Insert(Entry& entry, PendingPod member);
  void MembersGrew(Entry& entry);
  void RemoveMember(Entry& entry, UidRef pod);
  void Unlist(Entry& entry, UidRef pod);
  void AskAboutOwnUpdate(Entry& entry, const ObjectChange& change);
  std::vector<PendingPod> TakeStrayMembers(Entry& entry);
  void SetLead(Entry& entry);

  // Gates.
  Status PodGate(const Entry& entry, const PendingPod& member) const;
  Status GroupGate(const Entry& entry) const;
  bool OpenGates(Entry& entry, const std::function<bool(const PendingPod&)>& asked);
  void AskPodGates(Entry& entry);
  bool PassesGates(Entry& entry, Gates gates);
  void RecheckGroup(Entry& entry);

  // Places.
  // Runs code that calls Less, and counts it as a slow call of the plugin if it is slow.
  template <class Sorting>
  void Sort(const Sorting& sorting) {
    if (options_.fault_log == nullptr) return sorting();
    CallTimer timer(*options_.fault_log);
    timer.Start();
    sorting();
    timer.Lap(options_.queue_sort_name, "Less");
  }
  template <class Less>
  void Remove(OrderedEntries<Less>& entries, Entry& entry) {
    if (entries.IsInLine(entry)) return entries.Remove(entry);  // which calls no Less
    Sort([&] { entries.Remove(entry); });
  }
  void Detach(Entry& entry);
  void Attach(Entry& entry, QueueState state);
  void MoveToActive(Entry& entry, Gates gates);
  void MoveToBackoff(Entry& entry, Gates gates);
  void Requeue(Entry& entry, Strategy strategy, Gates gates);
  void EndFlight(Entry& entry);
  void CountFailure(Entry& entry, const Rejection& rejection);
  void RequireBackoff(Entry& entry);
  void Erase(Entry& entry);
  // Calls `visit` for every entry, in no order.
  template <class Visit>
  void ForEachEntry(const Visit& visit) const {
    single_pods_.ForEach([&](const Identity&, const Entry& entry) { visit(entry); });
    for (const auto& [key, entry] : groups_of_pods_) visit(*entry);
  }

  // Events.
  Strategy WorthRequeuing(const Entry& entry, const ClusterEvent& event,
                          const ObjectChange& change) const;
  bool AnyRejectorWants(const Entry& entry, const ClusterEvent& event, const ObjectChange& change,
                        const PodInfo& pod) const;
  Strategy WorthAfterFlight(const Entry& entry) const;
  static bool IsOwn(const ObjectChange& change, const PodInfo& pod);
  bool IsAbout(const ObjectChange& change, const Entry& entry) const;
  Entry* OwnEntry(const ObjectChange& change);
  bool MayOpenGate(const Entry& entry, const PendingPod& member, const ClusterEvent& event,
                   const ObjectChange& change) const;
  bool GatingPluginWants(const Entry& entry, const ClusterEvent& event,
                         const ObjectChange& change) const;
  bool MayConcern(const Entry& entry, const ClusterEvent& event, const ObjectChange& change) const;
  void OnEvent(Entry& entry, const ClusterEvent& event, const ObjectChange& change);
  void Record(const ClusterEvent& event, const ObjectChange& change);
  void Reindex(Entry& entry);

  // Requeueing.
  // An event, for the entries that waited when it occurred.
  struct Question {
    const ClusterEvent& event;
    const ObjectChange& change;
    EventScope scope;
    absl::Span<const PluginSlot> interested;
    uint64_t number = 0;      // by order of occurrence
    uint64_t next_class = 0;  // classes with lower numbers have been asked
  };
  // The entries to be requeued.
  struct Concerned {
    Entry* entry;
    std::optional<Strategy> strategy;  // if it is known already
  };
  struct ConcernedClass {
    HintClass* kind;  // its entries that the event concerns, except the one that changed
    std::optional<Strategy> strategy;
  };
  struct Answers {
    std::vector<Concerned> entries;
    std::vector<ConcernedClass> kinds;
    size_t of_classes = 0;  // the number of entries in `kinds`
  };
  void Put(Question question);
  bool Ask(Question& question, size_t most);
  void AskClass(HintClass& kind, const Question& question, Entry* own, Answers& answers);
  bool IsMeant(const Entry& entry, const Question& question, const Entry* own) const;
  bool HandlePendingEvents();
  uint64_t FirstPendingEvent(const Entry& entry) const;
  void ApplyPendingEvents(Entry& entry);
  void Act(Answers answers, const Question& question, const Entry* own);
  void Move(std::vector<Concerned> entries, const Question& question);
  void BeginToRequeue(const Answers& answers, const Question& question, const Entry* own);
  bool RequeueSome();
  void RequeueOne(Entry& entry, Symbol event, std::optional<Strategy> strategy);

  PendingReport ReportOf(const Entry& entry, const PendingPod& member, bool gated) const;

  const std::vector<QueueProfile> profiles_;
  const Groups* const groups_;
  const Clock& clock_;
  const QueueOptions options_;
  const Backoff backoff_policy_;
  const EventTable table_;

  IdentityMap<Entry, ByUid> single_pods_;
  absl::flat_hash_map<std::string, std::unique_ptr<Entry>> groups_of_pods_;  // by key
  IdentityMap<Entry*, ByUid> group_of_;  // of pods that are in one: the entry in the above
  OrderedEntries<ActiveLess> active_;
  OrderedEntries<BackoffLess> backoff_;
  OrderedEntries<ErrorBackoffLess> error_backoff_;
  OrderedEntries<UnschedulableLess> unschedulable_;
  // Of these, those that are tried again at a certain time; by that, then by sequence.
  std::map<std::pair<absl::Time, uint64_t>, Entry*> retries_;
  int gated_size_ = 0;
  HintClasses hint_classes_;  // entries that events may concern
  // Unfinished events, in the order in which they occurred: hints have not been asked for all
  // entries that waited then. Only the first has begun.
  struct PendingEvent {
    explicit PendingEvent(const Question& of)
        : kept(of.event, of.change), question{kept.event(),  kept.change(), of.scope,
                                              of.interested, of.number,     of.next_class} {}
    StoredEvent kept;
    Question question;
  };
  std::deque<PendingEvent> pending_events_;
  uint64_t next_event_ = 0;  // the number of the next event
  // Entries that events requeued and that have not been moved yet, the first to be moved in front.
  struct Requeuing {
    std::unique_ptr<HintClass> kind;
    Symbol event;
    std::optional<Strategy> strategy;  // absent: it is gated
  };
  std::deque<Requeuing> requeuing_;
  int64_t steps_ = 0;
  EventLog log_;
  std::vector<Entry*> in_flight_;  // by order of Pop(); few
  uint64_t next_arrival_ = 0;
  uint64_t next_sequence_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_SCHEDULING_QUEUE_H_
