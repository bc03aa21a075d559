// SPDX-License-Identifier: Apache-2.0
// Whether work that yields may yield again.
#ifndef BERTH_SRC_FRAMEWORK_YIELD_GUARD_H_
#define BERTH_SRC_FRAMEWORK_YIELD_GUARD_H_

#include <cstddef>
#include <limits>

namespace berth {

// More work may arrive while it yields. It yields only if less is left than at its last yield, so
// that it ends.
class YieldGuard {
 public:
  // With this many left. If it does not yield now, it runs to its end.
  bool MayYieldWith(size_t left) {
    if (left >= left_at_last_yield_) return false;
    left_at_last_yield_ = left;
    return true;
  }
  // It was done.
  void Reset() { left_at_last_yield_ = kNever; }

 private:
  static constexpr size_t kNever = std::numeric_limits<size_t>::max();

  size_t left_at_last_yield_ = kNever;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_YIELD_GUARD_H_
