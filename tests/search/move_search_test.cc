// SPDX-License-Identifier: Apache-2.0
// The search for moves against all sets of pods that could be moved and all assignments, on nodes
// with one resource.
#include "search/move_search.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/search/fewest_moves.h"

namespace berth {
namespace {

class MoveTestSpace final : public MoveSpace {
 public:
  explicit MoveTestSpace(const MoveSetting& setting)
      : setting_(setting), free_(setting.free), on_node_(setting.running.size(), true) {
    for (const int amount : setting.members) waiting_.push_back({amount, amount});
  }

  int Next() const override { return placed_ < waiting_.size() ? waiting_[placed_].kind : -1; }
  std::vector<NodeRow> FeasibleRows() override {
    std::vector<NodeRow> rows;
    for (NodeRow row = 0; row < static_cast<NodeRow>(free_.size()); ++row) {
      if (free_[row] >= waiting_[placed_].amount) rows.push_back(row);
    }
    return rows;
  }
  std::vector<Move> Moves(int most) override {
    std::vector<Move> moves;
    for (NodeRow row = 0; row < static_cast<NodeRow>(free_.size()); ++row) {
      const int lacks = waiting_[placed_].amount - free_[row];
      if (lacks > 0) AddSets({row, {}}, 0, lacks, most, moves);
    }
    return moves;
  }
  bool Place(NodeRow row) override {
    if (free_[row] < waiting_[placed_].amount) return false;
    free_[row] -= waiting_[placed_].amount;
    rows_.push_back(row);
    ++placed_;
    taken_off_.push_back(0);
    return true;
  }
  void TakeOff(const Move& move) override {
    for (const int pod : move.pods) {
      free_[move.row] += setting_.running[pod].amount;
      on_node_[pod] = false;
      waiting_.push_back({1000 + pod, setting_.running[pod].amount, pod});
    }
    taken_off_.push_back(static_cast<int>(move.pods.size()));
  }
  void Undo() override {
    const int pods = taken_off_.back();
    taken_off_.pop_back();
    if (pods == 0) {
      --placed_;
      free_[rows_.back()] += waiting_[placed_].amount;
      rows_.pop_back();
    }
    for (int i = 0; i < pods; ++i) {
      const int pod = waiting_.back().pod;
      waiting_.pop_back();
      free_[setting_.running[pod].node] -= setting_.running[pod].amount;
      on_node_[pod] = true;
    }
  }

  int moved() const { return static_cast<int>(absl::c_count(on_node_, false)); }
  const std::vector<int>& free() const { return free_; }

 private:
  struct Waiting {
    int kind, amount, pod = -1;
  };
  // Sets of pods from `first` on that are enough with `move`, and of which none could stay.
  void AddSets(const Move& move, int first, int lacks, int most, std::vector<Move>& moves) const {
    if (lacks <= 0) {
      int sum = 0, least = 1000;
      for (const int pod : move.pods) {
        sum += setting_.running[pod].amount;
        least = std::min(least, setting_.running[pod].amount);
      }
      const int needed = waiting_[placed_].amount - free_[move.row];
      if (sum - least < needed) moves.push_back(move);
      return;
    }
    if (most == 0) return;
    for (int pod = first; pod < static_cast<int>(setting_.running.size()); ++pod) {
      const MoveSetting::Running& running = setting_.running[pod];
      if (running.node != move.row || !running.may_move || !on_node_[pod]) continue;
      Move more = move;
      more.pods.push_back(pod);
      AddSets(more, pod + 1, lacks - running.amount, most - 1, moves);
    }
  }

  const MoveSetting& setting_;
  std::vector<int> free_;
  std::vector<bool> on_node_;
  std::vector<Waiting> waiting_;
  size_t placed_ = 0;
  std::vector<NodeRow> rows_;
  std::vector<int> taken_off_;  // by step; 0: a pod was placed
};

TEST(MoveSearch, FindsTheFewestMoves) {
  constexpr int kMost = 3;
  int found = 0, proven_fewest = 0, none = 0;
  std::set<int> numbers;
  for (int seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto between = [&](int low, int high) {
      return low + static_cast<int>(random() % (high - low + 1));
    };
    MoveSetting setting;
    for (int n = between(2, 4); n > 0; --n) setting.free.push_back(between(0, 3));
    for (int p = between(2, 7); p > 0; --p) {
      const int row = between(0, static_cast<int>(setting.free.size()) - 1);
      setting.running.push_back({row, between(1, 4), between(0, 9) > 0});
    }
    const int amount = between(1, 4);
    for (int m = between(1, 3); m > 0; --m) {
      setting.members.push_back(between(0, 3) > 0 ? amount : between(1, 4));
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const int fewest = FewestMoves(setting, kMost);
    if (fewest == 0) continue;  // that is for others to find
    MoveTestSpace space(setting);
    MoveSearch search(space, static_cast<int>(setting.free.size()), 100000000);
    const MoveSearch::Outcome outcome = search.Run(kMost);
    ASSERT_EQ(outcome,
              fewest <= kMost ? MoveSearch::Outcome::kFound : MoveSearch::Outcome::kExhausted);
    ASSERT_TRUE(absl::c_all_of(space.free(), [](int free) { return free >= 0; }));
    if (fewest > kMost) {
      ASSERT_EQ(space.free(), setting.free) << "everything is taken back";
      ++none;
      continue;
    }
    ASSERT_EQ(space.moved(), fewest);
    ASSERT_TRUE(search.is_fewest());
    numbers.insert(fewest);
    ++found;
    // With little to spend it finds less, and claims no more than it knows.
    MoveTestSpace again(setting);
    MoveSearch hurried(again, static_cast<int>(setting.free.size()), 30);
    if (hurried.Run(kMost) != MoveSearch::Outcome::kFound) {
      ASSERT_EQ(again.free(), setting.free);
    } else if (hurried.is_fewest()) {
      ASSERT_EQ(again.moved(), fewest);
      ++proven_fewest;
    }
  }
  EXPECT_GT(found, 200);
  EXPECT_GT(none, 200);
  EXPECT_GT(proven_fewest, 50);
  EXPECT_EQ(numbers, std::set<int>({1, 2, 3}));
}

TEST(MoveSearch, SaysWhenMovesAreNotAllTried) {
  MoveSetting setting;
  setting.free.assign(8, 1);
  for (int row = 0; row < 8; ++row) {
    for (int i = 0; i < 4; ++i) setting.running.push_back({row, 2});
  }
  setting.members = {2, 2, 2};  // eight are free, and no move makes two on two nodes more
  MoveTestSpace space(setting);
  MoveSearch search(space, 8, 50);
  EXPECT_EQ(search.Run(4), MoveSearch::Outcome::kUndecided);
  EXPECT_LE(search.possibilities(), 50);
  EXPECT_EQ(space.free(), setting.free);
}

}  // namespace
}  // namespace berth
