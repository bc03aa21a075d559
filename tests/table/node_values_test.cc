// SPDX-License-Identifier: Apache-2.0
// NodeValues: a value stays with its node, whatever happens to the rows.
#include "berth/columns/node_values.h"

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct NodeValue {
  std::string node;  // empty: T() and no more
  bool changed = false;
};

// A table and values that follow it, with the names of what happened in the last CatchUp().
class Following {
 public:
  void CatchUp() {
    added.clear();
    changed.clear();
    removed.clear();
    values.CatchUp(
        table,
        [this](NodeValue& kept) {
          kept.changed = true;
          changed.insert(kept.node);
        },
        [this](const NodeValue& kept) { removed.insert(kept.node); },
        [this](NodeValue& kept, NodeRow row) {
          EXPECT_EQ(kept.node, "") << "not a new value";
          kept.node = std::string(table.node(row).name().view());
          added.insert(kept.node);
        });
    ASSERT_EQ(values.size(), table.size());
    for (NodeRow row = 0; row < table.size(); ++row) {
      EXPECT_EQ(values.at(row).node, table.node(row).name().view()) << row;
      EXPECT_EQ(values.Find(table.node(row).name()), &values.at(row)) << row;
    }
  }

  NodeTable table;
  NodeValues<NodeValue> values;
  std::set<std::string> added, changed, removed;
};

TEST(NodeValues, FollowsATable) {
  std::list<NodeInfo> nodes;
  for (const char* name : {"a", "b", "c"}) nodes.push_back(MakeNode().Name(name).Info());
  const NodeInfo* const a = &nodes.front();
  const NodeInfo* const b = &*std::next(nodes.begin());
  const NodeInfo* const c = &nodes.back();
  Following following;
  following.table.SetOrder({a, b});
  following.CatchUp();
  EXPECT_THAT(following.added, ElementsAre("a", "b"));
  EXPECT_THAT(following.changed, IsEmpty());
  const NodeValue* const of_b = following.values.Find(b->name());

  following.table.RemoveRow({0});
  following.table.InsertRow(0, c);
  following.table.RefreshRow(1);
  following.table.RefreshRow(0);
  following.CatchUp();
  EXPECT_THAT(following.added, ElementsAre("c"));
  EXPECT_THAT(following.changed, ElementsAre("b")) << "one that came has not changed as well";
  EXPECT_THAT(following.removed, ElementsAre("a"));
  EXPECT_EQ(following.values.Find(a->name()), nullptr);
  EXPECT_EQ(following.values.Find(b->name()), of_b);
  EXPECT_EQ(&following.values.at(1), of_b);

  following.CatchUp();
  EXPECT_THAT(following.added, IsEmpty());
  EXPECT_THAT(following.changed, IsEmpty());
  following.values.Clear();
  following.CatchUp();
  EXPECT_THAT(following.added, ElementsAre("b", "c"));
  EXPECT_THAT(following.removed, IsEmpty());
}

TEST(NodeValues, TakesAnotherTableForAnother) {
  std::list<NodeInfo> nodes;
  for (const char* name : {"a", "b"}) nodes.push_back(MakeNode().Name(name).Info());
  NodeTable first, second;
  first.SetOrder({&nodes.front()});
  second.SetOrder({&nodes.front(), &nodes.back()});
  NodeValues<int> values;
  int added = 0, removed = 0;
  const auto catch_up = [&](const NodeTable& table) {
    values.CatchUp(
        table, [](int&) {}, [&](int&) { ++removed; },
        [&](int& value, NodeRow) { value = ++added; });
  };
  catch_up(first);
  catch_up(second);
  EXPECT_EQ(added, 3);
  EXPECT_EQ(removed, 1);
  EXPECT_EQ(values.at(1), 3);
}

// Random histories against a model: which nodes there were at the last look, and which changed or
// left since.
class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {
    for (int i = 0; i < kNodes; ++i) nodes_.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
  }

  void Change() {
    switch (order_.empty() ? 0 : Below(5)) {
      case 0:
        return Reorder();
      case 1:
        return Remove(Below(static_cast<int>(order_.size())));
      case 2:
        return AddOne();
      default:
        return Touch(*order_[Below(static_cast<int>(order_.size()))]);
    }
  }

  void Look() {
    following_.CatchUp();
    std::set<std::string> now;
    for (const NodeInfo* node : order_) now.emplace(node->name().view());
    for (const std::string& name : now) {
      const bool added = following_.added.contains(name);
      EXPECT_TRUE(added || seen_.contains(name)) << name;
      EXPECT_EQ(added && seen_.contains(name), following_.removed.contains(name)) << name;
      if (!touched_.contains(name)) continue;
      EXPECT_TRUE(added || following_.changed.contains(name)) << name << " changed unnoticed";
    }
    for (const std::string& name : seen_) {
      EXPECT_TRUE(now.contains(name) || following_.removed.contains(name)) << name;
    }
    added_again_ += !following_.removed.empty() && !following_.added.empty();
    seen_ = std::move(now);
    touched_.clear();
  }

  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  int added_again() const { return added_again_; }

 private:
  static constexpr int kNodes = 12;

  void Note(const NodeInfo& node) { touched_.emplace(node.name().view()); }
  void Touch(const NodeInfo& node) {
    Note(node);
    following_.table.RefreshRow(following_.table.FindRow(node.name()));
  }
  void Remove(NodeRow row) {
    Note(*order_[row]);
    order_.erase(order_.begin() + row);
    following_.table.RemoveRow({row});
  }
  void AddOne() {
    for (NodeInfo& node : nodes_) {
      if (following_.table.FindRow(node.name()) >= 0) continue;
      const NodeRow row = Below(static_cast<int>(order_.size()) + 1);
      order_.insert(order_.begin() + row, &node);
      return following_.table.InsertRow(row, &node);
    }
  }
  // Some come and some go; sometimes as a table that is made again, of which no reader knows how.
  void Reorder() {
    order_.clear();
    for (NodeInfo& node : nodes_) {
      if (Below(4) != 0) {
        order_.push_back(&node);
      } else if (following_.table.FindRow(node.name()) >= 0) {
        Note(node);
      }
    }
    std::shuffle(order_.begin(), order_.end(), random_);
    const std::vector<const NodeInfo*> rows(order_.begin(), order_.end());
    Below(4) == 0 ? following_.table.SetOrder(rows) : following_.table.Rearrange(rows);
  }

  std::mt19937_64 random_;
  std::list<NodeInfo> nodes_;
  std::vector<NodeInfo*> order_;
  Following following_;
  std::set<std::string> seen_, touched_;
  int added_again_ = 0;
};

TEST(NodeValues, FollowRandomHistories) {
  int added_again = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    History history(seed);
    for (int look = 0; look < 40; ++look) {
      // Now and then more than the table records.
      for (int i = history.Below(look % 10 == 9 ? 4000 : 8); i > 0; --i) history.Change();
      history.Look();
      if (::testing::Test::HasFailure()) return;
    }
    added_again += history.added_again();
  }
  EXPECT_GT(added_again, 500);
}

}  // namespace
}  // namespace berth
