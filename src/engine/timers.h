// SPDX-License-Identifier: Apache-2.0
// Calls that plugins have put off to a time.
#ifndef BERTH_SRC_ENGINE_TIMERS_H_
#define BERTH_SRC_ENGINE_TIMERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "berth/framework/handle.h"

namespace berth {

// Belongs to the scheduling thread.
class Timers {
 public:
  // `now` is when it is set.
  TimerId Add(absl::Time time, absl::Time now, std::function<void()> work);
  // Returns false if there is none.
  bool Cancel(TimerId timer);
  // Runs what is due, by time, then in the order of Add(). What is set meanwhile is left for the
  // next call, so that a timer that sets itself again does not hold up others. Returns how many
  // have run.
  int RunDue(absl::Time now);
  // When the next is due of those that were set no later than `set_until`; InfiniteFuture if there
  // is none.
  absl::Time NextDue(absl::Time set_until = absl::InfiniteFuture()) const;
  // Drops all without running them.
  void Clear();

 private:
  using Place = std::pair<absl::Time, uint64_t>;  // when it is due, and its id
  struct Timer {
    absl::Time set_at;
    std::function<void()> work;
  };

  std::map<Place, Timer> timers_;
  absl::flat_hash_map<uint64_t, absl::Time> due_;  // by id
  uint64_t last_id_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_TIMERS_H_
