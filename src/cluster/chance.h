// SPDX-License-Identifier: Apache-2.0
// Seeded chance for faults, the same with every standard library.
#ifndef BERTH_SRC_CLUSTER_CHANCE_H_
#define BERTH_SRC_CLUSTER_CHANCE_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace berth {

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}

  // From 0 to below 1.
  double Share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  // True with that probability. Draws nothing if it is 0.
  bool Happens(double probability) { return probability > 0 && Share() < probability; }
  // In whole nanoseconds, as clocks count: a time between two ticks would never come.
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return absl::Trunc(low + Share() * (high - low), absl::Nanoseconds(1));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_CHANCE_H_
