// SPDX-License-Identifier: Apache-2.0
// Implementation of watch_stream.h.
#include "cluster/watch_stream.h"

#include <algorithm>
#include <optional>

namespace berth {

void WatchStream::Start(WatchSink& sink, const std::vector<Kind>& kinds) {
  sink_ = &sink;
  wanted_.fill(false);
  for (const Kind kind : kinds) wanted_[static_cast<size_t>(kind)] = true;
  std::vector<Object> objects = list_();
  std::vector<WatchEvent> events;
  events.reserve(objects.size() + 1);
  AppendWanted(std::move(objects), events);
  events.push_back({WatchEvent::Type::kSynced, std::nullopt});
  sink.Deliver(std::move(events));
}

void WatchStream::AppendWanted(std::vector<Object> objects, std::vector<WatchEvent>& events) const {
  for (Object& object : objects) {
    if (IsWanted(object)) events.push_back({WatchEvent::Type::kSet, std::move(object)});
  }
}

void WatchStream::Stop() {
  sink_ = nullptr;
  held_.clear();
  due_of_.clear();
}

void WatchStream::SetFaults(const ClusterFaults& faults) {
  faults_ = faults;
  chance_ = Chance(faults.seed ^ 0x77617463);  // other numbers than the bindings' faults
}

void WatchStream::Push(Change change, Object object, absl::Time now) {
  if (sink_ == nullptr || !IsWanted(object)) return;
  const bool again = chance_.Happens(faults_.duplicated_event);
  const bool relist = chance_.Happens(faults_.relist);
  if (!again) {
    Send(change, std::move(object), now, faults_.delayed_event);
  } else {
    Send(change, object, now, faults_.delayed_event);
    // The second delivery of a creation is a change; a deletion is delivered as one again.
    Send(change == Change::kCreated ? Change::kChanged : change, std::move(object), now, 0.5);
  }
  if (relist) Relist();
}

void WatchStream::Send(Change change, Object object, absl::Time now, double delayed) {
  if (delayed == 0 && due_of_.empty()) return Deliver(change, std::move(object));
  const absl::Duration delay = chance_.Happens(delayed)
                                   ? chance_.Between(absl::ZeroDuration(), faults_.max_event_delay)
                                   : absl::ZeroDuration();
  const Name name(object.kind(), object.key());
  const auto earlier = due_of_.find(name);
  if (delay == absl::ZeroDuration() && earlier == due_of_.end()) {
    return Deliver(change, std::move(object));
  }
  absl::Time due = now + delay;
  if (earlier != due_of_.end()) due = std::max(due, *earlier->second.rbegin());
  due_of_[name].insert(due);
  held_.emplace(due, Held{change, std::move(object)});
}

void WatchStream::Deliver(Change change, Object object) {
  const WatchEvent::Type type =
      change == Change::kDeleted ? WatchEvent::Type::kDeleted : WatchEvent::Type::kSet;
  sink_->DeliverOne({type, std::move(object)});
}

void WatchStream::Relist() {
  if (sink_ == nullptr) return;
  // What was created and deleted before it was delivered is not delivered.
  std::set<std::string> unseen;
  std::vector<WatchEvent> events;
  for (auto& [due, held] : held_) {
    const std::string uid(held.object.uid());
    if (held.change == Change::kCreated) unseen.insert(uid);
    if (held.change == Change::kDeleted && unseen.insert(uid).second) {
      events.push_back({WatchEvent::Type::kDeleted, std::move(held.object)});
    }
  }
  held_.clear();
  due_of_.clear();
  AppendWanted(list_(), events);
  sink_->Deliver(std::move(events));
}

absl::Time WatchStream::NextDue() const {
  return held_.empty() ? absl::InfiniteFuture() : held_.begin()->first;
}

void WatchStream::DeliverNext() {
  if (held_.empty()) return;
  auto node = held_.extract(held_.begin());
  Held& held = node.mapped();
  const auto due = due_of_.find(Name(held.object.kind(), held.object.key()));
  due->second.erase(due->second.find(node.key()));
  if (due->second.empty()) due_of_.erase(due);
  Deliver(held.change, std::move(held.object));
}

}  // namespace berth
