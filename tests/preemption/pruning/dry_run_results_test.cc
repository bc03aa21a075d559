// What dry runs came to stays with its node, whatever becomes of the rows.
#include "preemption/pruning/dry_run_results.h"

#include <list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/preemption/small_cluster.h"

namespace berth::testing {
namespace {

TEST(RememberedRuns, FollowRowsThatMove) {
  std::list<NodeInfo> nodes;
  for (int i = 0; i < 12; ++i) nodes.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
  NodeTable table;
  table.SetOrder({});  // nodes come later
  const FakeNominator nominator;
  std::mt19937 random(13);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };

  RememberedRuns runs;
  int known = 0, budgets = 0;
  const std::vector<int64_t> gauges = {0};
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
    if (below(50) == 0) ++budgets;  // nothing holds any more
    runs.Refresh(table, nominator, budgets, -1, {}, gauges);
    for (NodeRow now = 0; now < table.size(); ++now) {
      const std::string name(table.node(now).name().view());
      // Of the node itself, as a sign of whose it is.
      const RememberedRuns::Terms terms{{}, absl::FromUnixSeconds(table.node(now).name().id())};
      if (runs.IsKnown(now) && below(10) > 0) {
        ++known;
        // What was said of the node below, when it was in whatever row.
        EXPECT_EQ(runs.helps_from(now), terms.helps_from);
        if (const WeighedPtr& candidate = runs.candidate(now); candidate != nullptr) {
          EXPECT_EQ(candidate->candidate.node, name);
          EXPECT_EQ(candidate->candidate.row, now);
        } else {
          EXPECT_EQ(runs.failures()[runs.failure(now)].reasons(),
                    std::vector<std::string>{name + " cannot help"});
        }
      } else if (below(2) == 0) {  // what was known, too, if it is looked at again
        if (below(2) == 0) {
          auto weighed = std::make_shared<WeighedCandidate>();
          weighed->candidate = {now, name, {}, 0};
          runs.SetCandidate(now, std::move(weighed), terms);
        } else {
          runs.SetFailures({&now, 1}, Status::Unschedulable(name + " cannot help"), terms);
        }
      }
    }
    int candidates = 0, rows_known = 0;
    for (NodeRow now = 0; now < table.size(); ++now) {
      candidates += runs.candidate(now) != nullptr;
      rows_known += runs.IsKnown(now);
    }
    EXPECT_EQ(runs.known_count(), rows_known);
    EXPECT_EQ(runs.candidate_count(), candidates);
    ASSERT_FALSE(HasFailure()) << step;
  }
  EXPECT_GT(known, 1000);
}

// The basis is about pods that run, not about those that are nominated.
TEST(RememberedRuns, RowsOfNominatedPodsAreForgottenWhereObjectsCount) {
  const NodeInfo node = MakeNode().Name("n").Info();
  NodeTable table;
  table.SetOrder({&node});
  FakeNominator nominator;
  nominator.Nominate(MakePod().Name("nominated").Obj(), "n");
  for (const bool objects_count : {false, true}) {
    RememberedRuns runs;
    const auto refresh = [&] {
      DryRunGrounds grounds;
      if (objects_count) grounds.basis.Add("volume");
      runs.Refresh(table, nominator, 0, -1, grounds, {});
    };
    refresh();
    runs.SetFailures({0}, Status::Unschedulable("cannot help"), {});
    refresh();
    EXPECT_EQ(runs.IsKnown(0), !objects_count);
  }
}

}  // namespace
}  // namespace berth::testing
