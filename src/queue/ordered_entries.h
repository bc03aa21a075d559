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
// wait in a line, which costs one comparison an entry; the rest are in a binary heap beside it. An
// entry is in one of these at most for each kPlace. Holds no ownership.
template <class Less, int64_t QueueEntry::*kPlace = &QueueEntry::place>
class OrderedEntries {
 public:
  explicit OrderedEntries(Less less) : less_(std::move(less)) {}

  bool empty() const { return size() == 0; }
  int size() const { return in_line_ + static_cast<int>(heap_.size()); }
  // The least entry.
  QueueEntry& top() const {
    if (in_line_ == 0) return *heap_.front();
    if (heap_.empty()) return *line_.front();
    return less_(*heap_.front(), *line_.front()) ? *heap_.front() : *line_.front();
  }
  // The one in the line that is `steps` behind its first; null if there is none, or a gap.
  QueueEntry* Upcoming(size_t steps) const { return steps < line_.size() ? line_[steps] : nullptr; }
  // Whether the entry, which is one of these, is in the line.
  static bool IsInLine(const QueueEntry& entry) { return entry.*kPlace < QueueEntry::kNotInList; }
  // Calls `visit` for every entry, in no order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (QueueEntry* entry : line_) {
      if (entry != nullptr) visit(*entry);
    }
    for (QueueEntry* entry : heap_) visit(*entry);
  }

  void Push(QueueEntry& entry) {
    BERTH_DCHECK(entry.*kPlace == QueueEntry::kNotInList) << entry.key;
    if (in_line_ == 0 || !less_(entry, *line_.back())) {
      entry.*kPlace = InLine(line_begin_ + static_cast<int64_t>(line_.size()));
      line_.push_back(&entry);
      ++in_line_;
    } else {
      heap_.push_back(&entry);
      Up(static_cast<int64_t>(heap_.size()) - 1);
    }
  }
  void Remove(QueueEntry& entry) {
    const int64_t place = std::exchange(entry.*kPlace, QueueEntry::kNotInList);
    if (place < 0) return RemoveFromLine(InLine(place));
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
    for (size_t i = 0; i < line_.size(); ++i) {
      QueueEntry* const entry = line_[i];
      if (entry == nullptr) continue;
      if (InLine(entry->*kPlace) != line_begin_ + static_cast<int64_t>(i)) return false;
      if (before != nullptr && less_(*entry, *before)) return false;
      before = entry;
      ++found;
    }
    if (found != in_line_) return false;
    for (size_t i = 0; i < heap_.size(); ++i) {
      if (heap_[i]->*kPlace != static_cast<int64_t>(i)) return false;
      if (i > 0 && less_(*heap_[i], *heap_[(i - 1) / 2])) return false;
    }
    return true;
  }

 private:
  // Places in the line are counted from its first entry ever, and noted as -2, -3 ...
  static int64_t InLine(int64_t place_or_number) { return -2 - place_or_number; }

  // Whoever goes out of turn leaves a gap, but never at an end.
  void RemoveFromLine(int64_t number) {
    line_[static_cast<size_t>(number - line_begin_)] = nullptr;
    --in_line_;
    while (!line_.empty() && line_.back() == nullptr) line_.pop_back();
    while (!line_.empty() && line_.front() == nullptr) {
      line_.pop_front();
      ++line_begin_;
    }
    if (line_.size() > 2 * static_cast<size_t>(in_line_) + 64) CloseGaps();
  }
  void CloseGaps() {
    std::erase(line_, nullptr);
    line_begin_ = 0;
    for (size_t i = 0; i < line_.size(); ++i) line_[i]->*kPlace = InLine(static_cast<int64_t>(i));
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
  std::deque<QueueEntry*> line_;  // null where somebody went out of turn
  int64_t line_begin_ = 0;        // the number of its first
  int in_line_ = 0;               // without the gaps
  std::vector<QueueEntry*> heap_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_ORDERED_ENTRIES_H_
