// SPDX-License-Identifier: Apache-2.0
// How many requests a client may send: client-go's token bucket.
#ifndef BERTH_SRC_KUBERNETES_RATE_LIMITER_H_
#define BERTH_SRC_KUBERNETES_RATE_LIMITER_H_

#include "absl/time/time.h"

namespace berth {

// `qps` tokens a second, of which at most `burst` are saved up. No token is promised: a caller
// that finds none comes again, so that one which gives up meanwhile has cost the others nothing.
class RateLimiter {
 public:
  // A `qps` of zero or less does not limit. A `burst` below one counts as one.
  RateLimiter(double qps, int burst) : qps_(qps), burst_(burst < 1 ? 1 : burst), tokens_(burst_) {}

  // From now on there is no limit.
  void Lift() { qps_ = 0; }

  // Takes a token, if there is one.
  bool Take(absl::Time now);
  // When there is a token again, after Take() has found none.
  absl::Time NextToken() const;

 private:
  double qps_;
  const double burst_;
  double tokens_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_RATE_LIMITER_H_
