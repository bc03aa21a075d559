// SPDX-License-Identifier: Apache-2.0
// The fewest moves that make room for a gang on nodes with one resource, by trying all sets of pods
// and all assignments: what searches are held against.
#ifndef BERTH_TESTS_SEARCH_FEWEST_MOVES_H_
#define BERTH_TESTS_SEARCH_FEWEST_MOVES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

struct MoveSetting {
  struct Running {
    int node = 0;
    int amount = 1;
    bool may_move = true;
  };
  std::vector<int> free;  // by node, beside what runs
  std::vector<int> members;
  std::vector<Running> running;
};

inline bool AllFit(std::vector<int> amounts, std::vector<int>& free) {
  if (amounts.empty()) return true;
  const int amount = amounts.back();
  amounts.pop_back();
  for (int& left : free) {
    if (left < amount) continue;
    left -= amount;
    const bool fit = AllFit(amounts, free);
    left += amount;
    if (fit) return true;
  }
  return false;
}

// The least number of pods that have to move; more than `most` if that does not do. Each of them
// has a place again.
inline int FewestMoves(const MoveSetting& setting, int most) {
  int fewest = most + 1;
  for (uint32_t set = 0; set < (1u << setting.running.size()); ++set) {
    std::vector<int> amounts = setting.members;
    std::vector<int> free = setting.free;
    int moved = 0;
    bool may = true;
    for (size_t pod = 0; pod < setting.running.size(); ++pod) {
      if ((set >> pod & 1) == 0) continue;
      may = may && setting.running[pod].may_move;
      free[setting.running[pod].node] += setting.running[pod].amount;
      amounts.push_back(setting.running[pod].amount);
      ++moved;
    }
    if (!may || moved >= fewest) continue;
    std::sort(amounts.begin(), amounts.end());  // the largest is placed first
    if (AllFit(amounts, free)) fewest = moved;
  }
  return fewest;
}

}  // namespace berth

#endif  // BERTH_TESTS_SEARCH_FEWEST_MOVES_H_
