// SPDX-License-Identifier: Apache-2.0
// How long to wait before the next try.
#ifndef BERTH_SRC_KUBERNETES_BACKOFF_H_
#define BERTH_SRC_KUBERNETES_BACKOFF_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace berth {

struct BackoffLimits {
  absl::Duration first, longest;
  // Without a failure for that long, the next one counts as the first.
  absl::Duration forgotten_after = absl::InfiniteDuration();
};

// Doubles from `first` to `longest`; of that, between half and all is waited, by chance.
class RetryBackoff {
 public:
  RetryBackoff(BackoffLimits limits, uint64_t seed) : limits_(limits), random_(seed) {}

  // A try failed now.
  absl::Duration Next(absl::Time now) {
    if (now - last_ > limits_.forgotten_after) next_ = absl::ZeroDuration();
    last_ = now;
    next_ = next_ == absl::ZeroDuration() ? limits_.first : 2 * next_;
    if (next_ > limits_.longest) next_ = limits_.longest;
    return next_ * std::uniform_real_distribution<double>(0.5, 1.0)(random_);
  }
  void Reset() { next_ = absl::ZeroDuration(); }

 private:
  BackoffLimits limits_;
  std::mt19937_64 random_;
  absl::Duration next_ = absl::ZeroDuration();
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_BACKOFF_H_
