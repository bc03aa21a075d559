// SPDX-License-Identifier: Apache-2.0
// Groups of rows, split by values, are what comparing each row with each would make of them.
#include "evaluation/incremental/split_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace berth {
namespace {

using ::testing::ElementsAre;

TEST(SplitGroups, NumbersGroupsByTheirFirstRows) {
  std::vector<int32_t> group_of_row = {0, 0, kNoGroup, 1, 0};
  const std::vector<int64_t> values = {7, 5, 5, 7, 7};
  EXPECT_EQ(SplitGroups(values, 2, 3, absl::MakeSpan(group_of_row)), 3);
  EXPECT_THAT(group_of_row, ElementsAre(0, 1, kNoGroup, 2, 0));
  EXPECT_EQ(SplitGroups(values, 3, 2, absl::MakeSpan(group_of_row)), 0) << "they are too many";
}

// Values that are close to each other are looked up in an array, others in a map.
TEST(SplitGroups, AsAPlainMapDoes) {
  constexpr int kRows = 300;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto upto = [&](int n) { return static_cast<int>(random() % (n + 1)); };
    const int64_t far = seed % 3 == 0   ? 1
                        : seed % 3 == 1 ? 1'000'000
                                        : std::numeric_limits<int64_t>::max() / 8;
    const int groups = 1 + upto(9);
    std::vector<int32_t> group_of_row;
    std::vector<int64_t> values;
    for (int row = 0; row < kRows; ++row) {
      group_of_row.push_back(upto(groups) - 1);
      values.push_back((upto(16) - 8) * far);
    }
    std::map<std::pair<int32_t, int64_t>, int32_t> numbers;
    std::vector<int32_t> expected;
    for (int row = 0; row < kRows; ++row) {
      const auto next = static_cast<int32_t>(numbers.size());
      expected.push_back(
          group_of_row[row] == kNoGroup
              ? kNoGroup
              : numbers.try_emplace({group_of_row[row], values[row]}, next).first->second);
    }
    EXPECT_EQ(SplitGroups(values, groups, kRows, absl::MakeSpan(group_of_row)),
              static_cast<int>(numbers.size()));
    EXPECT_EQ(group_of_row, expected);
  }
}

}  // namespace
}  // namespace berth
