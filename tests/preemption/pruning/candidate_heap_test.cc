// SPDX-License-Identifier: Apache-2.0
// The heap gives the highest bound that is left.
#include "preemption/pruning/candidate_heap.h"

#include <vector>

#include "berth/testing/fake_handle.h"
#include "gtest/gtest.h"
#include "tests/preemption/pruning/changing_nodes.h"

namespace berth::testing {
namespace {

TEST(CandidateHeap, GivesTheHighestBoundFirst) {
  constexpr unsigned kSeed = 23;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, 300);
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 50; ++i) nodes.Change();
    const NodeTable& table = nodes.table();
    PriorityLevels levels;
    Read(levels, table);
    FakeNominator nominator;
    CandidateBounds bounds(ClassOf(3000, 2, 4));
    NominatedRows none;
    none.CatchUp(table, nominator);
    bounds.Refresh(table, levels, nominator, none, NodeJournal());
    std::vector<uint8_t> is_left(table.size());
    for (uint8_t& left : is_left) left = nodes.Below(4) > 0;
    CandidateHeap heap(bounds, is_left);
    // By a look at each.
    const auto best = [&] {
      NodeRow best = -1;
      for (NodeRow row = 0; row < table.size(); ++row) {
        if (!is_left[row] || !bounds.is_possible(row)) continue;
        if (best < 0 || bounds.at(best) < bounds.at(row)) best = row;
      }
      return best;
    };
    for (NodeRow row = best(); row >= 0; row = best(), ++found) {
      ASSERT_EQ(heap.Best(), row) << round;
      if (nodes.Below(4) == 0 && !bounds.at(row).knows_budgets) {
        CandidateBound sharper = bounds.at(row);
        sharper.knows_budgets = true;
        sharper.violations += nodes.Below(2);
        bounds.Tighten(row, sharper);
        heap.Update(row);
      } else {
        is_left[row] = 0;
        heap.Remove(row);
      }
    }
    ASSERT_EQ(heap.Best(), -1);
    std::vector<NodeRow> rest;
    for (NodeRow row = 0; row < table.size(); ++row) {
      if (is_left[row]) rest.push_back(row);
    }
    EXPECT_EQ(heap.Rows(), rest);
  }
  EXPECT_GT(found, 1000);
}

}  // namespace
}  // namespace berth::testing
