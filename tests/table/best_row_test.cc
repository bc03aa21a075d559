// SPDX-License-Identifier: Apache-2.0
#include "table/best_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace berth {
namespace {

constexpr int kInfeasible = -100;

struct ByValue {
  const std::vector<int>& values;

  NodeRow BestOf(NodeRow begin, NodeRow end) const {
    NodeRow best = -1;
    for (NodeRow row = begin; row < end; ++row)
      best = Better(best, values[row] == kInfeasible ? -1 : row);
    return best;
  }
  NodeRow Better(NodeRow left, NodeRow right) const {
    if (left < 0 || right < 0) return left < 0 ? right : left;
    return values[left] < values[right] ? right : left;
  }
};

NodeRow FirstOfTheBest(const std::vector<int>& values) {
  const auto best = std::max_element(values.begin(), values.end());
  if (best == values.end() || *best == kInfeasible) return -1;
  return static_cast<NodeRow>(best - values.begin());
}

// Against the plain way to find the same.
TEST(BestRow, IsTheFirstOfTheBest) {
  constexpr int kSeed = 11;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  const auto any_value = [&] { return below(3) == 0 ? kInfeasible : below(40) - 10; };
  std::vector<int> values;
  const ByValue by_value{values};
  const auto size = [&] { return static_cast<int>(values.size()); };
  BestRow best;
  EXPECT_EQ(best.best(), -1);
  for (int step = 0; step < 20'000; ++step) {
    const int kind = below(8);
    if (kind <= 1 && size() < 300) {  // rows come
      const NodeRow row = below(size() + 1);
      values.insert(values.begin() + row, 1 + below(20), any_value());
      best.Build(size(), by_value, row);
    } else if (kind <= 3 && size() > 0) {  // rows go
      const NodeRow row = below(size());
      values.erase(values.begin() + row,
                   values.begin() + row + 1 + below(std::min(20, size() - row)));
      best.Build(size(), by_value, row);
    } else if (kind == 4 && below(20) == 0) {
      values.assign(below(300), any_value());
      best.Build(size(), by_value);
    } else if (size() > 0) {
      const NodeRow row = below(size());
      values[row] = any_value();
      best.Update(row, by_value);
    }
    ASSERT_EQ(best.best(), FirstOfTheBest(values)) << step;
  }
}

}  // namespace
}  // namespace berth
