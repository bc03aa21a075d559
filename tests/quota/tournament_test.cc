// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: by hand, and what is remembered against what is not, over random trees.
#include "berth/quota/tournament.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

const QuotaLine kGpus = *QuotaLine::Parse("example.com/gpu");
const QuotaLine kCpus = *QuotaLine::Parse("cpu");

QuotaSpec Spec(std::string name, std::string parent, int64_t gpus, int64_t weight = 1) {
  QuotaSpec spec;
  spec.name = std::move(name);
  spec.parent = std::move(parent);
  spec.min.Set(kGpus, gpus);
  spec.weight = weight;
  return spec;
}

// Line 0 is GPUs.
LineAmounts Gpus(int64_t amount) { return {{0, amount}}; }
TournamentHead Head(int64_t gpus, int32_t priority = 0, int64_t since = 0) {
  return {Gpus(gpus), priority, absl::UnixEpoch() + absl::Seconds(since)};
}

std::string Winner(const QuotaTree& tree,
                   const std::vector<std::pair<std::string, TournamentHead>>& heads_by_name) {
  TournamentHeads heads(tree.size());
  for (const auto& [name, head] : heads_by_name) {
    heads[name.empty() ? QuotaTree::kCluster : *tree.Find(name)] = head;
  }
  const auto winner = ChooseNext(tree, heads);
  if (!winner.has_value()) return "nobody";
  return *winner == QuotaTree::kCluster ? "" : tree.spec(*winner).name;
}

TEST(Tournament, TheSmallerShareWithTheJobCountedIn) {
  QuotaTree tree({Spec("a", "", 0, 4), Spec("b", "", 0, 6)});
  tree.SetCapacity(0, 20);
  EXPECT_EQ(Winner(tree, {}), "nobody");
  EXPECT_EQ(Winner(tree, {{"a", Head(1)}, {"b", Head(1)}}), "b");
  // 4 of 4 and 3 of 6 borrowed would be more and less than their weights.
  EXPECT_EQ(Winner(tree, {{"a", Head(1)}, {"b", Head(2)}}), "a");
  tree.Charge(*tree.Find("b"), Gpus(3));
  EXPECT_EQ(Winner(tree, {{"a", Head(2)}, {"b", Head(1)}}), "a");
  EXPECT_EQ(Winner(tree, {{"a", Head(3)}, {"b", Head(1)}}), "b");
}

TEST(Tournament, WhatIsGuaranteedGoesBeforeWhatIsBorrowed) {
  QuotaTree tree({Spec("a", "", 0), Spec("b", "", 8)});
  tree.SetCapacity(0, 20);
  tree.Charge(*tree.Find("b"), Gpus(7));
  EXPECT_EQ(Winner(tree, {{"a", Head(1, 1000)}, {"b", Head(1)}}), "b");
  EXPECT_EQ(Winner(tree, {{"a", Head(1, 1000)}, {"b", Head(2)}}), "a") << "in part borrowed";
}

TEST(Tournament, EachLevelDecidesForItself) {
  // Department x has used more than y: a pod in y goes first, however little of x.
  QuotaTree tree({Spec("x", "", 0), Spec("y", "", 0), Spec("x1", "x", 0), Spec("x2", "x", 0),
                  Spec("y1", "y", 0), Spec("y2", "y", 0)});
  tree.SetCapacity(0, 40);
  tree.Charge(*tree.Find("x1"), Gpus(10));
  tree.Charge(*tree.Find("y1"), Gpus(8));
  EXPECT_EQ(Winner(tree, {{"x2", Head(1)}, {"y1", Head(1)}}), "y1");
  EXPECT_EQ(Winner(tree, {{"x2", Head(1)}, {"y1", Head(1)}, {"y2", Head(1)}}), "y2");
  EXPECT_EQ(Winner(tree, {{"x2", Head(1)}, {"x1", Head(1)}}), "x2");
}

// Three queues with weights 3, 2 and 1 share eight GPUs; their backlogs of jobs of one GPU never
// end, and no two jobs end at once. Returns what each used in the mean.
std::vector<double> MeanUse(std::optional<absl::Duration> half_life, int64_t factor_milli) {
  QuotaSpec lab = Spec("lab", "", 8);
  lab.half_life = half_life;
  lab.history_milli = factor_milli;
  const std::vector<std::string> names = {"a", "b", "c"};
  QuotaTree tree({lab, Spec("a", "lab", 0, 3), Spec("b", "lab", 0, 2), Spec("c", "lab", 0, 1)});
  tree.SetCapacity(0, 8);
  for (const std::string& name : names) tree.Want(*tree.Find(name), Gpus(8));
  std::mt19937 random(1);
  std::vector<double> used(names.size());
  std::set<std::pair<absl::Time, std::string>> ends;
  absl::Time now = absl::UnixEpoch();
  const absl::Time from = now + absl::Hours(24), until = now + absl::Hours(24 * 9);
  while (now < until) {
    tree.Advance(now);
    while (ends.size() < 8) {
      const std::string next = Winner(tree, {{"a", Head(1)}, {"b", Head(1)}, {"c", Head(1)}});
      tree.Charge(*tree.Find(next), Gpus(1));
      ends.emplace(now + absl::Milliseconds(30 * 60000 + random() % (60 * 60000)), next);
    }
    const auto [end, name] = *ends.begin();
    for (size_t i = 0; i < names.size() && now >= from; ++i) {
      used[i] += absl::ToDoubleHours(end - now) *
                 static_cast<double>(tree.used(*tree.Find(names[i]), 0)) / (24 * 8);
    }
    ends.erase(ends.begin());
    now = end;
    tree.Advance(now);
    tree.Release(*tree.Find(name), Gpus(1));
  }
  return used;
}

// What whole jobs leave over of 4, 2.67 and 1.33 goes round. It had gone to the same ones for ever.
TEST(Tournament, WithHistoryUsageComesToTheWeights) {
  using ::testing::DoubleNear;
  using ::testing::ElementsAre;
  EXPECT_THAT(MeanUse(std::nullopt, 0),
              ElementsAre(DoubleNear(4, 0.1), DoubleNear(3, 0.1), DoubleNear(1, 0.1)));
  EXPECT_THAT(MeanUse(absl::Hours(4), 4000),
              ElementsAre(DoubleNear(4, 0.1), DoubleNear(2.67, 0.1), DoubleNear(1.33, 0.1)));
}

TEST(Tournament, TheListOfKeysIsTheQuotas) {
  QuotaSpec top = Spec("top", "", 0);
  top.order = {QuotaOrderKey::kPodPriority, QuotaOrderKey::kAge};
  QuotaTree tree({top, Spec("a", "top", 0), Spec("b", "top", 0)});
  tree.SetCapacity(0, 20);
  tree.Charge(*tree.Find("a"), Gpus(10));
  EXPECT_EQ(Winner(tree, {{"a", Head(1, 5)}, {"b", Head(1)}}), "a");
  EXPECT_EQ(Winner(tree, {{"a", Head(1, 0, 1)}, {"b", Head(1, 0, 2)}}), "a");
  EXPECT_EQ(Winner(tree, {{"a", Head(1, 0, 2)}, {"b", Head(1, 0, 1)}}), "b");
  QuotaSpec high = Spec("high", "", 0);
  high.priority = 1;
  QuotaTree by_priority({Spec("low", "", 0), high});
  by_priority.SetCapacity(0, 20);
  by_priority.Charge(*by_priority.Find("high"), Gpus(10));
  EXPECT_EQ(Winner(by_priority, {{"low", Head(1, 9)}, {"high", Head(1)}}), "high");
}

TEST(Tournament, PodsOfAParentStandBesideItsChildren) {
  QuotaTree tree({Spec("top", "", 6), Spec("a", "top", 4)});
  tree.SetCapacity(0, 20);
  EXPECT_EQ(Winner(tree, {{"top", Head(3)}, {"a", Head(4)}}), "a") << "2 are its own";
  EXPECT_EQ(Winner(tree, {{"top", Head(2, 1)}, {"a", Head(4)}}), "top");
}

TEST(Tournament, RemembersNothingWrong) {
  int64_t choices = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    const int count = 1 + static_cast<int>(below(12));
    std::vector<QuotaSpec> specs;
    for (int i = 0; i < count; ++i) {
      QuotaSpec spec =
          Spec(absl::StrCat("q", i), i == 0 || below(3) == 0 ? "" : absl::StrCat("q", below(i)),
               below(6), below(4));
      if (below(3) == 0) spec.min.Set(kCpus, below(8));
      spec.priority = below(4) == 0 ? 1 : 0;
      if (below(5) == 0) spec.half_life = absl::Hours(1);
      for (int64_t keys = below(3) == 0 ? 1 + below(4) : 0; keys > 0; --keys) {
        spec.order.push_back(static_cast<QuotaOrderKey>(below(6)));
      }
      specs.push_back(spec);
    }
    QuotaTree tree(specs);
    const int lines = static_cast<int>(tree.lines().size());
    absl::Time now = absl::UnixEpoch();
    tree.Advance(now);
    TournamentHeads heads(tree.size());
    Tournament tournament(tree);
    std::vector<std::pair<QuotaId, LineAmounts>> charges;
    const auto amounts = [&] {
      return LineAmounts{{static_cast<int>(below(lines)), 1 + below(5)}};
    };
    for (int step = 0; step < 80; ++step) {
      switch (below(5)) {
        case 0:
          if (below(6) == 0) tree.SetCapacity(static_cast<int>(below(lines)), below(50));
          now += absl::Minutes(below(30));
          tree.Advance(now);
          break;
        case 1:
          charges.emplace_back(1 + below(count), amounts());
          tree.Charge(charges.back().first, charges.back().second);
          break;
        case 2:
          if (charges.empty()) break;
          tree.Release(charges.back().first, charges.back().second);
          charges.pop_back();
          break;
        case 3: {
          const LineAmounts wanted = amounts();
          tree.Want(1 + below(count), wanted);
          break;
        }
        default: {
          const QuotaId quota = below(count + 1);
          heads[quota].reset();
          if (below(4) > 0) {
            heads[quota] = TournamentHead{amounts(), static_cast<int32_t>(below(3)),
                                          absl::UnixEpoch() + absl::Seconds(below(5))};
          }
          tournament.SetHead(quota, heads[quota]);
        }
      }
      if (below(3) == 0) continue;  // several changes at once
      ASSERT_EQ(tournament.Next(), ChooseNext(tree, heads)) << "step " << step;
      ++choices;
    }
  }
  EXPECT_GT(choices, 10000);
}

}  // namespace
}  // namespace berth
