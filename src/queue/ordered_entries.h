// SPDX-License-Identifier: Apache-2.0
// The entries of one place of the queue in order, any of which can be removed or moved.
#ifndef BERTH_SRC_QUEUE_ORDERED_ENTRIES_H_
#define BERTH_SRC_QUEUE_ORDERED_ENTRIES_H_

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "berth/check.h"
#include "queue/queue_entry.h"

namespace berth {

// Most entries come in the order in which they go, or nearly: those that belong behind all others
// wait in a deque, which costs one comparison an entry; the rest are in a binary heap beside it. An
// entry is in one of these at most for each kPlace. Holds no ownership.
template <class Less, int64_t QueueEntry::*kPlace = &QueueEntry::place>
class OrderedEntries {
 public:
  explicit OrderedEntries(Less less) : less_(std::move(less)) {}

  bool empty() const { return size() == 0; }
  int size() const { return in_deque_ + static_cast<int>(heap_.size()); }
  // The least entry.
  QueueEntry& top() const {
    if (in_deque_ == 0) return *heap_.front();
    if (heap_.empty()) return *deque_.front();
    return less_(*heap_.front(), *deque_.front()) ? *heap_.front() : *deque_.front();
  }
  // The one in the deque that is `steps` behind its first; null if there is none, or a gap.
  QueueEntry* Upcoming(size_t steps) const {
    return steps < deque_.size() ? deque_[steps] : nullptr;
  }
  // Whether the entry, which is one of these, is in the deque.
  static bool IsInDeque(const QueueEntry& entry) { return entry.*kPlace < QueueEntry::kNotInList; }
  // Calls `visit` for every entry, in no order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (QueueEntry* entry : deque_) {
      if (entry != nullptr) visit(*entry);
    }
    for (QueueEntry* entry : heap_) visit(*entry);
  }

  void Push(QueueEntry& entry) {
    BERTH_DCHECK(entry.*kPlace == QueueEntry::kNotInList) << entry.key;
    if (in_deque_ == 0 || !less_(entry, *deque_.back())) {
      entry.*kPlace = DequeIndex(deque_begin_ + static_cast<int64_t>(deque_.size()));
      deque_.push_back(&entry);
      ++in_deque_;
    } else {
      heap_.push_back(&entry);
      Up(static_cast<int64_t>(heap_.size()) - 1);
    }
  }
  void Remove(QueueEntry& entry) {
    const int64_t place = std::exchange(entry.*kPlace, QueueEntry::kNotInList);
    if (place < 0) return RemoveFromDeque(DequeIndex(place));
    QueueEntry* const last = heap_.back();
    heap_.pop_back();
    if (last == &entry) return;
    // The last entry mostly belongs far down: the hole sinks to the bottom, which takes one
    // comparison a level, and the entry rises from there.
    const int64_t bottom = Sink(place);
    Put(bottom, last);
    Up(bottom);
  }
  // The order of `entry` changed.
  void Fix(QueueEntry& entry) {
    Remove(entry);
    Push(entry);
  }
  // Whether every entry is where it belongs.
  bool IsConsistent() const {
    const QueueEntry* before = nullptr;
    int found = 0;
    for (size_t i = 0; i < deque_.size(); ++i) {
      QueueEntry* const entry = deque_[i];
      if (entry == nullptr) continue;
      if (DequeIndex(entry->*kPlace) != deque_begin_ + static_cast<int64_t>(i)) return false;
      if (before != nullptr && less_(*entry, *before)) return false;
      before = entry;
      ++found;
    }
    if (found != in_deque_) return false;
    for (size_t i = 0; i < heap_.size(); ++i) {
      if (heap_[i]->*kPlace != static_cast<int64_t>(i)) return false;
      if (i > 0 && less_(*heap_[i], *heap_[(i - 1) / 2])) return false;
    }
    return true;
  }

 private:
  // Places in the deque are counted from its first entry ever, and stored as -2, -3 ...
  static int64_t DequeIndex(int64_t place_or_number) { return -2 - place_or_number; }

  // An entry that goes out of turn leaves a gap, but never at an end.
  void RemoveFromDeque(int64_t number) {
    deque_[static_cast<size_t>(number - deque_begin_)] = nullptr;
    --in_deque_;
    while (!deque_.empty() && deque_.back() == nullptr) deque_.pop_back();
    while (!deque_.empty() && deque_.front() == nullptr) {
      deque_.pop_front();
      ++deque_begin_;
    }
    if (deque_.size() > 2 * static_cast<size_t>(in_deque_) + 64) CloseGaps();
  }
  void CloseGaps() {
    std::erase(deque_, nullptr);
    deque_begin_ = 0;
    for (size_t i = 0; i < deque_.size(); ++i)
      deque_[i]->*kPlace = DequeIndex(static_cast<int64_t>(i));
  }

  void Put(int64_t place, QueueEntry* entry) {
    heap_[place] = entry;
    entry->*kPlace = place;
  }
  void Up(int64_t place) {
    QueueEntry* const entry = heap_[place];
    while (place > 0) {
      const int64_t parent = (place - 1) / 2;
      if (!less_(*entry, *heap_[parent])) break;
      Put(place, heap_[parent]);
      place = parent;
    }
    Put(place, entry);
  }
  // Moves the hole down along the lesser children; returns where it ends.
  int64_t Sink(int64_t hole) {
    const auto size = static_cast<int64_t>(heap_.size());
    while (true) {
      int64_t child = 2 * hole + 1;
      if (child >= size) return hole;
      if (child + 1 < size && less_(*heap_[child + 1], *heap_[child])) ++child;
      Put(hole, heap_[child]);
      hole = child;
    }
  }

  Less less_;
  std::deque<QueueEntry*> deque_;  // null where an entry went out of turn
  int64_t deque_begin_ = 0;        // the number of its first
  int in_deque_ = 0;               // without the gaps
  std::vector<QueueEntry*> heap_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_ORDERED_ENTRIES_H_
