// SPDX-License-Identifier: Apache-2.0
// Implementation of timers.h.
#include "engine/timers.h"

#include <algorithm>

namespace berth {

TimerId Timers::Add(absl::Time time, absl::Time now, std::function<void()> work) {
  const uint64_t id = ++last_id_;
  timers_.emplace(Place{time, id}, Timer{now, std::move(work)});
  due_.emplace(id, time);
  return TimerId{id};
}

bool Timers::Cancel(TimerId timer) {
  const auto id = static_cast<uint64_t>(timer);
  const auto due = due_.find(id);
  if (due == due_.end()) return false;
  // Destroying its work may cancel other timers.
  const auto cancelled = timers_.extract(Place{due->second, id});
  due_.erase(due);
  return true;
}

int Timers::RunDue(absl::Time now) {
  const uint64_t newest = last_id_;
  int ran = 0;
  auto next = timers_.begin();
  while (next != timers_.end() && next->first.first <= now) {
    const Place place = next->first;
    if (place.second > newest) {
      ++next;
      continue;
    }
    const auto timer = timers_.extract(next);
    due_.erase(place.second);
    timer.mapped().work();
    ++ran;
    next = timers_.upper_bound(place);  // it may have cancelled what came next
  }
  return ran;
}

absl::Time Timers::NextDue(absl::Time set_until) const {
  for (const auto& [place, timer] : timers_) {
    if (timer.set_at <= set_until) return place.first;
  }
  return absl::InfiniteFuture();
}

void Timers::Clear() {
  while (!timers_.empty()) {
    due_.erase(timers_.begin()->first.second);
    const auto dropped = timers_.extract(timers_.begin());
  }
}

}  // namespace berth
