// SPDX-License-Identifier: Apache-2.0
// The batch form of Score that every plugin has, and the normalisation that most share.
#include "berth/framework/score.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "berth/testing/objects.h"
#include "gmock/gmock.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::TestNodes;
using ::testing::ElementsAre;

// Scores each node by its number of pods.
class ByPods final : public ScorePlugin {
 public:
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&,
                                const NodeInfo& node) const override {
    if (node.unschedulable()) return absl::InternalError("no score");
    return static_cast<int64_t>(node.pods().size());
  }
};

TEST(ScorePlugin, BatchFormAsksScoreRowByRow) {
  const TestNodes nodes(
      {MakeNode().Info(), MakeNode().Info({MakePod().Obj()}), MakeNode().Unschedulable().Info()});
  const auto pod = MakePod().Obj();
  std::vector<int64_t> scores(2, -1);
  EXPECT_TRUE(ByPods().ScoreNodes({}, *pod, nodes.table(), {1, 0}, absl::MakeSpan(scores)).ok());
  EXPECT_THAT(scores, ElementsAre(1, 0));
  EXPECT_EQ(ByPods().ScoreNodes({}, *pod, nodes.table(), {0, 2}, absl::MakeSpan(scores)).message(),
            "no score");
}

TEST(DefaultNormalizeScores, MapsTheHighestToOneHundred) {
  constexpr auto kHigh = ScoreDirection::kHigherIsBetter;
  constexpr auto kLow = ScoreDirection::kLowerIsBetter;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const struct {
    ScoreDirection direction;
    std::vector<int64_t> scores, want;
  } cases[] = {
      {kHigh, {}, {}},
      {kHigh, {1, 2, 3, 4}, {25, 50, 75, 100}},
      {kLow, {1, 2, 3, 4}, {75, 50, 25, 0}},
      {kHigh, {1, 3}, {33, 100}},  // truncated
      {kLow, {1, 3}, {67, 0}},     // 100 minus the truncated share
      {kHigh, {0, 0}, {0, 0}},
      {kLow, {0, 0}, {100, 100}},
      {kHigh, {1000, 10, 20, 30}, {100, 1, 2, 3}},
      {kHigh, {kMax, kMax / 2, 0}, {100, 49, 0}},  // where upstream's arithmetic overflows
  };
  for (const auto& c : cases) {
    std::vector<int64_t> scores = c.scores;
    DefaultNormalizeScores(c.direction, absl::MakeSpan(scores));
    EXPECT_EQ(scores, c.want);
  }
}

}  // namespace
}  // namespace berth
