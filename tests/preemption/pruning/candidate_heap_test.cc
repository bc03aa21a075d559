// SPDX-License-Identifier: Apache-2.0
// The heap gives the highest bound that is left.
#include "preemption/pruning/candidate_heap.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/testing/fake_handle.h"
#include "gtest/gtest.h"
#include "tests/preemption/pruning/changing_nodes.h"

namespace berth::testing {
namespace {

class Statuses final : public NodeStatuses {
 public:
  explicit Statuses(std::vector<Code> codes) : codes_(std::move(codes)) {}
  Code code(NodeRow row) const override { return codes_[row]; }
  Status status(NodeRow row) const override { return Status::Make(codes_[row], {}); }
  std::vector<NodeRow> RowsWith(Code) const override { return {}; }

 private:
  const std::vector<Code> codes_;
};

// The highest bound of those that are left, by a look at each.
NodeRow BestOf(const CandidateBounds& bounds, const std::vector<uint8_t>& is_left) {
  NodeRow best = -1;
  for (NodeRow row = 0; row < bounds.size(); ++row) {
    if (!is_left[row] || !bounds.is_possible(row)) continue;
    if (best < 0 || bounds.at(best) < bounds.at(row)) best = row;
  }
  return best;
}

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
    const NodeJournal budgets;
    bounds.Refresh({table, levels, nominator, budgets}, none);
    // Nearly all are left, or some, or some are listed.
    const int kind = nodes.Below(3);
    std::vector<uint8_t> is_left(table.size());
    std::vector<Code> codes(table.size(), Code::kUnschedulableAndUnresolvable);
    std::optional<std::vector<NodeRow>> listed;
    if (kind == 0) listed.emplace();
    for (NodeRow row = 0; row < table.size(); ++row) {
      is_left[row] = nodes.Below(kind == 1 ? 100 : 4) > 0;
      if (is_left[row] || kind == 0) codes[row] = Code::kUnschedulable;
      if (is_left[row] && kind == 0) listed->push_back(row);
    }
    const Statuses statuses(codes);
    const bool ends_early = nodes.Below(3) == 0;  // as most searches do
    {
      CandidateHeap heap(bounds, statuses, listed);
      for (NodeRow row = BestOf(bounds, is_left); row >= 0;
           row = BestOf(bounds, is_left), ++found) {
        if (ends_early && nodes.Below(5) == 0) break;
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
      ASSERT_EQ(heap.Best(), BestOf(bounds, is_left));
      for (NodeRow row = 0; row < table.size(); ++row) {  // of those where nothing is possible, too
        if (!is_left[row] || nodes.Below(2) > 0) continue;
        is_left[row] = 0;
        heap.Remove(row);
      }
      ASSERT_EQ(heap.Best(), BestOf(bounds, is_left));
      std::vector<NodeRow> rest;
      for (NodeRow row = 0; row < table.size(); ++row) {
        if (is_left[row]) rest.push_back(row);
      }
      EXPECT_EQ(heap.Rows(), rest);
    }
    // The next search finds all of them again.
    EXPECT_EQ(bounds.Best(), BestOf(bounds, std::vector<uint8_t>(table.size(), 1)));
  }
  EXPECT_GT(found, 1000);
}

}  // namespace
}  // namespace berth::testing
