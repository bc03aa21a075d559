// SPDX-License-Identifier: Apache-2.0
// What is free where pods are rejected, followed row by row, is what a look at all rows finds.
#include "evaluation/incremental/free_capacity_cache.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"
#include "table/change_journal.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

TEST(FreeCapacityCache, FollowsPodsAndVerdicts) {
  constexpr unsigned kSeed = 41;
  constexpr int kNodes = 100;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  std::list<NodeInfo> infos;
  std::vector<const NodeInfo*> order;
  for (int i = 0; i < kNodes; ++i) {
    infos.push_back(
        MakeNode().Name(absl::StrCat("n", i)).Capacity("cpu", "8").Capacity("pods", "9").Info());
    order.push_back(&infos.back());
  }
  NodeTable table;
  table.SetOrder(order);
  NodeVerdicts verdicts;
  verdicts.Reset(kNodes);
  RowJournal evaluated;
  FreeCapacityCache cache;
  RowJournal::Position seen;
  int rejected = 0;
  for (int step = 0; step < 3'000; ++step) {
    for (int i = below(3); i > 0; --i) {
      const int pick = below(kNodes);
      NodeInfo& node = *std::next(infos.begin(), pick);
      if (node.pods().size() < 9 && below(3) > 0) {
        auto pod = MakePod().Name(absl::StrCat("p", step, "-", i));
        node.AddPod(pod.Request("cpu", absl::StrCat(below(3))).Obj());
      } else if (!node.pods().empty()) {
        node.RemovePod(*node.pods().front());
      }
      table.RefreshRow(table.FindRow(node.name()));
    }
    for (int i = below(below(50) == 0 ? 120 : 4); i > 0; --i) {
      const NodeRow row = below(kNodes);
      verdicts.Reject(row, Code::kUnschedulable, static_cast<uint8_t>(below(2)));
      evaluated.Add(row, kNodes);
    }
    if (below(60) == 0) {
      std::shuffle(order.begin(), order.end(), random);
      table.Rearrange(order);
      evaluated.Restart();
    }
    const FreeCapacityQuestion question = {below(4) > 0 ? "cpu" : "pods", 1,
                                           below(8) > 0 ? 3 : 6000};
    const FreeCapacity free = cache.Measure(question, table, verdicts, evaluated.Since(seen));
    seen = evaluated.end();

    int64_t all_free = 0, most_free = 0;
    const FreeColumn column(table, question.resource);
    for (NodeRow row = 0; row < kNodes; ++row) {
      if (verdicts.rejector(row) != 1) continue;
      ++rejected;
      all_free += column.free(row);
      if (column.free(row) < question.needed) most_free = std::max(most_free, column.free(row));
    }
    ASSERT_EQ(free.all_free, all_free) << step;
    ASSERT_EQ(free.most_free, most_free) << step;
  }
  EXPECT_GT(rejected, 1000);
}

}  // namespace
}  // namespace berth
