// SPDX-License-Identifier: Apache-2.0
// The verdict on each row, and who rejected it first.
#include "berth/columns/node_verdicts.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace berth {
namespace {

using ::testing::ElementsAre;

TEST(NodeVerdicts, KeepsTheFirstRejector) {
  NodeVerdicts verdicts;
  verdicts.Reset(4);
  verdicts.BeginBlock({3, 1, 0});
  EXPECT_THAT(verdicts.candidates(), ElementsAre(3, 1, 0));
  verdicts.Set(1, Code::kUnschedulable);
  verdicts.EndPlugin(0);
  EXPECT_THAT(verdicts.candidates(), ElementsAre(3, 0));
  verdicts.Set(3, Code::kUnschedulableAndUnresolvable);
  verdicts.EndPlugin(1);

  EXPECT_EQ(verdicts.code(0), Code::kSuccess);
  EXPECT_TRUE(verdicts.IsFeasible(0));
  EXPECT_EQ(verdicts.code(1), Code::kUnschedulable);
  EXPECT_EQ(verdicts.rejector(1), 0);
  EXPECT_EQ(verdicts.code(2), Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(verdicts.rejector(2), NodeVerdicts::kNotFiltered);
  EXPECT_EQ(verdicts.code(3), Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(verdicts.rejector(3), 1);

  verdicts.BeginBlock({2});  // the next block leaves the rows of the first alone
  EXPECT_TRUE(verdicts.IsFeasible(2));
  EXPECT_EQ(verdicts.rejector(1), 0);
  verdicts.Reset(1);
  EXPECT_EQ(verdicts.rows(), 1);
  EXPECT_EQ(verdicts.rejector(0), NodeVerdicts::kNotFiltered);
}

TEST(NodeVerdicts, ReasonIdsMeanTheSameInAllBlocks) {
  NodeVerdicts verdicts;
  verdicts.Reset(20);
  const auto set = [&](NodeRow row, const std::string& reason) {
    verdicts.BeginBlock({row});
    verdicts.Set(row, Status::Unschedulable(reason));
    verdicts.EndPlugin(0);
    return verdicts.reason_id(row);
  };
  const uint8_t full = set(0, "full"), old = set(1, "old");
  EXPECT_NE(full, NodeVerdicts::kNoReasonId);
  EXPECT_NE(old, NodeVerdicts::kNoReasonId);
  EXPECT_NE(full, old);
  EXPECT_EQ(set(2, "old"), old);
  for (NodeRow row = 3; row < 9; ++row) set(row, absl::StrCat("row ", row));
  EXPECT_EQ(set(9, "one too many"), NodeVerdicts::kNoReasonId);
  EXPECT_EQ(set(10, "full"), full);
  verdicts.ClearReasonIds();
  EXPECT_EQ(set(11, "one too many"), full);  // the first number again
}

}  // namespace
}  // namespace berth
