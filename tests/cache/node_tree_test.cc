// SPDX-License-Identifier: Apache-2.0
// The order of nodes. After the cases of kube-scheduler's node tree tests.
#include "cache/node_tree.h"

#include <map>
#include <random>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "table/row_move.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NodeBuilder InZone(absl::string_view name, absl::string_view region, absl::string_view zone) {
  NodeBuilder node = MakeNode().Name(name);
  if (!region.empty()) node.Label("topology.kubernetes.io/region", region);
  if (!zone.empty()) node.Label("topology.kubernetes.io/zone", zone);
  return node;
}

// The NodeInfo of each name stays the same.
class Nodes {
 public:
  const NodeInfo& Of(const NodeBuilder& node) {
    const auto spec = node.Obj();
    NodeInfo& info = nodes_.try_emplace(spec->name.view(), spec->name).first->second;
    info.SetSpec(spec);
    return info;
  }

 private:
  std::map<absl::string_view, NodeInfo> nodes_;
};

class NodeTreeTest : public ::testing::Test {
 protected:
  // Whether the order changed.
  bool Set(const NodeBuilder& node) {
    const size_t before = changes_.size();
    tree_.Set(nodes_.Of(node), &changes_);
    return changes_.size() > before;
  }
  bool Remove(absl::string_view name) { return tree_.Remove(Symbol::Intern(name), &changes_); }
  std::vector<std::string> List() const {
    std::vector<std::string> names;
    for (const NodeInfo* node : tree_.List()) names.emplace_back(node->name().view());
    return names;
  }

  // The order that the changes make of another one.
  std::vector<std::string> Replayed(std::vector<std::string> names = {}) const {
    for (const OrderChange& change : changes_) {
      const std::string name(change.node.view());
      if (change.came) {
        names.insert(names.begin() + change.rows.front(), name);
      } else {
        EXPECT_EQ(names[change.rows.front()], name);
        RowMove::Went(change.rows, static_cast<int>(names.size())).Apply(names);
      }
    }
    return names;
  }

  Nodes nodes_;
  NodeTree tree_;
  std::vector<OrderChange> changes_;
};

TEST_F(NodeTreeTest, ChangesTellWhereNodesAre) {
  std::mt19937 random(7);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  for (int step = 0; step < 3000; ++step) {
    const std::string name = absl::StrCat("n", below(40));
    if (below(3) == 0) {
      Remove(name);
    } else {
      // Zones of very different size, some of which come and go.
      const int zone = below(below(6) + 1);
      Set(InZone(name, "r", absl::StrCat("z", zone)));
    }
    ASSERT_EQ(Replayed(), List()) << step;
  }
}

// Zones with their nodes, without any cleverness.
class PlainTree {
 public:
  void Remove(const std::string& name) {
    for (Zone& zone : zones_) std::erase(zone.nodes, name);
    std::erase_if(zones_, [](const Zone& zone) { return zone.nodes.empty(); });
  }
  void Set(const std::string& name, int zone) {
    for (const Zone& known : zones_) {
      if (known.number == zone && absl::c_linear_search(known.nodes, name)) return;
    }
    Remove(name);
    for (Zone& known : zones_) {
      if (known.number == zone) return known.nodes.push_back(name);
    }
    zones_.push_back({zone, {name}});
  }
  std::vector<std::string> List() const {
    std::vector<std::string> names;
    for (size_t turn = 0, before = 1; names.size() != before; ++turn) {
      before = names.size();
      for (const Zone& zone : zones_) {
        if (turn < zone.nodes.size()) names.push_back(zone.nodes[turn]);
      }
      if (turn == 0 && names.empty()) return names;
    }
    return names;
  }

 private:
  struct Zone {
    int number;
    std::vector<std::string> nodes;
  };
  std::vector<Zone> zones_;
};

TEST_F(NodeTreeTest, ListsTheSameWithAndWithoutChanges) {
  const uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  PlainTree plain;
  for (int step = 0; step < 3000; ++step) {
    changes_.clear();
    std::vector<OrderChange>* const changes = below(3) == 0 ? &changes_ : nullptr;
    std::vector<std::string> before = List();
    const std::string name = absl::StrCat("n", below(40));
    if (below(2) == 0) {
      tree_.Remove(Symbol::Intern(name), changes);
      plain.Remove(name);
    } else {
      const int zone = below(4);
      tree_.Set(nodes_.Of(InZone(name, "r", absl::StrCat("z", zone))), changes);
      plain.Set(name, zone);
    }
    ASSERT_EQ(List(), plain.List()) << step;
    ASSERT_EQ(tree_.size(), static_cast<int>(plain.List().size()));
    if (changes == nullptr) continue;
    ASSERT_EQ(Replayed(std::move(before)), List()) << step;
  }
}

TEST_F(NodeTreeTest, NothingInNothingOut) {
  EXPECT_THAT(List(), IsEmpty());
  EXPECT_FALSE(Remove("a"));
}

TEST_F(NodeTreeTest, NodesWithoutAZoneKeepTheirOrder) {
  for (const char* name : {"c", "a", "b"}) EXPECT_TRUE(Set(MakeNode().Name(name)));
  EXPECT_FALSE(Set(MakeNode().Name("a").Label("other", "label")));
  EXPECT_THAT(List(), ElementsAre("c", "a", "b"));
  EXPECT_EQ(tree_.size(), 3);
}

TEST_F(NodeTreeTest, ZonesTakeTurns) {
  Set(InZone("n0", "r1", "z1"));
  Set(InZone("n1", "r1", "z1"));
  Set(InZone("n2", "r1", "z1"));
  Set(InZone("n3", "r1", "z2"));
  Set(InZone("n4", "r2", "z1"));
  Set(InZone("n5", "r2", "z1"));
  EXPECT_THAT(List(), ElementsAre("n0", "n3", "n4", "n1", "n5", "n2"));
}

TEST_F(NodeTreeTest, AnEmptyZoneGoesAndComesBackLast) {
  Set(InZone("a", "r", "z1"));
  Set(InZone("b", "r", "z2"));
  Set(InZone("c", "r", "z2"));
  EXPECT_TRUE(Remove("a"));
  EXPECT_FALSE(Remove("a"));
  EXPECT_THAT(List(), ElementsAre("b", "c"));
  Set(InZone("a", "r", "z1"));
  EXPECT_THAT(List(), ElementsAre("b", "a", "c"));
}

TEST_F(NodeTreeTest, ANodeMovesWithItsZone) {
  Set(InZone("a", "r", "z1"));
  Set(InZone("b", "r", "z1"));
  Set(InZone("c", "r", "z2"));
  EXPECT_TRUE(Set(InZone("a", "r", "z2")));
  EXPECT_THAT(List(), ElementsAre("b", "c", "a"));
  EXPECT_EQ(tree_.size(), 3);
}

TEST_F(NodeTreeTest, ZoneKeys) {
  const auto zone = [](const NodeBuilder& node) {
    const auto [region, name] = ZoneOf(*node.Obj());
    return absl::StrCat(region.view(), ":", name.view());
  };
  EXPECT_EQ(zone(MakeNode()), ":");
  EXPECT_EQ(zone(InZone("n", "r", "z")), "r:z");
  EXPECT_EQ(zone(InZone("n", "", "z")), ":z");
  EXPECT_EQ(zone(InZone("n", "r", "z").Label("failure-domain.beta.kubernetes.io/zone", "old")),
            "r:old")
      << "the old label counts first, as upstream";
}

}  // namespace
}  // namespace berth::testing
