// SPDX-License-Identifier: Apache-2.0
// Reading and pruning the log of events.
#include "queue/stored_event_log.h"

#include "berth/check.h"

namespace berth {

void StoredEventLog::ForEachSince(
    uint64_t begin,
    const std::function<bool(const ClusterEvent&, const ObjectChange&)>& visit) const {
  BERTH_CHECK(begin >= first_) << "events from " << begin << " on were pruned up to " << first_;
  for (size_t i = begin - first_; i < events_.size(); ++i) {
    if (!visit(events_[i].event(), events_[i].change())) return;
  }
}

void StoredEventLog::PruneBefore(uint64_t begin) {
  while (first_ < begin && !events_.empty()) {
    events_.pop_front();
    ++first_;
  }
}

}  // namespace berth
