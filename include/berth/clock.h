// SPDX-License-Identifier: Apache-2.0
// Time as the scheduler sees it: passed in, so that an hour of cluster life can run in
// milliseconds.
#ifndef BERTH_CLOCK_H_
#define BERTH_CLOCK_H_

#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace berth {

// Threads: any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
  // Returns when that time has come.
  virtual void SleepUntil(absl::Time time) const = 0;
};

// The machine's clock as it was when the process first asked, and evenly on from there: nothing
// waits an hour longer because that clock is set back.
class RealClock final : public Clock {
 public:
  absl::Time Now() const override;
  void SleepUntil(absl::Time time) const override;
};

// Stands still until it is advanced, or a thread sleeps: a plugin that takes five seconds takes
// them of simulated time. Work on a SimulatedExecutor that sleeps gives way to everything else
// meanwhile; anybody else's sleep advances the clock.
class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(absl::Time start) : nanos_(absl::ToUnixNanos(start)) {}

  absl::Time Now() const override { return absl::FromUnixNanos(nanos_.load()); }
  void SleepUntil(absl::Time time) const override;
  // Never goes back.
  void AdvanceTo(absl::Time time) { SetTo(time); }
  void Advance(absl::Duration by) { AdvanceTo(Now() + by); }

 private:
  void SetTo(absl::Time time) const {
    int64_t nanos = absl::ToUnixNanos(time);
    // Up to the next nanosecond: a caller that waits for a time in between must not find it in the
    // future.
    if (absl::FromUnixNanos(nanos) < time && nanos < std::numeric_limits<int64_t>::max()) ++nanos;
    if (nanos > nanos_.load()) nanos_.store(nanos);
  }

  mutable std::atomic<int64_t> nanos_;  // sleeping is reading the clock for long
};

}  // namespace berth

#endif  // BERTH_CLOCK_H_
