// The parts of which RankedNodes is made: each against the plain way to find the same.
#include "engine/ranked_nodes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/rejection_counts.h"
#include "gmock/gmock.h"

namespace berth {
namespace {

NodeRow FirstOfTheBest(const std::vector<int64_t>& totals) {
  const auto best = std::max_element(totals.begin(), totals.end());
  if (best == totals.end() || *best == BestRow::kOut) return -1;
  return static_cast<NodeRow>(best - totals.begin());
}

TEST(BestRow, IsTheFirstOfTheBest) {
  std::mt19937 random(11);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  const auto any_total = [&] { return below(3) == 0 ? BestRow::kOut : int64_t{below(40)} - 10; };
  std::vector<int64_t> totals;
  BestRow best;
  EXPECT_EQ(best.best(), -1);
  for (int step = 0; step < 20'000; ++step) {
    const int size = static_cast<int>(totals.size());
    const int kind = below(8);
    if (kind <= 1 && size < 300) {  // rows come
      const NodeRow row = below(size + 1);
      totals.insert(totals.begin() + row, 1 + below(20), any_total());
      best.Build(totals, row);
    } else if (kind <= 3 && size > 0) {  // rows go
      const NodeRow row = below(size);
      totals.erase(totals.begin() + row,
                   totals.begin() + row + 1 + below(std::min(20, size - row)));
      best.Build(totals, row);
    } else if (kind == 4 && below(20) == 0) {
      totals.assign(below(300), any_total());
      best.Build(totals);
    } else if (size > 0) {
      const NodeRow row = below(size);
      totals[row] = any_total();
      best.Update(row, totals);
    }
    ASSERT_EQ(best.best(), FirstOfTheBest(totals)) << step;
  }
}

TEST(RejectionCounts, FollowRowsThatMove) {
  const Status kStatuses[] = {Status::Success(), Status::Unschedulable("full"),
                              Status::UnschedulableAndUnresolvable("tainted"),
                              Status::Unschedulable("other").WithPlugin(Symbol::Intern("one")),
                              Status::Unschedulable("other").WithPlugin(Symbol::Intern("two"))};
  std::mt19937 random(12);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  std::vector<Status> statuses;
  const auto say = [](RejectionCounts& counts, NodeRow row, const Status& status) {
    if (status.ok()) return counts.Clear(row);
    counts.Set(row, *counts.IndexOf(status));
  };
  RejectionCounts moved;
  moved.Reset(0);
  for (int step = 0; step < 3'000; ++step) {
    const int size = static_cast<int>(statuses.size());
    const int kind = below(5);
    std::optional<RowMove> move;
    if (kind == 0 || size == 0) {
      move = RowMove::Came(below(size + 1));
    } else if (kind == 1) {
      std::vector<NodeRow> rows = {below(size)};
      for (NodeRow row = rows.front() + 1; row < size; ++row) {
        if (below(3) == 0) rows.push_back(row);
      }
      move = RowMove::Went(rows);
    } else if (kind == 2) {
      std::vector<NodeRow> rows(size);
      std::iota(rows.begin(), rows.end(), 0);
      if (below(2) == 0) std::shuffle(rows.begin(), rows.end(), random);
      std::erase_if(rows, [&](NodeRow) { return below(10) == 0; });
      if (below(2) == 0) rows.insert(rows.begin() + below(static_cast<int>(rows.size()) + 1), -1);
      move = RowMove::Rearranged(rows, size);
    }
    if (move.has_value()) {
      move->Apply(statuses);
      moved.Move(*move);
    } else {
      const NodeRow row = below(size);
      statuses[row] = kStatuses[below(5)];
      say(moved, row, statuses[row]);
    }
    RejectionCounts fresh;
    fresh.Reset(static_cast<int>(statuses.size()));
    for (NodeRow row = 0; row < static_cast<NodeRow>(statuses.size()); ++row) {
      say(fresh, row, statuses[row]);
    }
    const ReasonCounts want = fresh.Count();
    const ReasonCounts have = moved.Count();
    ASSERT_EQ(have.size(), want.size()) << step;
    for (const auto& [reason, count] : want) {
      const auto it = have.find(reason);
      ASSERT_NE(it, have.end()) << step << " " << reason;
      EXPECT_EQ(it->second.nodes, count.nodes) << reason;
      EXPECT_EQ(it->second.resolvable, count.resolvable) << reason;
      EXPECT_EQ(it->second.plugin, count.plugin) << reason;
    }
  }
}

}  // namespace
}  // namespace berth
