// SPDX-License-Identifier: Apache-2.0
// The search against all assignments, on nodes with one resource and members some of which want to
// be near others.
#include "search/assignment_search.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

struct Setting {
  std::vector<int> free;  // by row
  std::vector<AssignmentClass> classes;
  std::vector<int> request;  // by class
  std::vector<int> near;     // by class: which class must be on the row; -1 for none
  int minimum = 0;
};

// Counts by class and row.
class Space final : public AssignmentSpace {
 public:
  explicit Space(const Setting& setting)
      : setting_(setting),
        free_(setting.free),
        on_(setting.free.size(), std::vector<int>(setting.classes.size(), 0)) {}

  absl::Span<const AssignmentClass> classes() const override { return setting_.classes; }
  bool Fits(int pod_class, NodeRow row) const {
    const int near = setting_.near[pod_class];
    return free_[row] >= setting_.request[pod_class] && (near < 0 || on_[row][near] > 0);
  }
  std::vector<NodeRow> FeasibleRows(int pod_class) override {
    std::vector<NodeRow> rows;
    for (NodeRow row = 0; row < static_cast<NodeRow>(free_.size()); ++row) {
      if (Fits(pod_class, row)) rows.push_back(row);
    }
    return rows;
  }
  bool Place(int pod_class, NodeRow row) override {
    if (!Fits(pod_class, row)) return false;
    free_[row] -= setting_.request[pod_class];
    ++on_[row][pod_class];
    steps_.emplace_back(pod_class, row);
    return true;
  }
  void Undo() override {
    const auto [pod_class, row] = steps_.back();
    steps_.pop_back();
    free_[row] += setting_.request[pod_class];
    --on_[row][pod_class];
  }
  bool IsEnough(absl::Span<const int> placed) const override {
    return std::accumulate(placed.begin(), placed.end(), 0) >= setting_.minimum;
  }
  int Room(int pod_class, int enough) override {
    int room = 0;
    for (const int free : free_) room += free / setting_.request[pod_class];
    return std::min(room, enough);
  }
  int placed() const { return static_cast<int>(steps_.size()); }

 private:
  const Setting& setting_;
  std::vector<int> free_;
  std::vector<std::vector<int>> on_;
  std::vector<std::pair<int, NodeRow>> steps_;
};

// Whether any sequence of placements reaches the minimum.
bool AnyFits(const Setting& setting, Space& space, std::vector<int>& count) {
  if (space.IsEnough(count)) return true;
  for (int i = 0; i < static_cast<int>(setting.classes.size()); ++i) {
    if (count[i] == setting.classes[i].members) continue;
    for (const NodeRow row : space.FeasibleRows(i)) {
      space.Place(i, row);
      ++count[i];
      const bool fits = AnyFits(setting, space, count);
      --count[i];
      space.Undo();
      if (fits) return true;
    }
  }
  return false;
}

TEST(AssignmentSearch, FindsWhatAnyAssignmentReaches) {
  int found = 0, exhausted = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const auto between = [&](int low, int high) {
      return low + static_cast<int>(random() % (high - low + 1));
    };
    Setting setting;
    for (int n = between(1, 4); n > 0; --n) setting.free.push_back(between(1, 8));
    int members = 0;
    for (int c = between(1, 3); c > 0; --c) {
      setting.classes.push_back({between(1, 2), true});
      members += setting.classes.back().members;
      setting.request.push_back(between(1, 5));
      setting.near.push_back(-1);
    }
    for (size_t c = 0; c < setting.classes.size(); ++c) {
      if (between(0, 3) > 0) continue;
      setting.near[c] = between(0, static_cast<int>(setting.classes.size()) - 1);
      setting.classes[c].only_competes = false;
    }
    setting.minimum = between(1, members);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Space all(setting);
    std::vector<int> count(setting.classes.size(), 0);
    const bool fits = AnyFits(setting, all, count);
    Space space(setting);
    AssignmentSearch search(space, static_cast<int>(setting.free.size()), 1000000);
    const AssignmentSearch::Outcome outcome = search.Run();
    ASSERT_EQ(outcome,
              fits ? AssignmentSearch::Outcome::kFound : AssignmentSearch::Outcome::kExhausted);
    EXPECT_EQ(space.placed() >= setting.minimum, fits);
    if (!fits) {
      EXPECT_EQ(space.placed(), 0) << "everything is taken back";
    }
    ++(fits ? found : exhausted);
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(exhausted, 500);
}

// Seven members of 3 on seven nodes with 5: one too few for eight. Twenty of another kind make many
// possibilities.
TEST(AssignmentSearch, SaysWhenItsBudgetIsSpent) {
  Setting setting;
  setting.free.assign(7, 5);
  setting.classes = {{6, true}, {9, true}};
  setting.request = {3, 2};
  setting.near = {-1, -1};
  setting.minimum = 15;
  Space space(setting);
  AssignmentSearch search(space, 7, 50);
  EXPECT_EQ(search.Run(), AssignmentSearch::Outcome::kUndecided);
  EXPECT_LE(search.possibilities(), 50);
  EXPECT_GT(search.possibilities(), 10);
  EXPECT_EQ(space.placed(), 0);
}

}  // namespace
}  // namespace berth
