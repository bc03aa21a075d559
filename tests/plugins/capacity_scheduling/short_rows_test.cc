// SPDX-License-Identifier: Apache-2.0
// Sums of rows that are kept over changes, against sums made again.
#include "plugins/capacity_scheduling/short_rows.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// Nodes that pods come to and leave, are nominated to, and that change places.
class ChangingNodes {
 public:
  explicit ChangingNodes(int seed) : random_(seed) {
    for (int n = 0; n < kNodes; ++n) {
      auto node = testing::MakeNode().Name(absl::StrCat("n", n)).Capacity("pods", "6");
      node.Capacity("cpu", "6").Capacity("nvidia.com/gpu", "4");
      infos_.push_back(node.Info());
    }
    for (const NodeInfo& info : infos_) order_.push_back(&info);
    table_.SetOrder(order_);
  }

  int Below(int bound) { return static_cast<int>(random_() % bound); }
  void Step(int number) {
    const int n = Below(kNodes);
    switch (Below(6)) {
      case 0:
        nominator_.Nominate(MakePod(number), absl::StrCat("n", n));
        break;
      case 1:  // a node comes back in another place, or goes
        if (Below(4) != 0) break;
        std::swap(order_[Below(static_cast<int>(order_.size()))], order_.back());
        if (order_.size() > 2 && Below(4) == 0) order_.pop_back();
        table_.SetOrder(order_);
        break;
      case 2:
      case 3:
        if (infos_[n].pods().empty()) break;
        infos_[n].RemovePod(*PodPtr(infos_[n].pods().front()));
        break;
      default:
        infos_[n].AddPod(MakePod(number));
    }
    for (NodeRow row = 0; row < table_.size(); ++row) {
      if (order_[row] == &infos_[n]) table_.RefreshRow(row);
    }
  }
  const NodeTable& table() const { return table_; }
  const testing::FakeNominator& nominator() const { return nominator_; }

 private:
  static constexpr int kNodes = 8;

  PodPtr MakePod(int number) {
    auto pod = testing::MakePod().Name(absl::StrCat("p", number)).Priority(Below(3));
    pod.Request("cpu", absl::StrCat(Below(4000), "m"));
    if (Below(2) == 0) pod.Request("nvidia.com/gpu", absl::StrCat(Below(3)));
    if (Below(4) == 0) pod.Deleted();
    return pod.Obj();
  }

  std::mt19937 random_;
  std::vector<NodeInfo> infos_;
  std::vector<const NodeInfo*> order_;
  NodeTable table_;
  testing::FakeNominator nominator_;
};

// Of more requests than are kept at a time.
TEST(ShortRows, AreThoseOfSumsMadeAnewAfterAnyChange) {
  int free = 0, possible = 0, impossible = 0, unknown = 0;
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ChangingNodes nodes(seed);
    ExpectedPods expected;
    ShortRows short_rows;
    for (int step = 0; step < 200; ++step) {
      nodes.Step(step);
      if (nodes.Below(3) == 0) continue;
      expected.Refresh(nodes.table(), nodes.nominator());
      const int shape = nodes.Below(nodes.Below(2) == 0 ? 3 : 12);
      RowSummer::Resources resources = {{ResourceIdOf("cpu"), 1000 * (shape % 4), 2000}};
      resources.push_back({ResourceIdOf("nvidia.com/gpu"), 1, shape % 2 == 0 ? 2 : 0});
      const RowSummer summer(nodes.table(), expected, std::move(resources), shape % 3);
      ShortRows::Kept& kept = short_rows.For(summer);
      for (NodeRow row = nodes.Below(2); row < nodes.table().size(); ++row) {
        RowSums want, got;
        const bool found = summer.FindSums(row, want);
        ASSERT_EQ(kept.FindSums(summer, row, got), found);
        unknown += found ? 0 : 1;
        if (!found) continue;
        ASSERT_EQ(got.is_short, want.is_short);
        if (!want.is_short) {
          ++free;
          continue;
        }
        ASSERT_EQ(got.is_possible, want.is_possible);
        ASSERT_EQ(got.pods, want.pods);
        ++(want.is_possible ? possible : impossible);
      }
    }
  }
  EXPECT_GT(free, 1000);
  EXPECT_GT(possible, 1000);
  EXPECT_GT(impossible, 1000);
  EXPECT_GT(unknown, 1000);
}

}  // namespace
}  // namespace berth
