// SPDX-License-Identifier: Apache-2.0
// The places of the queue: active, backoff, error backoff, unschedulable, gated.
#ifndef BERTH_SRC_QUEUE_SUB_QUEUES_H_
#define BERTH_SRC_QUEUE_SUB_QUEUES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "berth/framework/queue_sort.h"
#include "framework/fault_log.h"
#include "queue/backoff.h"
#include "queue/lined_entries.h"
#include "queue/ordered_entries.h"
#include "queue/queue_entry.h"

namespace berth {

// An entry is in the place of its state; one in flight is in none. Belongs to the queue.
class SubQueues {
 public:
  // `sort` outlives this; and `fault_log`, where sorting that takes long is counted, unless null;
  // and `order`, which decides among lines, unless null: then all active entries are in one.
  SubQueues(const QueueSortPlugin& sort, FaultLog* fault_log, Symbol queue_sort_name,
            QueueOrder* order = nullptr)
      : lined_(order == nullptr ? nullptr : std::make_unique<LinedEntries>(sort, *order)),
        fault_log_(fault_log),
        queue_sort_name_(queue_sort_name),
        active_(ActiveLess{&sort}),
        backoff_(BackoffLess{ActiveLess{&sort}}),
        error_backoff_(ErrorBackoffLess{}),
        unschedulable_(UnschedulableLess{}) {}

  void Add(QueueEntry& entry);
  void Remove(QueueEntry& entry);
  // The pod that leads the entry was replaced.
  void Fix(QueueEntry& entry);

  // The next to be tried: the first active one, or, where none is or it is their line's turn, of
  // those in backoff, not after an error.
  bool CanPop() const {
    return lined_ != nullptr ? NextInLines() != nullptr : !active_.empty() || !backoff_.empty();
  }
  QueueEntry& Next() {
    if (lined_ != nullptr) return *NextInLines();
    return active_.empty() ? backoff_.top() : active_.top();
  }
  // Whether an entry with these would be Next(), where QueueSort is by priority and time.
  // `window`: Backoff::WindowOf() of now.
  bool GoesBeforeAll(absl::Time backoff_expiration, int32_t priority, absl::Time timestamp,
                     uint64_t sequence, absl::Time window) const;
  // Where there are lines: whether those in backoff whose line's turn it is let active ones go
  // first now.
  void SetActiveAlone(bool active_alone) {
    if (lined_ != nullptr) lined_->SetActiveAlone(active_alone);
  }
  // The entry that it waits behind in a strict line, or null.
  const QueueEntry* BlockerOf(const QueueEntry& entry) const {
    return lined_ == nullptr ? nullptr : lined_->BlockerOf(entry);
  }
  // An active entry that may come soon, or null.
  const QueueEntry* Upcoming(int place) const { return active_.Upcoming(place); }
  // The first of those whose time has come, or null.
  QueueEntry* EndedBackoff(absl::Time now);
  QueueEntry* DueRetry(absl::Time now);
  QueueEntry* UnschedulableSince(absl::Time time);
  // When the first backoff ends or retry is due; InfiniteFuture if there is none.
  absl::Time NextDue() const;
  // Since when the first unschedulable entry is; InfiniteFuture if there is none.
  absl::Time FirstUnschedulable() const;

  int active_size() const { return lined_ != nullptr ? lined_->active_size() : active_.size(); }
  int backoff_size() const { return backoff_.size() + error_backoff_.size(); }
  int unschedulable_size() const { return unschedulable_.size(); }
  int gated_size() const { return gated_size_; }

  // For tests.
  bool IsConsistent() const;
  bool HasRetry(const QueueEntry& entry) const;
  size_t retries() const { return retries_.size(); }

 private:
  struct ActiveLess {
    const QueueSortPlugin* sort;
    bool operator()(const QueueEntry& a, const QueueEntry& b) const {
      if (sort->Less(a.lead, b.lead)) return true;
      if (sort->Less(b.lead, a.lead)) return false;
      return a.sequence < b.sequence;
    }
  };
  struct BackoffLess {
    ActiveLess active;
    bool operator()(const QueueEntry& a, const QueueEntry& b) const {
      if (a.backoff_expiration != b.backoff_expiration) {
        return a.backoff_expiration < b.backoff_expiration;
      }
      return active(a, b);
    }
  };
  struct ErrorBackoffLess {
    bool operator()(const QueueEntry& a, const QueueEntry& b) const {
      if (a.backoff_expiration != b.backoff_expiration) {
        return a.backoff_expiration < b.backoff_expiration;
      }
      return a.sequence < b.sequence;
    }
  };
  struct UnschedulableLess {
    bool operator()(const QueueEntry& a, const QueueEntry& b) const {
      if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
      return a.sequence < b.sequence;
    }
  };

  // Null if there is none; else at least one of those that may be popped.
  QueueEntry* NextInLines() const;
  void LineUp(QueueEntry& entry) {
    if (lined_ != nullptr) Sort([&] { lined_->Add(entry); });
  }
  void LeaveLine(QueueEntry& entry) {
    if (lined_ != nullptr) Sort([&] { lined_->Remove(entry); });
  }

  // Runs code that calls Less, and counts it as a slow call of the plugin if it is slow.
  template <class Sorting>
  void Sort(const Sorting& sorting) const {
    if (fault_log_ == nullptr) return sorting();
    CallTimer timer(*fault_log_);
    timer.Start();
    sorting();
    timer.Lap(queue_sort_name_, "Less");
  }
  template <class Less>
  void RemoveFrom(OrderedEntries<Less>& entries, QueueEntry& entry) {
    if (entries.IsInDeque(entry)) return entries.Remove(entry);  // which calls no Less
    Sort([&] { entries.Remove(entry); });
  }

  const std::unique_ptr<LinedEntries> lined_;  // then `active_` is empty
  FaultLog* const fault_log_;
  const Symbol queue_sort_name_;
  OrderedEntries<ActiveLess> active_;
  OrderedEntries<BackoffLess> backoff_;
  OrderedEntries<ErrorBackoffLess> error_backoff_;
  OrderedEntries<UnschedulableLess> unschedulable_;
  // The unschedulable ones that are tried again at a certain time; by that, then by sequence.
  std::map<std::pair<absl::Time, uint64_t>, QueueEntry*> retries_;
  int gated_size_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_SUB_QUEUES_H_
