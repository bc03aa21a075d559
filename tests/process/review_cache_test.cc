// SPDX-License-Identifier: Apache-2.0
// Answers end, and are few.
#include "process/review_cache.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

const absl::Time kBegin = absl::UnixEpoch();

TEST(ReviewCache, AnswersHoldForTheirLife) {
  ReviewCache<int> cache(absl::Seconds(10), 100);
  cache.Put("a", 1, kBegin);
  EXPECT_EQ(cache.Find("a", kBegin + absl::Seconds(9)), 1);
  EXPECT_EQ(cache.Find("b", kBegin), std::nullopt);
  EXPECT_EQ(cache.Find("a", kBegin + absl::Seconds(10)), std::nullopt);
}

TEST(ReviewCache, AnswersThatArePutAgainHoldAnew) {
  ReviewCache<int> cache(absl::Seconds(10), 100);
  cache.Put("a", 1, kBegin);
  cache.Put("a", 2, kBegin + absl::Seconds(5));
  EXPECT_EQ(cache.Find("a", kBegin + absl::Seconds(12)), 2);
  EXPECT_EQ(cache.Find("a", kBegin + absl::Seconds(15)), std::nullopt);
}

TEST(ReviewCache, TheOldestGoWhenThereAreTooMany) {
  ReviewCache<int> cache(absl::Seconds(10), 3);
  cache.Put("a", 1, kBegin);
  cache.Put("b", 2, kBegin);
  cache.Put("a", 3, kBegin);
  for (int i = 0; i < 2; ++i) cache.Put(absl::StrCat(i), i, kBegin);
  EXPECT_EQ(cache.size(), 3);
  EXPECT_EQ(cache.Find("b", kBegin), std::nullopt);
  EXPECT_EQ(cache.Find("a", kBegin), 3);
}

}  // namespace
}  // namespace berth
