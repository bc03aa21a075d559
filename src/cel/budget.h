// SPDX-License-Identifier: Apache-2.0
// What one evaluation may use up.
#ifndef BERTH_SRC_CEL_BUDGET_H_
#define BERTH_SRC_CEL_BUDGET_H_

#include <cstdint>

#include "cel/value.h"

namespace berth::cel {

// Counts the cost of an evaluation as cel-go does, and beside it the work that cel-go counts too
// low: a comparison of deeply shared lists costs one unit there, however long it takes. One thread.
class Budget {
 public:
  explicit Budget(uint64_t cost_limit) : cost_limit_(cost_limit) {}

  void Charge(uint64_t cost) {
    cost_ = cost > UINT64_MAX - cost_ ? UINT64_MAX : cost_ + cost;
    if (cost_ > cost_limit_) exhausted_ = true;
  }
  void Refund(uint64_t cost) { cost_ -= cost < cost_ ? cost : cost_; }

  // False if there was enough of it.
  bool Work(uint64_t steps) {
    if (steps > work_left_) exhausted_ = true;
    if (!exhausted_) work_left_ -= steps;
    return !exhausted_;
  }

  // As Work, for going over so many bytes.
  bool WorkOnBytes(uint64_t count) { return Work(1 + count / kBytesPerStep); }
  // As Work, for taking so many bytes apart into characters.
  bool WorkOnRunes(uint64_t bytes) { return Work(1 + bytes / 4); }
  // As Work, for looking for `part` in a text the simple way.
  bool WorkOnSearch(uint64_t text_bytes, uint64_t part_bytes) {
    return Work(1 + text_bytes / kBytesPerStep * (1 + part_bytes));
  }

  // Whether a list or a map may have so many elements, of which `new_elements` have to be copied; a
  // string so many bytes. Work is deducted.
  bool AllowsElements(uint64_t count) { return AllowsElements(count, count); }
  bool AllowsElements(uint64_t count, uint64_t new_elements) {
    if (count > kMostElements) exhausted_ = true;
    return Work(new_elements);
  }
  bool AllowsBytes(uint64_t count) {
    if (count > kMostBytes) exhausted_ = true;
    return WorkOnBytes(count);
  }

  // The evaluation has to end; its result is this error.
  bool exhausted() const { return exhausted_; }
  static Value Exceeded() {
    return Value::Error("operation cancelled: actual cost limit exceeded");
  }

  uint64_t cost() const { return cost_; }

  static constexpr uint64_t kMostElements = 1'000'000;
  static constexpr uint64_t kMostBytes = 16 << 20;

 private:
  static constexpr uint64_t kBytesPerStep = 16;
  static constexpr uint64_t kMostWork = 20'000'000;  // steps, each some nanoseconds

  uint64_t cost_limit_;
  uint64_t cost_ = 0;
  uint64_t work_left_ = kMostWork;
  bool exhausted_ = false;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_BUDGET_H_
