// SPDX-License-Identifier: Apache-2.0
// So many of something a second, on average.
#ifndef BERTH_SRC_SERVE_RATE_LIMIT_H_
#define BERTH_SRC_SERVE_RATE_LIMIT_H_

#include <algorithm>

#include "absl/time/time.h"

namespace berth {

// A token bucket that holds a second's worth, and that may be overdrawn. Not thread-safe.
class RateLimit {
 public:
  // 0 per second: no limit.
  RateLimit(double per_second, absl::Time now)
      : per_second_(per_second), tokens_(per_second), at_(now) {}

  // Whether one more may be taken; if so, it was.
  bool TryTake(absl::Time now) {
    if (per_second_ <= 0) return true;
    Refill(now);
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }
  // Takes `count`, and returns from when on there may be more.
  absl::Time Take(double count, absl::Time now) {
    if (per_second_ <= 0) return now;
    Refill(now);
    tokens_ -= count;
    return tokens_ >= 0 ? now : now + absl::Seconds(-tokens_ / per_second_);
  }

 private:
  void Refill(absl::Time now) {
    tokens_ = std::min(per_second_, tokens_ + absl::ToDoubleSeconds(now - at_) * per_second_);
    at_ = now;
  }

  const double per_second_;
  double tokens_;
  absl::Time at_;
};

}  // namespace berth

#endif  // BERTH_SRC_SERVE_RATE_LIMIT_H_
