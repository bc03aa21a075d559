// SPDX-License-Identifier: Apache-2.0
// Which kinds of pods are remembered, if there are more of them than there is room for.
#include "evaluation/incremental/equivalence_cache.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

constexpr size_t kRoom = 10;

// Whether the kind was remembered; if not, it is to be from now on.
bool Ask(EquivalenceCache<int>& memory, int kind) {
  const std::string signature = absl::StrCat(kind);
  const PodClass key(signature, nullptr);
  if (memory.Find(key) != nullptr) return true;
  memory.Add(key, kRoom, [] { return std::make_unique<int>(0); });
  return false;
}

int CountRemembered(EquivalenceCache<int>& memory, int first, int last) {
  int count = 0;
  for (int kind = first; kind < last; ++kind) count += Ask(memory, kind);
  return count;
}

TEST(EquivalenceCache, TheFirstOfAKindIsNotKept) {
  EquivalenceCache<int> memory;
  EXPECT_FALSE(Ask(memory, 1));
  EXPECT_FALSE(Ask(memory, 1));
  EXPECT_TRUE(Ask(memory, 1));
}

// As a pod does that has a claim of its own and is tried again.
TEST(EquivalenceCache, WhatComesForOneAskerOnlyIsNotKept) {
  EquivalenceCache<int> memory;
  const PodClass kind("1", nullptr);
  const auto add = [&](size_t evaluated_pod) {
    return memory.Add(
               kind, kRoom, [] { return std::make_unique<int>(0); }, evaluated_pod) != nullptr;
  };
  EXPECT_FALSE(add(7));
  EXPECT_FALSE(add(7));
  EXPECT_FALSE(add(7));
  EXPECT_TRUE(add(8));
}

TEST(EquivalenceCache, OfKindsThatTakeTurnsAPartStays) {
  EquivalenceCache<int> memory;
  CountRemembered(memory, 0, 25);
  CountRemembered(memory, 0, 25);
  for (int round = 0; round < 5; ++round) EXPECT_EQ(CountRemembered(memory, 0, 25), 10);
}

TEST(EquivalenceCache, KindsThatCameLaterTakeTheRoomOfThoseThatStayAway) {
  EquivalenceCache<int> memory;
  for (int round = 0; round < 3; ++round) CountRemembered(memory, 0, 10);
  for (int round = 0; round < 2; ++round) CountRemembered(memory, 100, 110);
  EXPECT_EQ(CountRemembered(memory, 100, 110), 10);
  EXPECT_EQ(CountRemembered(memory, 0, 10), 0);
}

TEST(EquivalenceCache, WhatIsForgottenIsNotKept) {
  EquivalenceCache<int> memory;
  Ask(memory, 1);
  Ask(memory, 1);
  memory.Forget(PodClass("1", nullptr));
  EXPECT_EQ(memory.Find(PodClass("1", nullptr)), nullptr);
  EXPECT_TRUE(memory.empty());
}

}  // namespace
}  // namespace berth
