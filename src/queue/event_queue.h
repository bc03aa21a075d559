// SPDX-License-Identifier: Apache-2.0
// Puts events to the queueing hints of waiting entries and requeues them: in portions where they
// are many.
#ifndef BERTH_SRC_QUEUE_EVENT_QUEUE_H_
#define BERTH_SRC_QUEUE_EVENT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "berth/framework/enqueue.h"
#include "queue/entry_index.h"
#include "queue/event_table.h"
#include "queue/hint_classes.h"
#include "queue/queue_entry.h"
#include "queue/queueing_hints.h"
#include "queue/retry_turns.h"
#include "queue/stored_event.h"

namespace berth {

// The entries that an event may concern: those with a pod in the scope.
struct EventScope {
  int32_t highest_priority = std::numeric_limits<int32_t>::max();  // pods up to it
  bool own = true;                                                 // also the pod that changed
  std::string except_group = {};  // "namespace/name": not the entry of this group; empty: of any

  bool IsAll() const { return own && highest_priority == std::numeric_limits<int32_t>::max(); }
};

// Belongs to the queue.
class EventQueue {
 public:
  // What is done to an entry. Either may put it elsewhere, and brings the index up to date.
  class Listener {
   public:
    virtual ~Listener() = default;
    // A plugin that the entry waits for registered for the event.
    virtual void OnEvent(QueueEntry& entry, const ClusterEvent& event,
                         const ObjectChange& change) = 0;
    // It is unschedulable and worth to be tried again; or, without `strategy`, gated, and its gate
    // may open.
    virtual void RequeueOne(QueueEntry& entry, Symbol event,
                            std::optional<RequeueStrategy> strategy) = 0;
  };
  // At once, of each; at least 1.
  struct Limits {
    size_t moves;
    size_t hints;
  };
  // Everything outlives this.
  EventQueue(const EventTable& table, const QueueingHints& hints, EntryIndex& entries,
             RetryTurns& turns, const Limits& limits, Listener& listener)
      : table_(table),
        hints_(hints),
        entries_(entries),
        turns_(turns),
        limits_(limits),
        listener_(listener),
        hint_classes_(2 * SlotsOfAll()) {}

  // An event for the entries that wait now. Returns false if it interests no plugin, or may help no
  // pod.
  bool Put(const ClusterEvent& event, const ObjectChange& change, const EventScope& scope);
  // Does a portion of what is left. Returns whether entries are still to be moved.
  bool Continue();
  // The entry is about to change: puts earlier events to it first.
  void ApplyPendingEvents(QueueEntry& entry);
  // Keeps the index, of the entries that wait for a plugin's events, in step with the entry.
  void Reindex(QueueEntry& entry);

  // The work for events so far: a step takes some tenths of a microsecond.
  int64_t steps() const { return steps_; }
  // Whether hints are still to be asked for an event.
  bool has_pending() const { return !pending_events_.empty(); }
  size_t pending() const { return pending_events_.size(); }
  // Whether entries are still to be moved.
  bool has_requeued() const { return !requeuing_.empty(); }

  // For tests: `waiting` entries are in a class.
  absl::Status CheckInvariants(size_t waiting) const;

 private:
  // An event, for the entries that waited when it occurred.
  struct Question {
    const ClusterEvent& event;
    const ObjectChange& change;
    EventScope scope;
    absl::Span<const PluginSlot> interested;
    uint64_t number = 0;      // by order of occurrence
    uint64_t next_class = 0;  // classes with lower numbers have been asked
    bool pod_left = false;    // RetryTurns chooses which entry is tried
    bool has_begun = false;
  };
  // The entries to be requeued.
  struct Concerned {
    QueueEntry* entry;
    std::optional<RequeueStrategy> strategy;  // if it is known already
  };
  struct ConcernedClass {
    HintClass* hint_class;  // its entries that the event concerns, except the one that changed
    std::optional<RequeueStrategy> strategy;
  };
  struct Answers {
    std::vector<Concerned> entries;
    std::vector<ConcernedClass> classes;
    size_t of_classes = 0;  // the number of entries in `classes`
  };
  void Put(Question question);
  bool Ask(Question& question, size_t most);
  void AskClass(HintClass& hint_class, const Question& question, QueueEntry* own, Answers& answers);
  bool IsMeant(const QueueEntry& entry, const Question& question, const QueueEntry* own) const;
  bool HandlePendingEvents();
  uint64_t FirstPendingEvent(const QueueEntry& entry) const;
  void Act(Answers answers, const Question& question, const QueueEntry* own);
  void Move(std::vector<Concerned> entries, const Question& question);
  void BeginToRequeue(const Answers& answers, const Question& question, const QueueEntry* own);
  bool RequeueSome();

  QueueEntry* OwnEntry(const ObjectChange& change);
  // The unregistered ones too. Of each there is another one, for classes whose entries take turns.
  int SlotsOfAll() const { return table_.size() + 1; }
  std::vector<HintClass*> ClassesToAsk(const Question& question, const QueueEntry* own,
                                       size_t most);
  std::vector<IndexKey> FindIndexKeys(const QueueEntry& entry,
                                      absl::Span<const PluginSlot> slots) const;

  const EventTable& table_;
  const QueueingHints& hints_;
  EntryIndex& entries_;
  RetryTurns& turns_;
  const Limits limits_;
  Listener& listener_;
  HintClasses hint_classes_;  // entries that events may concern
  // Unfinished events, in the order in which they occurred: hints have not been asked for all
  // entries that waited then. Only the first has begun.
  struct PendingEvent {
    explicit PendingEvent(const Question& of)
        : kept(of.event, of.change), question{kept.event(),  kept.change(), of.scope,
                                              of.interested, of.number,     of.next_class,
                                              of.pod_left,   of.has_begun} {}
    StoredEvent kept;
    Question question;
  };
  std::deque<PendingEvent> pending_events_;
  uint64_t next_event_ = 0;  // the number of the next event
  // Entries that events requeued and that have not been moved yet, the first to be moved in front.
  struct Requeuing {
    std::unique_ptr<HintClass> hint_class;
    Symbol event;
    std::optional<RequeueStrategy> strategy;  // absent: it is gated
  };
  std::deque<Requeuing> requeuing_;
  int64_t steps_ = 0;
  std::vector<uint64_t> values_;  // of one change; kept for its memory
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_EVENT_QUEUE_H_
