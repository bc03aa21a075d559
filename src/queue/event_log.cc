// Appending, reading and pruning the log of events.
#include "queue/event_log.h"

#include <utility>

#include "berth/check.h"

namespace berth {

void EventLog::Append(const ClusterEvent& event, const ObjectChange& change) {
  Logged& logged = events_.emplace_back(Logged{.event = event, .change = change});
  if (change.old_object != nullptr) {
    logged.old_object = *change.old_object;
    logged.change.old_object = &*logged.old_object;
  }
  if (change.new_object != nullptr) {
    logged.new_object = *change.new_object;
    logged.change.new_object = &*logged.new_object;
  }
}

void EventLog::ForEachSince(
    uint64_t begin,
    const std::function<bool(const ClusterEvent&, const ObjectChange&)>& visit) const {
  BERTH_CHECK(begin >= first_) << "events from " << begin << " on were pruned up to " << first_;
  for (size_t i = begin - first_; i < events_.size(); ++i) {
    if (!visit(events_[i].event, events_[i].change)) return;
  }
}

void EventLog::PruneBefore(uint64_t begin) {
  while (first_ < begin && !events_.empty()) {
    events_.pop_front();
    ++first_;
  }
}

}  // namespace berth
