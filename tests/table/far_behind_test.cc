// SPDX-License-Identifier: Apache-2.0
// Who follows a table, and who had better look at all of it.
#include "table/far_behind.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth::testing {
namespace {

TEST(FarBehind, IsWhoMissedMoreThanHalfOfTheRowsAndSome) {
  NodeInfo node = MakeNode().Name("n").Info();
  std::vector<NodeInfo> others;
  for (int i = 0; i < 299; ++i) others.push_back(MakeNode().Name(absl::StrCat("o", i)).Info());
  std::vector<const NodeInfo*> order = {&node};
  for (const NodeInfo& other : others) order.push_back(&other);
  NodeTable table;
  table.SetOrder(order);
  const uint64_t version = table.version();
  EXPECT_FALSE(IsFarBehind(table, version));
  for (int i = 0; i < 1024 + 150; ++i) {
    EXPECT_FALSE(IsFarBehind(table, version)) << i;
    table.RefreshRow(0);
  }
  EXPECT_FALSE(IsFarBehind(table, version));
  table.RefreshRow(0);
  EXPECT_TRUE(IsFarBehind(table, version));
  EXPECT_FALSE(IsFarBehind(table, version + 1));
  EXPECT_TRUE(IsFarBehind(table, table.version() + 1)) << "a version of another table";
}

}  // namespace
}  // namespace berth::testing
