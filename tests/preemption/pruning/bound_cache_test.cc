// SPDX-License-Identifier: Apache-2.0
// Bounds that are kept are what fresh ones would be, whatever becomes of pods and rows.
#include "preemption/pruning/bound_cache.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/fake_handle.h"
#include "gtest/gtest.h"
#include "tests/preemption/pruning/changing_nodes.h"

namespace berth::testing {
namespace {

// Few nodes are all looked at again; of more only what changed.
class BoundsOfNodes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(FewAndMany, BoundsOfNodes, ::testing::Values(12, 300));

TEST_P(BoundsOfNodes, FollowNodesPodsAndNominations) {
  constexpr unsigned kSeed = 22;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, GetParam());
  PriorityLevels levels;
  BoundCache cache;
  FakeNominator nominator;
  const NodeJournal budgets;  // of which none changes
  const std::vector<PreemptorClass> classes = {ClassOf(3000, 2, 4), ClassOf(6000, 6, 2),
                                               ClassOf(1000, 8, 3)};
  int possible = 0, fell_behind = 0;
  for (int step = 0; step < 4'000; ++step) {
    nodes.Change();
    if (nodes.Below(3) > 0) continue;
    const bool falls_behind = nodes.Below(300) == 0;  // so far that nothing is followed
    for (int i = 0; falls_behind && i < 2'000; ++i) nodes.Change();
    fell_behind += falls_behind;
    const NodeTable& table = nodes.table();
    const PreemptorClass& preemptor = classes[nodes.Below(3)];
    Read(levels, table);
    if (nodes.Below(10) == 0) {
      auto pod = MakePod().Name(absl::StrCat("nominated-", step)).Priority(nodes.Below(5));
      nominator.Nominate(pod.Request("cpu", "1").Obj(), absl::StrCat("n", nodes.Below(GetParam())));
    }
    const NodeRow own_row = nodes.Below(3) == 0 ? nodes.Below(table.size() + 1) - 1 : -1;
    const BoundInputs inputs{table, levels, nominator, budgets, own_row};
    CandidateBounds& kept = cache.Find(preemptor, inputs, /*exact=*/true);
    CandidateBounds fresh(preemptor);
    NominatedRows nominated_rows;
    nominated_rows.CatchUp(table, nominator);
    fresh.Refresh(inputs, nominated_rows);
    for (NodeRow row = 0; row < table.size(); ++row) {
      ASSERT_EQ(kept.feasibility(row), fresh.feasibility(row)) << step;
      if (!fresh.is_possible(row)) continue;
      ++possible;
      ASSERT_EQ(kept.at(row).scores(), fresh.at(row).scores()) << step;
    }
    ASSERT_EQ(kept.Best(), fresh.Best()) << step;
  }
  EXPECT_GT(possible, 1000);
  EXPECT_GT(fell_behind, 0);
}

}  // namespace
}  // namespace berth::testing
