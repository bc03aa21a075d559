// Time as the scheduler sees it: passed in, so that an hour of cluster life can run in
// milliseconds.
#ifndef BERTH_CLOCK_H_
#define BERTH_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace berth {

// Threads: any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// Stands still until it is advanced.
class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(absl::Time start) : nanos_(absl::ToUnixNanos(start)) {}

  absl::Time Now() const override { return absl::FromUnixNanos(nanos_.load()); }
  // Never goes back.
  void AdvanceTo(absl::Time time) {
    const int64_t nanos = absl::ToUnixNanos(time);
    if (nanos > nanos_.load()) nanos_.store(nanos);
  }
  void Advance(absl::Duration by) { AdvanceTo(Now() + by); }

 private:
  std::atomic<int64_t> nanos_;
};

}  // namespace berth

#endif  // BERTH_CLOCK_H_
