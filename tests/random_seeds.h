// SPDX-License-Identifier: Apache-2.0
// The seeds of a random test.
#ifndef BERTH_TESTS_RANDOM_SEEDS_H_
#define BERTH_TESTS_RANDOM_SEEDS_H_

#include <cstdlib>
#include <numeric>
#include <vector>

namespace berth::testing {

// BERTH_SEED=N repeats the one that a failure named.
inline bool IsOneSeed() { return std::getenv("BERTH_SEED") != nullptr; }

// So many in a row. BERTH_TEST_SEED is where they begin, for a run with others than those that the
// test has by itself.
inline std::vector<int> Seeds(int count, int first = 0) {
  if (IsOneSeed()) return {std::atoi(std::getenv("BERTH_SEED"))};
  if (const char* const text = std::getenv("BERTH_TEST_SEED")) first = std::atoi(text);
  std::vector<int> seeds(count);
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_RANDOM_SEEDS_H_
