// SPDX-License-Identifier: Apache-2.0
// What is free where pods are rejected.
#include "evaluation/free_capacity.h"

#include <limits>
#include <list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;

TEST(FreeCapacity, OfVeryMuchIsVeryMuch) {
  std::list<NodeInfo> infos;
  std::vector<const NodeInfo*> order;
  for (int i = 0; i < 4; ++i) {
    infos.push_back(MakeNode().Name(absl::StrCat("n", i)).Allocatable("memory", "7Ei").Info());
    order.push_back(&infos.back());
  }
  NodeTable table;
  table.SetOrder(order);
  NodeVerdicts verdicts;
  verdicts.Reset(4);
  for (NodeRow row = 0; row < 4; ++row) {
    verdicts.BeginBlock({&row, 1});
    verdicts.Set(row, Code::kUnschedulable);
    verdicts.EndPlugin(0);
  }
  constexpr int64_t kMore = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(MeasureFreeCapacity({"memory", 0, kMore}, table, verdicts).all_free, kMore);
  EXPECT_EQ(MeasureFreeCapacity({"memory", 0, 1}, table, verdicts).all_free, 0)
      << "no node is short of it";
}

}  // namespace
}  // namespace berth
