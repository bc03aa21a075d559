// SPDX-License-Identifier: Apache-2.0
// The parts of which ScoreCache is made: each against the plain way to find the same.
#include "evaluation/incremental/score_cache.h"

#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "evaluation/incremental/rejection_counts.h"
#include "gmock/gmock.h"
#include "table/row_move.h"

namespace berth {
namespace {

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
      move = RowMove::Came(below(size + 1), size + 1);
    } else if (kind == 1) {
      std::vector<NodeRow> rows = {below(size)};
      for (NodeRow row = rows.front() + 1; row < size; ++row) {
        if (below(3) == 0) rows.push_back(row);
      }
      move = RowMove::Went(rows, size);
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
