// SPDX-License-Identifier: Apache-2.0
// Implementation of rate_limiter.h.
#include "kubernetes/rate_limiter.h"

#include <algorithm>

namespace berth {

absl::Time RateLimiter::Reserve(absl::Time now) {
  if (qps_ <= 0) return now;
  if (last_ != absl::InfinitePast() && now > last_) {
    tokens_ = std::min(burst_, tokens_ + absl::ToDoubleSeconds(now - last_) * qps_);
  }
  last_ = std::max(last_, now);
  tokens_ -= 1;
  return tokens_ >= 0 ? now : now + absl::Seconds(-tokens_ / qps_);
}

}  // namespace berth
