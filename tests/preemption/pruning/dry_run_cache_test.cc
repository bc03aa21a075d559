// SPDX-License-Identifier: Apache-2.0
// What dry runs came to stays with its node, whatever becomes of the rows.
#include "preemption/pruning/dry_run_cache.h"

#include <list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/dry_run_inputs.h"
#include "gmock/gmock.h"
#include "tests/preemption/small_cluster.h"

namespace berth::testing {
namespace {

TEST(CachedResults, FollowRowsThatMove) {
  std::list<NodeInfo> nodes;
  for (int i = 0; i < 12; ++i) nodes.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
  NodeTable table;
  table.SetOrder({});  // nodes come later
  const FakeNominator nominator;
  std::mt19937 random(13);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };

  CachedResults results;
  NodeJournal budgets;
  int known = 0;
  for (int step = 0; step < 2'000; ++step) {
    NodeInfo& node = *std::next(nodes.begin(), below(12));
    const NodeRow row = table.FindRow(node.name());
    if (row < 0) {
      table.InsertRow(below(table.size() + 1), &node);
    } else if (below(4) == 0) {
      table.RefreshRow(row);
    } else if (below(20) == 0) {
      std::vector<const NodeInfo*> some;
      for (const NodeInfo& other : nodes) {
        if (below(3) > 0) some.push_back(&other);
      }
      table.Rearrange(some);
    } else {
      std::vector<NodeRow> rows = {row};
      for (NodeRow other = row + 1; other < table.size(); ++other) {
        if (below(3) == 0) rows.push_back(other);
      }
      table.RemoveRow(rows);
    }
    if (below(3) == 0) continue;
    if (below(50) == 0) budgets.Restart();  // nothing holds any more
    const Symbol changed = Symbol::Intern(absl::StrCat("n", below(12)));
    const bool is_changed = below(5) == 0;
    if (is_changed) budgets.Add(changed, table.size());
    results.Refresh(table, nominator, budgets, -1, {});
    if (const NodeRow of_changed = table.FindRow(changed); is_changed && of_changed >= 0) {
      EXPECT_FALSE(results.IsKnown(of_changed));
    }
    for (NodeRow now = 0; now < table.size(); ++now) {
      const std::string name(table.node(now).name().view());
      if (results.IsKnown(now) && below(10) > 0) {
        ++known;
        // What was said of the node below, when it was in whatever row.
        if (const ScoredCandidatePtr candidate = results.candidate(now); candidate != nullptr) {
          EXPECT_EQ(candidate->candidate.node, name);
          EXPECT_EQ(candidate->candidate.row, now);
        } else {
          EXPECT_EQ(results.failures()[results.failure(now)].reasons(),
                    std::vector<std::string>{name + " cannot help"});
        }
      } else if (below(2) == 0) {  // what was known, too, if it is looked at again
        if (below(2) == 0) {
          auto scored = std::make_shared<ScoredCandidate>();
          scored->candidate = {now, name, {}, 0};
          results.SetCandidate(now, std::move(scored));
        } else {
          results.SetFailures({&now, 1}, Status::Unschedulable(name + " cannot help"));
        }
      }
    }
    int candidates = 0, rows_known = 0;
    for (NodeRow now = 0; now < table.size(); ++now) {
      candidates += results.candidate(now) != nullptr;
      rows_known += results.IsKnown(now);
    }
    EXPECT_EQ(results.known_count(), rows_known);
    EXPECT_EQ(results.candidate_count(), candidates);
    ASSERT_FALSE(HasFailure()) << step;
  }
  EXPECT_GT(known, 1000);
}

TEST(DryRunCache, KeepsTheClassesThatCameLast) {
  DryRunCache cache;
  CachedResults* const first = &cache.Find("first", 10'000);
  EXPECT_EQ(&cache.Find("second", 10'000), &cache.Find("second", 10'000));
  EXPECT_EQ(&cache.Find("first", 10'000), first);
  first->OnSearchEnd();
  for (int i = 0; i < 3'000; ++i) cache.Find(absl::StrCat("other", i), 10'000);
  EXPECT_EQ(cache.size(), 52u) << "of very many nodes, few";
}

// The inputs are about pods that run, not about those that are nominated.
TEST(CachedResults, RowsOfNominatedPodsAreForgottenWhereObjectsCount) {
  const NodeInfo node = MakeNode().Name("n").Info();
  NodeTable table;
  table.SetOrder({&node});
  FakeNominator nominator;
  nominator.Nominate(MakePod().Name("nominated").Obj(), "n");
  const NodeJournal budgets;
  for (const bool objects_count : {false, true}) {
    CachedResults results;
    const auto refresh = [&] {
      DryRunInputs inputs;
      if (objects_count) inputs.filter_inputs.Add("volume");
      results.Refresh(table, nominator, budgets, -1, inputs);
    };
    refresh();
    results.SetFailures({0}, Status::Unschedulable("cannot help"));
    refresh();
    EXPECT_EQ(results.IsKnown(0), !objects_count);
  }
}

}  // namespace
}  // namespace berth::testing
