// SPDX-License-Identifier: Apache-2.0
// Entries in lines, where a plugin decides whose turn it is (QueueOrder).
#ifndef BERTH_SRC_QUEUE_LINED_ENTRIES_H_
#define BERTH_SRC_QUEUE_LINED_ENTRIES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "berth/extensions/queue_order.h"
#include "queue/ordered_entries.h"
#include "queue/queue_entry.h"

namespace berth {

// The active entries, and those in backoff that may be tried early: when it is their line's turn
// and the line has no active one. Knows of strict lines also which entries have failed and wait.
// Holds no ownership. Belongs to the queue.
class LinedEntries {
 public:
  // Both outlive this.
  LinedEntries(const QueueSortPlugin& sort, QueueOrder& order);

  // By its state: active, in backoff, or waiting otherwise.
  void Add(QueueEntry& entry);
  void Remove(QueueEntry& entry);
  // The next to be tried, or null.
  QueueEntry* Next();
  // The turn is that of active entries alone, as long as there is one that is not blocked.
  void SetActiveAlone(bool active_alone);
  // In no order.
  template <class Visit>
  void ForEachActive(const Visit& visit) const {
    for (const auto& line : lines_) {
      if (line != nullptr) line->active.ForEach(visit);
    }
  }
  int active_size() const { return active_size_; }
  // The entry that it waits behind: one of its strict line that failed and is before it; or null.
  const QueueEntry* BlockerOf(const QueueEntry& entry) const;
  bool IsConsistent() const;

  // Whether lines have changed: then Restart(), and all entries are added again.
  bool IsStale() { return version_ != order_.LinesVersion(); }
  void Restart();

 private:
  struct LineLess {
    const QueueSortPlugin* sort;
    QueueOrder* order;
    int line;
    // In a strict line, if QueueSort goes by when pods were tried last: an entry that was tried
    // again would be behind those that it holds up.
    bool by_arrival;
    bool operator()(const QueueEntry& a, const QueueEntry& b) const {
      const int comparison = order->Compare(line, a.lead, b.lead);
      if (comparison != 0) return comparison < 0;
      if (by_arrival && a.lead.priority() == b.lead.priority()) return a.arrival < b.arrival;
      if (sort->Less(a.lead, b.lead)) return true;
      if (sort->Less(b.lead, a.lead)) return false;
      return a.sequence < b.sequence;
    }
  };
  struct Line {
    explicit Line(const LineLess& less) : less(less), active(less), in_backoff(less) {}
    LineLess less;
    bool is_strict = false;
    OrderedEntries<LineLess> active;
    OrderedEntries<LineLess, &QueueEntry::place_in_line> in_backoff;
    absl::flat_hash_set<const QueueEntry*> failed;  // of a strict one: tried, and waiting
    const QueueEntry* first_failed = nullptr;
    const QueueEntry* head = nullptr;  // as the contest knows it
  };

  Line& LineAt(int line);
  static const QueueEntry* FirstFailed(const Line& line);
  // By another one.
  static bool IsBlocked(const Line& line, const QueueEntry& entry);
  // The entry of the line that is tried at its turn, or null.
  QueueEntry* HeadOf(const Line& line) const;
  // Reports the first entry to the contest; again if that is `changed`.
  void UpdateHead(Line& line, const QueueEntry* changed);

  const QueueSortPlugin& sort_;
  QueueOrder& order_;
  uint64_t version_ = 0;
  std::vector<std::unique_ptr<Line>> lines_;
  int active_size_ = 0;
  bool active_alone_ = false;
  std::unique_ptr<QueueContest> contest_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_LINED_ENTRIES_H_
