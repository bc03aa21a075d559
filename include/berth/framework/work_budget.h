// SPDX-License-Identifier: Apache-2.0
// How much one attempt may do before it yields to events.
#ifndef BERTH_FRAMEWORK_WORK_BUDGET_H_
#define BERTH_FRAMEWORK_WORK_BUDGET_H_

#include <cstdint>
#include <limits>

namespace berth {

// Counts work in steps of some 0.2 us: a number of steps, not time, so that the same input stops at
// the same places. Work that may take long asks it (CycleState::work_budget()):
//
//   while (something is left) {
//     if (budget.IsSpent()) { keep what is known; budget.Yield(); return; }
//     budget.Spend(kStepsOfOne);
//     ...
//   }
//
// After a Yield() nothing is decided. The scheduler takes in what happened meanwhile and makes the
// same attempt again, before any other; work continues from what it kept. Work that
// yields must end, though more may have come to be done by then. Scheduling thread.
class WorkBudget {
 public:
  // Without a limit: no work yields.
  WorkBudget() = default;
  // 0 steps: without a limit.
  explicit WorkBudget(int64_t steps) : steps_(steps) { Refill(); }

  bool is_limited() const { return steps_ > 0; }
  // How many steps a stage may take.
  int64_t steps() const { return is_limited() ? steps_ : kUnlimited; }

  // A stage of the attempt begins: it may do as much as the one before it, and has not yielded.
  void Refill() {
    left_ = steps();
    yielded_ = false;
  }
  void Spend(int64_t steps) { left_ -= steps; }
  bool IsSpent() const { return left_ <= 0; }
  // This stage runs to its end: IsSpent() is false until the next Refill().
  void Lift() { left_ = kUnlimited; }

  // No effect without a limit.
  void Yield() { yielded_ = is_limited(); }
  bool yielded() const { return yielded_; }

 private:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  int64_t steps_ = 0;
  int64_t left_ = kUnlimited;
  bool yielded_ = false;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_WORK_BUDGET_H_
