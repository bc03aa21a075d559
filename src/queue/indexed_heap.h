// A binary heap of entries that know their position, so that any of them can be removed or moved.
#ifndef BERTH_SRC_QUEUE_INDEXED_HEAP_H_
#define BERTH_SRC_QUEUE_INDEXED_HEAP_H_

#include <utility>
#include <vector>

#include "berth/check.h"
#include "queue/queued_group.h"

namespace berth {

// The least entry by `Less` is on top. An entry is in one heap at most (heap_position). Holds no
// ownership.
template <class Less>
class IndexedHeap {
 public:
  explicit IndexedHeap(Less less) : less_(std::move(less)) {}

  bool empty() const { return entries_.empty(); }
  int size() const { return static_cast<int>(entries_.size()); }
  QueuedGroup& top() const { return *entries_.front(); }
  const std::vector<QueuedGroup*>& entries() const { return entries_; }

  void Push(QueuedGroup& entry) {
    BERTH_DCHECK(entry.heap_position == -1) << entry.key;
    entries_.push_back(&entry);
    Place(size() - 1, &entry);
    Up(size() - 1);
  }
  void Remove(QueuedGroup& entry) {
    const int hole = entry.heap_position;
    BERTH_DCHECK(hole >= 0 && hole < size() && entries_[hole] == &entry) << entry.key;
    QueuedGroup* last = entries_.back();
    entries_.pop_back();
    entry.heap_position = -1;
    if (last == &entry) return;
    // The last entry mostly belongs far down: the hole sinks to the bottom, which takes one
    // comparison a level, and the entry rises from there.
    const int bottom = Sink(hole);
    Place(bottom, last);
    Up(bottom);
  }
  // The order of `entry` changed.
  void Fix(QueuedGroup& entry) {
    Up(entry.heap_position);
    Down(entry.heap_position);
  }
  // Whether every entry is where it belongs.
  bool IsConsistent() const {
    for (int i = 0; i < size(); ++i) {
      if (entries_[i]->heap_position != i) return false;
      if (i > 0 && less_(*entries_[i], *entries_[(i - 1) / 2])) return false;
    }
    return true;
  }

 private:
  void Place(int position, QueuedGroup* entry) {
    entries_[position] = entry;
    entry->heap_position = position;
  }
  void Up(int position) {
    QueuedGroup* const entry = entries_[position];
    while (position > 0) {
      const int parent = (position - 1) / 2;
      if (!less_(*entry, *entries_[parent])) break;
      Place(position, entries_[parent]);
      position = parent;
    }
    Place(position, entry);
  }
  // Moves the hole down along the lesser children; returns where it ends.
  int Sink(int hole) {
    while (true) {
      int child = 2 * hole + 1;
      if (child >= size()) return hole;
      if (child + 1 < size() && less_(*entries_[child + 1], *entries_[child])) ++child;
      Place(hole, entries_[child]);
      hole = child;
    }
  }
  void Down(int position) {
    QueuedGroup* const entry = entries_[position];
    while (true) {
      int child = 2 * position + 1;
      if (child >= size()) break;
      if (child + 1 < size() && less_(*entries_[child + 1], *entries_[child])) ++child;
      if (!less_(*entries_[child], *entry)) break;
      Place(position, entries_[child]);
      position = child;
    }
    Place(position, entry);
  }

  Less less_;
  std::vector<QueuedGroup*> entries_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_INDEXED_HEAP_H_
