// SPDX-License-Identifier: Apache-2.0
// What is kept of each node's pods by priority is what a look at all of them would say.
#include "preemption/pruning/priority_levels.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/preemption/pruning/changing_nodes.h"

namespace berth::testing {
namespace {

// By priority, as text.
std::string Describe(const PriorityLevels& priority_levels, NodeRow row) {
  std::string text = priority_levels.is_merged(row) ? "merged" : "";
  const int32_t slot = priority_levels.slot(row);
  for (const PriorityLevel& level : priority_levels.levels()) {
    if (level.priority[slot] == PriorityLevels::kNone) break;
    absl::StrAppend(&text, " ", level.priority[slot], ": ", level.pods[slot], " pods, started ",
                    level.latest_start_nanos[slot]);
    for (const auto* columns : {&level.requests, &level.largest}) {
      for (size_t resource = 0; resource < columns->size(); ++resource) {
        const PriorityLevel::Amounts& amounts = (*columns)[resource];
        if (amounts.empty() || amounts[slot] == 0) continue;
        absl::StrAppend(&text, " ", ResourceName(static_cast<ResourceId>(resource)), "=",
                        amounts[slot]);
      }
    }
  }
  return text;
}

TEST(PriorityLevels, FollowsNodesAndPods) {
  constexpr unsigned kSeed = 21;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, 12);
  PriorityLevels priority_levels;
  int merged = 0, stops = 0;
  for (int step = 0; step < 4'000; ++step) {
    nodes.Change();
    if (nodes.Below(4) > 0) continue;
    if (nodes.Below(2) == 0) {  // bit by bit, of which some go and come meanwhile
      const auto yields = [&] {
        CycleState state;
        state.SetWorkBudget(WorkBudget(1 + nodes.Below(20)));
        const bool done = priority_levels.Refresh(nodes.table(), state);
        EXPECT_EQ(state.work_budget().yielded(), !done);
        return !done;
      };
      if (yields()) ++stops;
      if (nodes.Below(2) == 0) nodes.Change();
      while (yields()) ++stops;
    }
    Read(priority_levels, nodes.table());
    PriorityLevels fresh;
    Read(fresh, nodes.table());
    for (NodeRow row = 0; row < nodes.table().size(); ++row) {
      EXPECT_EQ(Describe(priority_levels, row), Describe(fresh, row));
      merged += priority_levels.is_merged(row);
    }
    ASSERT_FALSE(HasFailure()) << step;
  }
  EXPECT_GT(merged, 100);
  EXPECT_GT(stops, 200);
}

}  // namespace
}  // namespace berth::testing
