// SPDX-License-Identifier: Apache-2.0
// The events that came while entries were in flight: what a failed attempt could not have seen.
#ifndef BERTH_SRC_QUEUE_STORED_EVENT_LOG_H_
#define BERTH_SRC_QUEUE_STORED_EVENT_LOG_H_

#include <cstdint>
#include <deque>
#include <functional>

#include "berth/framework/enqueue.h"
#include "queue/stored_event.h"

namespace berth {

class StoredEventLog {
 public:
  // Where the next event will be. An entry popped now is concerned by events from here on.
  uint64_t begin() const { return first_; }  // where the oldest one is
  uint64_t end() const { return first_ + events_.size(); }
  int size() const { return static_cast<int>(events_.size()); }

  void Append(const ClusterEvent& event, const ObjectChange& change) {
    events_.emplace_back(event, change);
  }
  // Calls `visit` for the events from `begin` on, in order, until it returns false.
  void ForEachSince(
      uint64_t begin,
      const std::function<bool(const ClusterEvent&, const ObjectChange&)>& visit) const;
  // Forgets the events before `begin`.
  void PruneBefore(uint64_t begin);

 private:
  uint64_t first_ = 0;
  std::deque<StoredEvent> events_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_STORED_EVENT_LOG_H_
