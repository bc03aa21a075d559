// SPDX-License-Identifier: Apache-2.0
// Which classes of pods are cached, if there are more of them than there is room for.
#include "evaluation/incremental/equivalence_cache.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

constexpr size_t kRoom = 10;

// Whether the class was cached; if not, it is to be from now on.
bool Ask(EquivalenceCache<int>& memory, int kind) {
  const std::string signature = absl::StrCat(kind);
  const ClassKey key(signature, nullptr);
  if (memory.Find(key) != nullptr) return true;
  memory.Add(key, kRoom, [] { return std::make_unique<int>(0); });
  return false;
}

int CountCached(EquivalenceCache<int>& memory, int first, int last) {
  int count = 0;
  for (int kind = first; kind < last; ++kind) count += Ask(memory, kind);
  return count;
}

TEST(EquivalenceCache, TheFirstPodOfAClassIsNotCached) {
  EquivalenceCache<int> memory;
  EXPECT_FALSE(Ask(memory, 1));
  EXPECT_FALSE(Ask(memory, 1));
  EXPECT_TRUE(Ask(memory, 1));
}

// As a pod does that has a claim of its own and is tried again.
TEST(EquivalenceCache, AClassUsedByOnePodOnlyIsNotCached) {
  EquivalenceCache<int> memory;
  const ClassKey key("1", nullptr);
  const auto add = [&](size_t pod_hash) {
    return memory.Add(
               key, kRoom, [] { return std::make_unique<int>(0); }, pod_hash) != nullptr;
  };
  EXPECT_FALSE(add(7));
  EXPECT_FALSE(add(7));
  EXPECT_FALSE(add(7));
  EXPECT_TRUE(add(8));
}

constexpr uint64_t kMaxGap = 50;

// A class of which a pod comes whenever so many rows changed.
class ComingBack {
 public:
  // After how many more pods it is cached; 0 if it is not after a hundred.
  int PodsUntilCached(uint64_t rows) {
    for (int pods = 1; pods <= 100; ++pods) {
      memory_.SetVersion(version_ += rows);
      if (memory_.Add(
              key_, kRoom, [] { return std::make_unique<int>(0); }, 0, kMaxGap) != nullptr) {
        return pods;
      }
    }
    return 0;
  }
  // How many rows changed between two pods, on average, after so many more of them.
  uint64_t GapAfter(int pods, uint64_t rows) {
    for (int i = 0; i < pods; ++i) {
      memory_.SetVersion(version_ += rows);
      EXPECT_NE(memory_.Find(key_), nullptr);
    }
    return memory_.gap();
  }

 private:
  const ClassKey key_{"1", nullptr};
  EquivalenceCache<int> memory_;
  uint64_t version_ = 1;
};

TEST(EquivalenceCache, PodsThatFollowOneAnotherAreCachedAtOnce) {
  EXPECT_EQ(ComingBack().PodsUntilCached(1), 2);
  EXPECT_EQ(ComingBack().PodsUntilCached(16), 2);
}

TEST(EquivalenceCache, PodsThatAreFarApartAreCachedWhenTheyComeOftenEnough) {
  EXPECT_GT(ComingBack().PodsUntilCached(17), 5);
  EXPECT_GT(ComingBack().PodsUntilCached(40), 5);
  EXPECT_EQ(ComingBack().PodsUntilCached(51), 0);
}

TEST(EquivalenceCache, ALongAbsenceIsForgivenSoon) {
  ComingBack pods;
  EXPECT_EQ(pods.PodsUntilCached(1000000), 0);
  EXPECT_GT(pods.PodsUntilCached(20), 5);
}

TEST(EquivalenceCache, SaysHowFarApartPodsAre) {
  ComingBack pods;
  EXPECT_GT(pods.PodsUntilCached(20), 5);
  EXPECT_LE(pods.GapAfter(20, 20), kMaxGap / 2);
  EXPECT_GT(pods.GapAfter(20, 200), 3 * kMaxGap);
}

TEST(EquivalenceCache, OfAlternatingClassesSomeStayCached) {
  EquivalenceCache<int> memory;
  CountCached(memory, 0, 25);
  CountCached(memory, 0, 25);
  for (int round = 0; round < 5; ++round) EXPECT_EQ(CountCached(memory, 0, 25), 10);
}

TEST(EquivalenceCache, NewClassesEvictUnusedOnes) {
  EquivalenceCache<int> memory;
  for (int round = 0; round < 3; ++round) CountCached(memory, 0, 10);
  for (int round = 0; round < 2; ++round) CountCached(memory, 100, 110);
  EXPECT_EQ(CountCached(memory, 100, 110), 10);
  EXPECT_EQ(CountCached(memory, 0, 10), 0);
}

TEST(EquivalenceCache, WhatIsForgottenIsNotKept) {
  EquivalenceCache<int> memory;
  Ask(memory, 1);
  Ask(memory, 1);
  memory.Forget(ClassKey("1", nullptr));
  EXPECT_EQ(memory.Find(ClassKey("1", nullptr)), nullptr);
  EXPECT_TRUE(memory.empty());
}

}  // namespace
}  // namespace berth
