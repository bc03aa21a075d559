// SPDX-License-Identifier: Apache-2.0
// Bounds of one node are those of all at once, and no lower than those of a pod that needs more.
#include "preemption/pruning/bound_calculator.h"

#include <array>
#include <vector>

#include "berth/testing/fake_handle.h"
#include "gtest/gtest.h"
#include "preemption/pruning/bound_cache.h"
#include "tests/preemption/pruning/changing_nodes.h"

namespace berth::testing {
namespace {

// What is computed for a preemptor is no lower than what is computed for one that needs more.
TEST(BoundCalculator, OfOneThatNeedsLittleLessHoldsForOneThatNeedsMore) {
  constexpr unsigned kSeed = 26;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, 60);
  PriorityLevels priority_levels;
  int possible = 0, only_for_less = 0;
  for (int step = 0; step < 2'000; ++step) {
    nodes.Change();
    if (step % 10 > 0) continue;
    Read(priority_levels, nodes.table());
    const int priority = nodes.Below(7) - 2;
    const PreemptorClass less = ClassOf(1000 + 125 * nodes.Below(60), 0, priority);
    PreemptorClass more = less;
    more.need->needed.requests.front().second *= 1.125;
    ASSERT_TRUE(RequestsSlightlyLess(less, more));
    ASSERT_FALSE(RequestsSlightlyLess(more, less));
    ASSERT_FALSE(RequestsSlightlyLess(less, less));
    const BoundCalculator of_less(less, nodes.table(), priority_levels);
    const BoundCalculator of_more(more, nodes.table(), priority_levels);
    for (NodeRow row = 0; row < nodes.table().size(); ++row) {
      CandidateBound at_most, bound;
      const bool may_be_possible =
          of_less.Compute(row, {}, at_most).kind() == EvictionFeasibility::Kind::kPossible;
      const bool is_possible =
          of_more.Compute(row, {}, bound).kind() == EvictionFeasibility::Kind::kPossible;
      ASSERT_TRUE(may_be_possible || !is_possible) << step;
      only_for_less += may_be_possible && !is_possible;
      if (!is_possible) continue;
      ++possible;
      ASSERT_FALSE(at_most < bound) << step;
    }
  }
  EXPECT_GT(possible, 1'000);
  EXPECT_GT(only_for_less, 100);
}

TEST(RequestsSlightlyLess, InAmountsAlone) {
  const PreemptorClass preemptor = ClassOf(8000, 64, 4);
  EXPECT_TRUE(RequestsSlightlyLess(ClassOf(7000, 56, 4), preemptor));
  EXPECT_TRUE(RequestsSlightlyLess(ClassOf(8000, 63, 4), preemptor));
  EXPECT_FALSE(RequestsSlightlyLess(ClassOf(6999, 64, 4), preemptor)) << "much less";
  EXPECT_FALSE(RequestsSlightlyLess(ClassOf(7000, 65, 4), preemptor)) << "more of the other";
  EXPECT_FALSE(RequestsSlightlyLess(ClassOf(7000, 64, 5), preemptor)) << "another priority";
  EXPECT_FALSE(RequestsSlightlyLess(ClassOf(7000, 64, 4, Rare()), preemptor))
      << "of something else";
  PreemptorClass unknown = preemptor;
  unknown.need.reset();
  EXPECT_FALSE(RequestsSlightlyLess(unknown, preemptor));
  EXPECT_FALSE(RequestsSlightlyLess(preemptor, unknown));
}

// Amounts of which sums do not tell are among them; of more rows than are looked at without sums
// once these tell little.
TEST(BoundCalculator, AllRowsAtOnceAreWhatEachIs) {
  constexpr unsigned kSeed = 24;
  SCOPED_TRACE(kSeed);
  std::array<int, 3> seen = {};
  int merged = 0;
  const FakeNominator nominator;
  const NodeJournal budgets;
  for (const int count : {300, 5'000}) {
    ChangingNodes nodes(kSeed, count);
    PriorityLevels priority_levels;
    for (int step = 0; step < 6'000; ++step) {
      nodes.Change();
      if (step % 100 > 0 || (count > 300 && step < 5'500)) continue;
      Read(priority_levels, nodes.table());
      NominatedRows none;
      none.CatchUp(nodes.table(), nominator);
      for (int milli_cpu = 0; milli_cpu < 12'000; milli_cpu += 3'000) {
        const int memory = nodes.Below(9), priority = nodes.Below(7) - 2;
        PreemptorClass preemptor = ClassOf(milli_cpu, memory, priority);
        preemptor.by_priority = nodes.Below(4) > 0;
        if (nodes.Below(4) == 0) preemptor.need->needed.requests.emplace_back(kCpu, -1);
        if (nodes.Below(8) == 0) preemptor.need.reset();
        const BoundCalculator calculator(preemptor, nodes.table(), priority_levels);
        CandidateBounds all(preemptor);
        all.Refresh({nodes.table(), priority_levels, nominator, budgets}, none);
        ASSERT_EQ(all.size(), nodes.table().size());
        for (NodeRow row = 0; row < nodes.table().size(); ++row) {
          CandidateBound bound;
          const EvictionFeasibility feasibility = calculator.Compute(row, {}, bound);
          ASSERT_EQ(all.feasibility(row), feasibility) << step << ", row " << row;
          ++seen[static_cast<size_t>(feasibility.kind())];
          merged += feasibility.kind() == EvictionFeasibility::Kind::kStillInsufficient &&
                    feasibility.short_of() == 0;
          if (feasibility.kind() != EvictionFeasibility::Kind::kPossible) continue;
          ASSERT_EQ(all.at(row).scores(), bound.scores()) << step << ", row " << row;
        }
      }
    }
  }
  for (const int times : seen) EXPECT_GT(times, 300);
  EXPECT_GT(merged, 10);
}

// What is kept of a resource that is not common says what it would of one that is.
TEST(BoundCalculator, RareResourcesCountAsCommonOnes) {
  constexpr unsigned kSeed = 25;
  SCOPED_TRACE(kSeed);
  ChangingNodes common(kSeed, 300), rare(kSeed, 300, Rare());
  PriorityLevels levels_of_common, levels_of_rare;
  int possible = 0;
  for (int step = 0; step < 8'000; ++step) {
    common.Change();
    rare.Change();
    if (step % 50 > 0) continue;
    Read(levels_of_common, common.table());
    Read(levels_of_rare, rare.table());
    const int64_t milli_cpu = common.Below(9) * 1'000, amount = common.Below(9);
    const int64_t priority = common.Below(7) - 2;
    for (int i = 0; i < 3; ++i) rare.Below(9);
    const BoundCalculator of_common(ClassOf(milli_cpu, amount, priority), common.table(),
                                    levels_of_common);
    const BoundCalculator of_rare(ClassOf(milli_cpu, amount, priority, Rare()), rare.table(),
                                  levels_of_rare);
    ASSERT_EQ(common.table().size(), rare.table().size());
    for (NodeRow row = 0; row < common.table().size(); ++row) {
      CandidateBound wanted, bound;
      const EvictionFeasibility feasibility = of_common.Compute(row, {}, wanted);
      ASSERT_EQ(of_rare.Compute(row, {}, bound), feasibility) << step << ", row " << row;
      if (feasibility.kind() != EvictionFeasibility::Kind::kPossible) continue;
      ++possible;
      ASSERT_EQ(bound.scores(), wanted.scores()) << step << ", row " << row;
    }
  }
  EXPECT_GT(possible, 1'000);
}

// The first victim may be of any level: its start bounds that of the others too.
TEST(BoundCalculator, InAnyOrderEveryStartCounts) {
  NodeInfo node = MakeNode().Name("n").Capacity("cpu", "4").Info();
  const auto add = [&](const char* name, int32_t priority, const char* cpu, int64_t start) {
    node.AddPod(MakePod()
                    .Name(name)
                    .Priority(priority)
                    .Request("cpu", cpu)
                    .Started(absl::FromUnixSeconds(start))
                    .Obj());
  };
  add("low", 0, "1", 9);
  add("high", 5, "3", 1);
  NodeTable table;
  table.SetOrder({&node});
  PriorityLevels priority_levels;
  Read(priority_levels, table);
  PreemptorClass preemptor = ClassOf(4'000, 0, 9);
  for (const bool by_priority : {false, true}) {
    preemptor.victims_by_priority = by_priority;
    CandidateBound bound;
    BoundCalculator(preemptor, table, priority_levels).Compute(0, {}, bound);
    EXPECT_EQ(bound.victims, 2);
    EXPECT_EQ(bound.highest_priority, by_priority ? 5 : 0);
    EXPECT_EQ(bound.latest_start_nanos, (by_priority ? 1 : 9) * 1'000'000'000LL);
  }
}

}  // namespace
}  // namespace berth::testing
