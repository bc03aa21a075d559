// SPDX-License-Identifier: Apache-2.0
// Implementation of sub_queues.h.
#include "queue/sub_queues.h"

#include <algorithm>
#include <vector>

#include "berth/check.h"

namespace berth {

void SubQueues::Add(QueueEntry& entry) {
  switch (entry.state) {
    case QueueState::kActive:
      if (lined_ != nullptr) return LineUp(entry);
      Sort([&] { active_.Push(entry); });
      break;
    case QueueState::kBackoff:
      Sort([&] { backoff_.Push(entry); });
      LineUp(entry);
      break;
    case QueueState::kErrorBackoff:
      error_backoff_.Push(entry);
      LineUp(entry);
      break;
    case QueueState::kUnschedulable:
      unschedulable_.Push(entry);
      LineUp(entry);
      if (entry.retry_at < absl::InfiniteFuture()) {
        retries_[{entry.retry_at, entry.sequence}] = &entry;
      }
      break;
    case QueueState::kGated:
      ++gated_size_;
      break;
    case QueueState::kInFlight:
      BERTH_CHECK(false) << "only Pop() starts a flight: " << entry.key;
  }
}

void SubQueues::Remove(QueueEntry& entry) {
  switch (entry.state) {
    case QueueState::kActive:
      return lined_ != nullptr ? LeaveLine(entry) : RemoveFrom(active_, entry);
    case QueueState::kBackoff:
      LeaveLine(entry);
      return RemoveFrom(backoff_, entry);
    case QueueState::kErrorBackoff:
      LeaveLine(entry);
      return error_backoff_.Remove(entry);
    case QueueState::kUnschedulable:
      LeaveLine(entry);
      if (entry.retry_at < absl::InfiniteFuture()) retries_.erase({entry.retry_at, entry.sequence});
      return unschedulable_.Remove(entry);
    case QueueState::kGated:
      --gated_size_;
      return;
    case QueueState::kInFlight:
      return;
  }
}

void SubQueues::Fix(QueueEntry& entry) {
  if (entry.state == QueueState::kBackoff) Sort([&] { backoff_.Fix(entry); });
  if (lined_ == nullptr) {
    if (entry.state == QueueState::kActive) Sort([&] { active_.Fix(entry); });
  } else if (entry.line >= 0) {
    LeaveLine(entry);
    LineUp(entry);
  }
}

QueueEntry* SubQueues::NextInLines() const {
  if (lined_->IsStale()) {
    std::vector<QueueEntry*> entries;
    const auto take = [&](QueueEntry& entry) { entries.push_back(&entry); };
    lined_->ForEachActive([&](QueueEntry& entry) {
      entry.place = QueueEntry::kNotInList;
      take(entry);
    });
    backoff_.ForEach(take);
    error_backoff_.ForEach(take);
    unschedulable_.ForEach(take);
    lined_->Restart();
    for (QueueEntry* entry : entries) {
      entry->place_in_line = QueueEntry::kNotInList;
      lined_->Add(*entry);
    }
  }
  return lined_->Next();
}

bool SubQueues::GoesBeforeAll(absl::Time backoff_expiration, int32_t priority, absl::Time timestamp,
                              uint64_t sequence, absl::Time window) const {
  const auto goes_before = [&](const QueueEntry& top) {
    if (priority != top.lead.priority()) return priority > top.lead.priority();
    if (timestamp != top.lead.timestamp) return timestamp < top.lead.timestamp;
    return sequence < top.sequence;
  };
  if (!active_.empty()) {
    return backoff_expiration < window && goes_before(active_.top());
  }
  if (backoff_.empty() || backoff_expiration < window) return true;
  const QueueEntry& top = backoff_.top();
  if (backoff_expiration != top.backoff_expiration) {
    return backoff_expiration < top.backoff_expiration;
  }
  return goes_before(top);
}

QueueEntry* SubQueues::EndedBackoff(absl::Time now) {
  const auto has_ended = [now](auto& heap) {
    return !heap.empty() && !Backoff::IsBackingOff(heap.top().backoff_expiration, now);
  };
  if (has_ended(backoff_)) return &backoff_.top();
  return has_ended(error_backoff_) ? &error_backoff_.top() : nullptr;
}

QueueEntry* SubQueues::DueRetry(absl::Time now) {
  const bool due = !retries_.empty() && retries_.begin()->first.first <= now;
  return due ? retries_.begin()->second : nullptr;
}

QueueEntry* SubQueues::UnschedulableSince(absl::Time time) {
  const bool due = !unschedulable_.empty() && unschedulable_.top().timestamp <= time;
  return due ? &unschedulable_.top() : nullptr;
}

absl::Time SubQueues::NextDue() const {
  absl::Time due = retries_.empty() ? absl::InfiniteFuture() : retries_.begin()->first.first;
  if (!backoff_.empty()) due = std::min(due, Backoff::End(backoff_.top().backoff_expiration));
  if (!error_backoff_.empty()) {
    due = std::min(due, Backoff::End(error_backoff_.top().backoff_expiration));
  }
  return due;
}

absl::Time SubQueues::FirstUnschedulable() const {
  return unschedulable_.empty() ? absl::InfiniteFuture() : unschedulable_.top().timestamp;
}

bool SubQueues::IsConsistent() const {
  return (lined_ == nullptr || lined_->IsConsistent()) && active_.IsConsistent() &&
         backoff_.IsConsistent() && error_backoff_.IsConsistent() && unschedulable_.IsConsistent();
}

bool SubQueues::HasRetry(const QueueEntry& entry) const {
  const auto it = retries_.find({entry.retry_at, entry.sequence});
  return it != retries_.end() && it->second == &entry;
}

}  // namespace berth
