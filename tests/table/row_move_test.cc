// SPDX-License-Identifier: Apache-2.0
// RowMove: values by row go where the rows go, in each of its ways of moving them.
#include "table/row_move.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat("n", i));
  return names;
}

std::vector<std::string> Applied(const RowMove& move, int count) {
  std::vector<std::string> names = Names(count);
  move.Apply(names, std::string("new"));
  return names;
}

std::vector<NodeRow> Moved(const RowMove& move) {
  std::vector<NodeRow> rows;
  move.ForEachMoved([&](NodeRow row) { rows.push_back(row); });
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(RowMove, OneComes) {
  const RowMove move = RowMove::Came(1, 4);
  EXPECT_THAT(Applied(move, 3), ElementsAre("n0", "new", "n1", "n2"));
  EXPECT_THAT(move.came(), ElementsAre(1));
  EXPECT_THAT(move.gone(), IsEmpty());
  EXPECT_EQ(move.first(), 1);
  EXPECT_EQ(move.moved(), 3);
  EXPECT_THAT(Moved(move), ElementsAre(1, 2, 3));
  EXPECT_THAT(Applied(RowMove::Came(3, 4), 3), ElementsAre("n0", "n1", "n2", "new"));
}

TEST(RowMove, OneGoesAndOthersOfItsZoneMoveUp) {
  const RowMove move = RowMove::Went({1, 3, 4}, 7);
  EXPECT_THAT(Applied(move, 7), ElementsAre("n0", "n3", "n2", "n4", "n5", "n6"));
  EXPECT_THAT(move.gone(), ElementsAre(1));
  EXPECT_EQ(move.first(), 1);
  EXPECT_THAT(Moved(move), ElementsAre(1, 3, 4, 5));
  EXPECT_THAT(Applied(RowMove::Went({2}, 3), 3), ElementsAre("n0", "n1"));
  EXPECT_EQ(RowMove::Went({2}, 3).moved(), 0);
}

TEST(RowMove, AnyNumber) {
  const RowMove move = RowMove::Rearranged({0, 4, -1, 1, 5, -1}, 6);
  EXPECT_THAT(Applied(move, 6), ElementsAre("n0", "n4", "new", "n1", "n5", "new"));
  EXPECT_THAT(move.came(), ElementsAre(2, 5));
  EXPECT_THAT(move.gone(), ElementsAre(2, 3));
  EXPECT_EQ(move.first(), 1);
  EXPECT_EQ(move.moved(), 5);
  EXPECT_EQ(RowMove::Rearranged({0, 1}, 2).moved(), 0);
  EXPECT_THAT(Applied(RowMove::Rearranged({}, 3), 3), IsEmpty());
}

TEST(RowMove, ValuesFollowAnyMove) {
  const char* const given = std::getenv("BERTH_TEST_SEED");
  const uint32_t seed = given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10))
                                         : std::random_device()();
  std::cout << "BERTH_TEST_SEED=" << seed << "\n";
  std::mt19937 random(seed);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  for (int step = 0; step < 5000; ++step) {
    // Some are more than are under way at once.
    const int size = below(step % 100 == 0 ? 6000 : 30);
    std::vector<NodeRow> rows(size);
    std::iota(rows.begin(), rows.end(), 0);
    if (below(3) == 0) {  // some overtake others
      const int begin = below(size + 1), end = begin + below(size - begin + 1);
      std::shuffle(rows.begin() + begin, rows.begin() + end, random);
    }
    if (below(2) == 0) std::erase_if(rows, [&](NodeRow) { return below(4) == 0; });
    for (int came = below(3) == 0 ? below(20) : 0; came > 0; --came) {
      const int row =
          below(2) == 0 ? static_cast<int>(rows.size()) : below(static_cast<int>(rows.size()) + 1);
      rows.insert(rows.begin() + row, -1);
    }
    const RowMove move = RowMove::Rearranged(rows, size);

    std::vector<std::shared_ptr<int>> values;
    for (int i = 0; i < size; ++i) values.push_back(std::make_shared<int>(i));
    move.Apply(values, std::make_shared<int>(-1));
    ASSERT_EQ(values.size(), rows.size()) << step;
    std::vector<NodeRow> moved;
    for (NodeRow row = 0; row < static_cast<NodeRow>(rows.size()); ++row) {
      ASSERT_NE(values[row], nullptr) << step;
      ASSERT_EQ(*values[row], rows[row]) << step;
      if (rows[row] != row) moved.push_back(row);
    }
    ASSERT_EQ(Moved(move), moved) << step;
    ASSERT_EQ(move.moved(), static_cast<int64_t>(moved.size())) << step;
    ASSERT_EQ(move.first(), moved.empty() ? move.size() : moved.front()) << step;
  }
}

}  // namespace
}  // namespace berth
