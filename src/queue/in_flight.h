// SPDX-License-Identifier: Apache-2.0
// The entries that are being tried, and the events since.
#ifndef BERTH_SRC_QUEUE_IN_FLIGHT_H_
#define BERTH_SRC_QUEUE_IN_FLIGHT_H_

#include <algorithm>
#include <vector>

#include "queue/queue_entry.h"
#include "queue/stored_event_log.h"

namespace berth {

// Belongs to the queue.
class InFlight {
 public:
  // The entry was popped: events from now on concern it.
  void Begin(QueueEntry& entry) {
    entry.first_event = events_.end();
    entry.changed_in_flight = false;
    entry.backs_off_after = false;
    entries_.push_back(&entry);
  }
  // The entry is tried further; what has happened so far has been looked at.
  void Renew(QueueEntry& entry) {
    entry.first_event = events_.end();
    Prune();
  }
  void End(QueueEntry& entry) {
    entries_.erase(std::find(entries_.begin(), entries_.end(), &entry));
    Prune();
  }
  // `entry`, if it is in flight; or null.
  QueueEntry* Find(const QueueEntry* entry) const {
    const auto it = std::find(entries_.begin(), entries_.end(), entry);
    return it == entries_.end() ? nullptr : *it;
  }
  void Record(const ClusterEvent& event, const ObjectChange& change) {
    if (!entries_.empty()) events_.Append(event, change);
  }

  int size() const { return static_cast<int>(entries_.size()); }
  const StoredEventLog& events() const { return events_; }

 private:
  void Prune() {
    events_.PruneBefore(entries_.empty() ? events_.end() : entries_.front()->first_event);
  }

  StoredEventLog events_;
  std::vector<QueueEntry*> entries_;  // by order of Pop(); few
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_IN_FLIGHT_H_
