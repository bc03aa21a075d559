// SPDX-License-Identifier: Apache-2.0
// The scheduler's only source of chance: the same numbers for the same seed, everywhere.
#ifndef BERTH_SRC_ENGINE_RANDOM_SEQUENCE_H_
#define BERTH_SRC_ENGINE_RANDOM_SEQUENCE_H_

#include <cstdint>

namespace berth {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
class RandomSequence {
 public:
  explicit RandomSequence(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_RANDOM_SEQUENCE_H_
