// SPDX-License-Identifier: Apache-2.0
// Implementation of rate_limiter.h.
#include "kubernetes/rate_limiter.h"

#include <algorithm>

namespace berth {
namespace {

// Parts of a token: what is lost by rounding between NextToken() and Take().
constexpr double kRounding = 1e-6;

}  // namespace

bool RateLimiter::Take(absl::Time now) {
  if (qps_ <= 0) return true;
  if (last_ != absl::InfinitePast() && now > last_) {
    tokens_ = std::min(burst_, tokens_ + absl::ToDoubleSeconds(now - last_) * qps_);
  }
  last_ = std::max(last_, now);
  if (tokens_ < 1 - kRounding) return false;
  tokens_ = std::max(tokens_ - 1, 0.0);
  return true;
}

absl::Time RateLimiter::NextToken() const { return last_ + absl::Seconds((1 - tokens_) / qps_); }

}  // namespace berth
