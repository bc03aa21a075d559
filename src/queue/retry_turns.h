// SPDX-License-Identifier: Apache-2.0
// Pods that wait for room on a node take turns: of those that an event wakes, only the ones are
// tried that may fit.
#ifndef BERTH_SRC_QUEUE_RETRY_TURNS_H_
#define BERTH_SRC_QUEUE_RETRY_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "berth/clock.h"
#include "queue/backoff.h"
#include "queue/event_table.h"
#include "queue/free_resources_view.h"
#include "queue/queue_entry.h"
#include "queue/sub_queues.h"

namespace berth {

// The waiting pods of one priority, in the order in which they would be tried.
struct RetryLine {
  // What its entry would have if each attempt had been made; the entry has what it had when it
  // joined the line.
  struct Waiting {
    QueueEntry* entry = nullptr;  // null: it left the line
    uint64_t sequence = 0;
    absl::Time timestamp, backoff_expiration;
    FreeResources needed;
    Symbol profile;
  };
  const int32_t priority;
  std::vector<Waiting> waiting;  // by sequence
  size_t size = 0;               // so many of them have an entry
  size_t first = 0;              // no entry waits in front of it
  size_t asleep = 0;             // from here on they have been tried since the latest event
  QueueEntry* turn = nullptr;    // is tried for the line: active, in backoff or in flight
  std::vector<Symbol> nodes;     // which pods left since those that are awake were tried
  Symbol event;                  // that woke them
  bool nodes_changed = false;    // since some were tried: what is certain of them is not any more

  bool empty() const { return first == waiting.size(); }
  bool awake() const { return first < asleep; }
};

// When a pod leaves its node, each pod that waits for room could be tried, and mostly one of them
// fits. Instead the first of each line is tried; after it the next that is not certain to fail;
// what is certain is counted as if it had been tried at its turn: its backoff starts again, and it
// goes behind the others. So the queue has the order that it has if all are tried. Only for entries
// whose backoff cannot grow any more, under a QueueSortPlugin::IsByPriorityAndTime(). Belongs to
// the queue.
class RetryTurns {
 public:
  using Wake = std::function<void(QueueEntry& entry, Symbol event)>;

  // `wake` requeues an entry. `room` may be null: then no entry takes turns. All outlive this.
  RetryTurns(FreeResourcesView* room, const EventTable& table, const Clock& clock,
             const Backoff& backoff, SubQueues& places, uint64_t& next_sequence, Wake wake)
      : free_resources_(room),
        table_(table),
        clock_(clock),
        backoff_(backoff),
        places_(places),
        next_sequence_(next_sequence),
        wake_(std::move(wake)) {}

  // The entry is unschedulable. Returns whether it waits in a line from now on, or did already.
  bool Join(QueueEntry& entry);
  // It is tried, or deleted, or waits otherwise: it gets what it would have. Nothing if it is in no
  // line.
  void Leave(QueueEntry& entry);
  // The same if it is about to change. It is requeued if it would have been by now.
  void Release(QueueEntry& entry);
  // It gets the time at which it would have been tried last. Returns whether it did not have that.
  bool BringTimeUpToDate(QueueEntry& entry);
  // A pod left the node.
  void PodLeft(Symbol node, Symbol event);
  // A Node object is new, changed or gone.
  void NodeChanged();
  // The attempt of the entry ended, or will not come. Nothing if it has no turn.
  void EndTurn(QueueEntry& entry);
  // Gives turns to the next ones where one has ended.
  void Continue();
  // Whether Continue() has something to do.
  bool is_due() const { return !due_.empty(); }

  bool empty() const { return lines_.empty(); }
  // For tests: InvalidArgument with the first inconsistency found.
  absl::Status CheckInvariants() const;

 private:
  bool Qualifies(const QueueEntry& entry) const;
  RetryLine::Waiting& Find(const QueueEntry& entry) const;
  void WakeAll(RetryLine& line);
  void GiveTurn(RetryLine& line);
  void GiveTurnToNext(RetryLine& line);
  static void CloseGaps(RetryLine& line);

  FreeResourcesView* const free_resources_;
  const EventTable& table_;
  const Clock& clock_;
  const Backoff& backoff_;
  SubQueues& places_;
  uint64_t& next_sequence_;
  const Wake wake_;
  std::map<int32_t, RetryLine, std::greater<>> lines_;  // by priority
  std::vector<int32_t> due_;  // the priorities of lines whose turn has ended
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_RETRY_TURNS_H_
