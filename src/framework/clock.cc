// SPDX-License-Identifier: Apache-2.0
// Implementation of berth/clock.h, but for what is simulated.
#include "berth/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace berth {

absl::Time RealClock::Now() const {
  using Steady = std::chrono::steady_clock;
  struct Start {
    absl::Time date = absl::Now();
    Steady::time_point steady = Steady::now();
  };
  static const Start start;
  return start.date + absl::FromChrono(Steady::now() - start.steady);
}

void RealClock::SleepUntil(absl::Time time) const { absl::SleepFor(time - Now()); }

}  // namespace berth
