// SPDX-License-Identifier: Apache-2.0
// Which classes of pods are cached, if there are more of them than there is room for.
#include "evaluation/incremental/equivalence_cache.h"

#include <cstdint>
#include <initializer_list>
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

// Whether the class is cached after pods between which so many rows changed.
bool IsCachedAfter(std::initializer_list<uint64_t> behind) {
  constexpr uint64_t kMostBehind = 300;
  EquivalenceCache<int> memory;
  const ClassKey key("1", nullptr);
  const auto add = [&] {
    return memory.Add(
               key, kRoom, [] { return std::make_unique<int>(0); }, 0, kMostBehind) != nullptr;
  };
  uint64_t version = 1;
  memory.SetVersion(version);
  bool cached = add();
  for (const uint64_t rows : behind) {
    EXPECT_FALSE(cached);
    memory.SetVersion(version += rows);
    cached = add();
  }
  return cached;
}

TEST(EquivalenceCache, PodsThatFollowOneAnotherAreCachedAtOnce) {
  EXPECT_TRUE(IsCachedAfter({1}));
  EXPECT_TRUE(IsCachedAfter({16}));
}

TEST(EquivalenceCache, PodsThatAreFarApartAreCachedWhenTheyKeepComing) {
  EXPECT_FALSE(IsCachedAfter({17}));
  EXPECT_FALSE(IsCachedAfter({200, 200, 200}));
  EXPECT_TRUE(IsCachedAfter({200, 200, 200, 200}));
  EXPECT_TRUE(IsCachedAfter({200, 1}));
}

TEST(EquivalenceCache, PodsBetweenWhichMostChangedAreNotCounted) {
  EXPECT_FALSE(IsCachedAfter({200, 200, 200, 301}));
  EXPECT_FALSE(IsCachedAfter({301, 200, 200, 200}));
  EXPECT_TRUE(IsCachedAfter({301, 200, 200, 200, 200}));
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
