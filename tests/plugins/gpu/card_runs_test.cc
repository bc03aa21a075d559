// SPDX-License-Identifier: Apache-2.0
// Runs of cards against the cards one by one.
#include "plugins/gpu/card_runs.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::Random;

// The plain form.
class Cards {
 public:
  explicit Cards(std::vector<int64_t> left) : left_(std::move(left)) {}

  int64_t most() const { return left_.empty() ? 0 : *std::max_element(left_.begin(), left_.end()); }
  void TakeOfTightest(int64_t milli) {
    int64_t* tightest = nullptr;
    for (int64_t& card : left_) {
      if (card >= milli && (tightest == nullptr || card < *tightest)) tightest = &card;
    }
    *tightest -= milli;
  }
  bool TakeOfFirst(int64_t cards, int64_t milli) {
    const auto has_as_much = [milli](int64_t card) { return card >= milli; };
    if (std::count_if(left_.begin(), left_.end(), has_as_much) < cards) return false;
    for (int64_t& card : left_) {
      if (cards == 0) break;
      if (card < milli) continue;
      card -= milli;
      --cards;
    }
    return true;
  }

 private:
  std::vector<int64_t> left_;
};

TEST(CardRuns, AreTheCardsOneByOne) {
  int taken = 0, refused = 0;
  for (const int seed : testing::Seeds(300)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    std::vector<int64_t> left(random.Between(0, 40));
    for (int64_t& card : left) card = 100 * random.Between(0, 10);
    if (random.Percent(70)) std::sort(left.begin(), left.end());
    CardRuns runs(left);
    Cards cards(left);
    ASSERT_EQ(runs.most(), cards.most());
    for (int step = 0; step < 60; ++step) {
      const int64_t milli = 100 * random.Between(1, 10);
      if (random.Percent(50)) {
        if (cards.most() < milli) continue;
        runs.TakeOfTightest(milli);
        cards.TakeOfTightest(milli);
        ++taken;
      } else {
        const int64_t count = random.Between(1, 8);
        const bool fits = cards.TakeOfFirst(count, milli);
        ASSERT_EQ(runs.TakeOfFirst(count, milli), fits) << "step " << step;
        (fits ? taken : refused) += 1;
      }
      ASSERT_EQ(runs.most(), cards.most()) << "step " << step;
    }
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace berth
