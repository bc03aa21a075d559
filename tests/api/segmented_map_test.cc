// SPDX-License-Identifier: Apache-2.0
// SegmentedMap says what a std::map says after any history.
#include "berth/api/segmented_map.h"

#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(SegmentedMap, SaysWhatAMapSays) {
  std::mt19937 random(3);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  SegmentedMap<std::string, int> map;
  std::map<std::string, int> known;
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = absl::StrCat("key-", below(500));
    switch (below(6)) {
      case 0:
        ASSERT_EQ(map.Erase(absl::string_view(key)), known.erase(key) > 0);
        break;
      case 1:
        map[key] = known[key] = step;
        break;
      case 2:
      case 3: {
        const auto [value, is_new] = map.FindOrAdd(key, step);
        const auto [it, was_new] = known.try_emplace(key, step);
        ASSERT_EQ(is_new, was_new);
        ASSERT_EQ(*value, it->second);
        break;
      }
      case 4: {
        const int* const value = map.Find(absl::string_view(key));
        ASSERT_EQ(value != nullptr, known.contains(key));
        ASSERT_EQ(map.Contains(key), known.contains(key));
        if (value != nullptr) {
          ASSERT_EQ(*value, known[key]);
        }
        break;
      }
      case 5:
        if (below(1000) != 0) break;
        map.clear();
        known.clear();
        map.Reserve(500);
    }
    ASSERT_EQ(map.size(), known.size());
    ASSERT_EQ(map.empty(), known.empty());
  }
  std::map<std::string, int> visited;
  map.ForEach([&](const std::string& key, int value) { visited[key] = value; });
  EXPECT_EQ(visited, known);
  EXPECT_GT(known.size(), 100u);
}

}  // namespace
}  // namespace berth
