// SPDX-License-Identifier: Apache-2.0
// Tests of berth/framework/work_budget.h.
#include "berth/framework/work_budget.h"

#include <cstdint>
#include <limits>

#include "berth/framework/cycle_state.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(WorkBudgetTest, IsSpentAfterItsSteps) {
  WorkBudget budget(10);
  budget.Spend(9);
  EXPECT_FALSE(budget.IsSpent());
  budget.Spend(1);
  EXPECT_TRUE(budget.IsSpent());
  EXPECT_FALSE(budget.yielded());
  budget.Yield();
  EXPECT_TRUE(budget.yielded());
}

TEST(WorkBudgetTest, TheNextStageMayDoAsMuchAgain) {
  WorkBudget budget(10);
  budget.Spend(100);
  budget.Yield();
  budget.Refill();
  EXPECT_FALSE(budget.IsSpent());
  EXPECT_FALSE(budget.yielded());
  budget.Spend(10);
  EXPECT_TRUE(budget.IsSpent());
}

TEST(WorkBudgetTest, ALiftedOneIsFullUntilTheNextStage) {
  WorkBudget budget(1);
  budget.Spend(1);
  budget.Lift();
  budget.Spend(1'000'000);
  EXPECT_FALSE(budget.IsSpent());
  budget.Refill();
  budget.Spend(1);
  EXPECT_TRUE(budget.IsSpent());
}

TEST(WorkBudgetTest, NothingYieldsWithoutALimit) {
  for (WorkBudget budget : {WorkBudget(), WorkBudget(0)}) {
    EXPECT_FALSE(budget.is_limited());
    EXPECT_EQ(budget.steps(), std::numeric_limits<int64_t>::max());
    budget.Spend(int64_t{1} << 60);
    EXPECT_FALSE(budget.IsSpent());
    budget.Yield();
    EXPECT_FALSE(budget.yielded());
  }
}

// What is tried on a copy must not stop half way.
TEST(WorkBudgetTest, ACopyOfAPodsStateHasNoLimit) {
  CycleState state;
  EXPECT_FALSE(state.work_budget().is_limited());
  state.SetWorkBudget(WorkBudget(5));
  EXPECT_TRUE(state.work_budget().is_limited());
  EXPECT_FALSE(state.Clone().work_budget().is_limited());
}

}  // namespace
}  // namespace berth
