// SPDX-License-Identifier: Apache-2.0
// The rows of nodes with nominated pods, kept in step.
#include "framework/nominated_rows.h"

#include <list>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "cache/nominations.h"
#include "gmock/gmock.h"

namespace berth::testing {
namespace {

using ::testing::UnorderedElementsAreArray;

TEST(NominatedRows, AreThoseWithNominatedPodsAfterAnyChange) {
  constexpr unsigned kSeed = 31;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  std::vector<NodeInfo> nodes;
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (int i = 0; i < 12; ++i) nodes.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
  for (int i = 0; i < 20; ++i) pods.push_back(MakePod().Name(absl::StrCat("p", i)).Obj());
  NodeTable table;
  Nominations nominations;
  NominatedRows rows;
  size_t seen = 0;
  for (int step = 0; step < 5'000; ++step) {
    if (below(20) == 0) {
      std::vector<const NodeInfo*> some;
      for (const NodeInfo& node : nodes) {
        if (below(3) > 0) some.push_back(&node);
      }
      if (below(2) == 0) {
        table.SetOrder(some);
      } else {
        table.Rearrange(some);
      }
    }
    // Now and then more than are kept.
    for (size_t times = below(500) == 0 ? 10'000 : 1; times > 0; --times) {
      const std::string node = absl::StrCat("n", below(14));  // of which two never are in the table
      nominations.Nominate(pods[below(pods.size())], below(2) == 0 ? "" : node);
    }
    if (below(3) > 0) continue;
    rows.CatchUp(table, nominations);
    std::vector<NodeRow> expected;
    for (NodeRow row = 0; row < table.size(); ++row) {
      const bool nominated = !nominations.NominatedPods(table.node(row).name()).empty();
      if (nominated) expected.push_back(row);
      EXPECT_EQ(rows.contains(row), nominated);
    }
    EXPECT_THAT(rows.rows(), UnorderedElementsAreArray(expected));
    seen += expected.size();
    ASSERT_FALSE(HasFailure()) << step;
  }
  EXPECT_GT(seen, 1'000u);
}

}  // namespace
}  // namespace berth::testing
