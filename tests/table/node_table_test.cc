// SPDX-License-Identifier: Apache-2.0
// NodeTable: columns say what the NodeInfos say, whatever happened to these.
#include "berth/columns/node_table.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <limits>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "table/row_move.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::NodeBuilder;
using ::berth::testing::PodBuilder;
using ::berth::testing::TestNodes;
using ::testing::ElementsAre;
using ::testing::SizeIs;

Symbol S(absl::string_view text) { return Symbol::Intern(text); }

TEST(NodeTable, ColumnsByRow) {
  const ResourceId gpu = ResourceIdOf("example.com/gpu");
  TestNodes nodes({
      MakeNode().Name("a").Capacity("cpu", "4").Label("zone", "z1").Unschedulable().Info(),
      MakeNode()
          .Name("b")
          .Capacity("cpu", "8")
          .Capacity("example.com/gpu", "2")
          .Pods(5)
          .Info({MakePod().Request("cpu", "1").HostPort(80).PodAntiAffinity("zone", {}).Obj()}),
      MakeNode().Name("c").Label("zone", "").Taint("k", "v", TaintEffect::kNoSchedule).Info(),
  });
  const NodeTable& table = nodes.table();
  ASSERT_EQ(table.size(), 3);
  EXPECT_EQ(table.FindRow(S("b")), 1);
  EXPECT_EQ(table.FindRow(S("no such node")), -1);
  EXPECT_EQ(table.node(1).name(), S("b"));
  EXPECT_THAT(table.allocatable(kCpu), ElementsAre(4000, 8000, 0));
  EXPECT_THAT(table.allocatable(gpu), ElementsAre(0, 2, 0));
  EXPECT_THAT(table.requested(kCpu), ElementsAre(0, 1000, 0));
  EXPECT_THAT(table.nonzero_requested(kMemory), ElementsAre(0, 200 << 20, 0));
  EXPECT_THAT(table.requested(ResourceIdOf("example.com/never")), ElementsAre(0, 0, 0));
  EXPECT_THAT(table.pod_count(), ElementsAre(0, 1, 0));
  EXPECT_THAT(table.allowed_pods(), ElementsAre(110, 5, 110));
  EXPECT_THAT(table.unschedulable(), ElementsAre(1, 0, 0));
  EXPECT_THAT(table.has_used_ports(), ElementsAre(0, 1, 0));
  EXPECT_THAT(table.has_pods_with_affinity(), ElementsAre(0, 1, 0));
  EXPECT_THAT(table.has_pods_with_required_anti_affinity(), ElementsAre(0, 1, 0));
  EXPECT_EQ(table.taints().index(0), table.taints().index(1));
  EXPECT_THAT(table.taints().at(2).taints(), SizeIs(1));

  const DictionaryColumn<LabelValue>& zones = table.label_column(S("zone"));
  EXPECT_EQ(zones.at(0), (LabelValue{true, S("z1")}));
  EXPECT_EQ(zones.at(1), (LabelValue{false, Symbol()}));
  EXPECT_EQ(zones.at(2), (LabelValue{true, Symbol()}));  // "" is not absent
  EXPECT_EQ(&table.label_column(S("zone")), &zones);
}

TEST(NodeTable, KeepsLabelColumnsInStep) {
  NodeInfo a = MakeNode().Name("a").Label("zone", "z1").Info();
  NodeInfo b = MakeNode().Name("b").Info();
  NodeTable table;
  table.SetOrder({&a});
  const DictionaryColumn<LabelValue>& zones = table.label_column(S("zone"));
  a.SetSpec(MakeNode().Name("a").Label("zone", "z2").Obj());
  table.RefreshRow(0);
  EXPECT_EQ(zones.at(0).value, S("z2"));
  table.SetOrder({&b, &a});
  EXPECT_FALSE(zones.at(0).present);
  EXPECT_EQ(zones.at(1).value, S("z2"));
  EXPECT_THAT(zones.values(), SizeIs(2));  // a new order forgets what is gone
}

TEST(NodeTable, MakesLabelColumnsOfManyValues) {
  std::vector<NodeInfo> nodes;
  for (int i = 0; i < 600; ++i) {
    nodes.push_back(MakeNode()
                        .Name(absl::StrCat("n", i))
                        .Label("host", absl::StrCat("h", i))
                        .Label("rack", absl::StrCat("r", i / 200))
                        .Info());
  }
  std::vector<const NodeInfo*> order;
  for (const NodeInfo& node : nodes) order.push_back(&node);
  NodeTable table;
  table.SetOrder(order);
  const LabelColumn& hosts = table.label_column(S("host"));
  const LabelColumn& racks = table.label_column(S("rack"));
  EXPECT_THAT(hosts.values(), SizeIs(600));
  EXPECT_THAT(racks.values(), SizeIs(3));
  EXPECT_EQ(racks.row_count(racks.index(599)), 200);
  for (int i = 0; i < 600; ++i) {
    ASSERT_EQ(hosts.at(i).value, S(absl::StrCat("h", i)));
    ASSERT_EQ(hosts.row_count(hosts.index(i)), 1);
    ASSERT_EQ(racks.at(i).value, S(absl::StrCat("r", i / 200)));
  }
}

TEST(NodeTable, DropsValuesThatNoRowHas) {
  NodeInfo a = MakeNode().Name("a").Info();
  NodeInfo b = MakeNode().Name("b").Label("build", "old").Info();
  NodeTable table;
  table.SetOrder({&a, &b});
  const LabelColumn& builds = table.label_column(S("build"));
  const uint64_t numbering = builds.numbering();
  for (int i = 0; i < 1000; ++i) {
    const std::string build = absl::StrCat("build-", i);
    a.SetSpec(MakeNode().Name("a").Label("build", build).Obj());
    table.RefreshRow(0);
    ASSERT_EQ(builds.at(0).value, S(build));
    ASSERT_EQ(builds.at(1).value, S("old"));
    ASSERT_EQ(builds.Find(LabelValue{true, S(build)}), builds.index(0));
    ASSERT_EQ(builds.row_count(builds.index(0)), 1);
    ASSERT_LT(builds.values().size(), 100);
  }
  EXPECT_NE(builds.numbering(), numbering);
}

TEST(NodeTable, VersionsTellWhatChanged) {
  TestNodes nodes({MakeNode().Info(), MakeNode().Info()});
  const NodeTable& table = nodes.table();
  const uint64_t order = table.order_version();
  const uint64_t first = table.row_version(0);
  nodes.AddPod(1, MakePod().Obj());
  EXPECT_EQ(table.row_version(0), first);
  EXPECT_EQ(table.row_version(1), table.version());
  EXPECT_GT(table.version(), first);
  EXPECT_EQ(table.order_version(), order);
}

// --- Images ---

TEST(NodeTable, AnImageHasTheSizeOfTheNodeThatWasThereFirst) {
  NodeInfo first = MakeNode().Name("first").Image("i:1", 10).Info();
  NodeInfo second = MakeNode().Name("second").Image("i:1", 20).Image("j:1", 5).Info();
  NodeInfo third = MakeNode().Name("third").Image("i:1", 30).Info();
  NodeTable table;
  table.SetOrder({&third, &first, &second});
  EXPECT_EQ(table.image_node_count(S("i:1")), 3);
  EXPECT_EQ(table.image_size_bytes(S("i:1")), 10);
  EXPECT_EQ(table.image_node_count(S("j:1")), 1);
  EXPECT_EQ(table.image_node_count(S("no:1")), 0);
  EXPECT_EQ(table.image_size_bytes(S("no:1")), 0);

  first.SetSpec(MakeNode().Name("first").Obj());
  table.RefreshRow(1);
  EXPECT_EQ(table.image_node_count(S("i:1")), 2);
  EXPECT_EQ(table.image_size_bytes(S("i:1")), 20);
  first.SetSpec(MakeNode().Name("first").Image("i:1", 40).Obj());
  table.RefreshRow(1);
  EXPECT_EQ(table.image_size_bytes(S("i:1")), 40);
  second.SetSpec(MakeNode().Name("second").Obj());
  table.RefreshRow(2);
  EXPECT_EQ(table.image_node_count(S("j:1")), 0);
  EXPECT_EQ(table.image_size_bytes(S("j:1")), 0);
}

// --- Random histories ---

const char* const kLabels[] = {"zone", "host", "disk"};
const char* const kImages[] = {"a:1", "b:1", "c:1", "d:1"};
const char* const kResources[] = {"cpu", "memory", "example.com/t-gpu", "hugepages-2Mi",
                                  "example.com/t-fpga"};

// Few nodes have each, few pods ask for it, and most of them are not common.
const std::vector<std::string>& RareResources() {
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> names;
    for (int i = 0; i < 3 * kCommonResources; ++i) {
      names.push_back(absl::StrCat("example.com/t-rare-", i));
      ResourceIdOf(names.back());
    }
    return names;
  }());
  return names;
}

// Few nodes have each.
const std::vector<Symbol>& RareLabels() {
  static const auto& keys = *new std::vector<Symbol>([] {
    std::vector<Symbol> keys;
    for (int i = 0; i < 120; ++i) keys.push_back(S(absl::StrCat("example.com/label-", i)));
    return keys;
  }());
  return keys;
}

void ExpectColumn(const LabelColumn& column, NodeRow row, const NodeInfo& node, Symbol key) {
  const Symbol* value = node.labels().Find(key);
  EXPECT_EQ(column.at(row).present, value != nullptr) << key.view();
  EXPECT_EQ(column.at(row).value, value == nullptr ? Symbol() : *value) << key.view();
}

// The rows with one of the values of a label, or none if there are more than `most`.
void ExpectSelected(const NodeTable& table, const std::vector<NodeInfo*>& nodes, Symbol key,
                    const std::vector<Symbol>& values, int most) {
  std::vector<NodeRow> expected, selected;
  for (NodeRow row = 0; row < table.size(); ++row) {
    const Symbol* const value = nodes[row]->labels().Find(key);
    if (value != nullptr && absl::c_linear_search(values, *value)) expected.push_back(row);
  }
  const bool are_few = static_cast<int>(expected.size()) <= most;
  ASSERT_EQ(table.SelectRows(key, values, most, selected), are_few) << key.view();
  if (!are_few) return;
  EXPECT_EQ(selected, expected) << key.view();
}

// The rows with room for `amount`, or none if more than `most` nodes have any of the resource.
void ExpectSelectedWithRoom(const NodeTable& table, ResourceId id, int64_t amount, int most) {
  std::vector<NodeRow> expected, selected;
  int offering = 0;
  for (NodeRow row = 0; row < table.size(); ++row) {
    const NodeInfo& node = table.node(row);
    offering += node.allocatable().Get(id) > 0 ? 1 : 0;
    if (node.allocatable().Get(id) - node.requested().Get(id) >= amount) expected.push_back(row);
  }
  const bool selects = table.SelectRowsWithRoom(id, amount, most, selected);
  EXPECT_TRUE(selects || offering > most) << ResourceName(id);
  EXPECT_TRUE(!selects || static_cast<int>(expected.size()) <= most) << ResourceName(id);
  EXPECT_TRUE(!selects || selected == expected) << ResourceName(id);
}

// The table says of every row what its NodeInfo says.
void ExpectInStep(const NodeTable& table, const std::vector<NodeInfo*>& nodes) {
  ASSERT_EQ(table.size(), static_cast<int>(nodes.size()));
  for (NodeRow row = 0; row < table.size(); ++row) {
    const NodeInfo& node = *nodes[row];
    SCOPED_TRACE(absl::StrCat("row ", row));
    EXPECT_EQ(&table.node(row), &node);
    EXPECT_EQ(table.FindRow(node.name()), row);
    for (ResourceId id = 0; id < ResourceCount(); ++id) {
      EXPECT_EQ(table.allocatable(id)[row], node.allocatable().Get(id)) << ResourceName(id);
      EXPECT_EQ(table.requested(id)[row], node.requested().Get(id)) << ResourceName(id);
      EXPECT_EQ(table.nonzero_requested(id)[row], node.nonzero_requested().Get(id))
          << ResourceName(id);
    }
    EXPECT_EQ(table.pod_count()[row], static_cast<int64_t>(node.pods().size()));
    EXPECT_EQ(table.allowed_pods()[row], node.allowed_pods());
    int32_t lowest = NodeInfo::kNoPriority;
    for (const auto& pod : node.pods()) lowest = std::min(lowest, pod->priority());
    EXPECT_EQ(node.lowest_priority(), lowest);
    EXPECT_EQ(table.lowest_priority()[row], lowest);
    if (lowest != NodeInfo::kNoPriority) {
      EXPECT_TRUE(table.AnyPriorityBelow(lowest + 1));
    }
    EXPECT_EQ(table.unschedulable()[row] != 0, node.unschedulable());
    EXPECT_EQ(table.has_used_ports()[row] != 0, !node.used_ports().empty());
    EXPECT_EQ(table.has_pods_with_affinity()[row] != 0, !node.pods_with_affinity().empty());
    EXPECT_EQ(table.has_pods_with_required_anti_affinity()[row] != 0,
              !node.pods_with_required_anti_affinity().empty());
    EXPECT_EQ(table.taints().at(row), node.taints());
    for (const char* label : kLabels) {
      ExpectColumn(table.label_column(S(label)), row, node, S(label));
    }
    for (const Symbol key : RareLabels()) {  // those that are there
      const LabelColumn* const column = table.FindLabelColumn(key, 0);
      if (column != nullptr) ExpectColumn(*column, row, node, key);
    }
  }
  for (ResourceId id = 0; id < ResourceCount(); ++id) {
    for (const int most : {0, 2, table.size()}) {
      for (const int64_t amount : {1, 1000}) ExpectSelectedWithRoom(table, id, amount, most);
    }
  }
}

void ExpectImagesInStep(const NodeTable& table, const std::vector<NodeInfo*>& nodes) {
  for (const char* name : kImages) {
    int64_t count = 0;
    int64_t size_bytes = 0;
    uint64_t first_arrival = std::numeric_limits<uint64_t>::max();
    for (const NodeInfo* node : nodes) {
      for (const NodeImage& image : node->spec().images) {
        if (image.name != S(name)) continue;
        ++count;
        if (node->arrival() > first_arrival) continue;
        first_arrival = node->arrival();
        size_bytes = image.size_bytes;
      }
    }
    EXPECT_EQ(table.image_node_count(S(name)), count) << name;
    EXPECT_EQ(table.image_size_bytes(S(name)), size_bytes) << name;
  }
}

// Keeps something by row and follows the table from time to time.
class Follower {
 public:
  void Follow(const NodeTable& table) {
    const bool in_step =
        version_ != 0 &&
        table.Replay(
            version_, [&](const RowChange& change) { kept_[change.row].is_old = true; },
            [&](const RowMove& move) {
              move.Apply(kept_);
              for (const NodeRow row : move.came()) kept_[row].is_new = true;
              ++moves;
            });
    begun_anew += !in_step;
    if (!in_step) kept_.assign(table.size(), {.is_new = true});
    ASSERT_EQ(kept_.size(), static_cast<size_t>(table.size()));
    for (NodeRow row = 0; row < table.size(); ++row) {
      const NodeInfo& node = table.node(row);
      Kept& kept = kept_[row];
      if (!kept.is_new) {
        EXPECT_EQ(kept.node, &node) << row;
      }
      if (!kept.is_new && !kept.is_old) {
        EXPECT_EQ(kept.row_version, table.row_version(row)) << row;
      }
      kept = {.node = &node, .row_version = table.row_version(row)};
    }
    version_ = table.version();
  }
  int moves = 0;
  int begun_anew = 0;

 private:
  struct Kept {
    const NodeInfo* node = nullptr;
    uint64_t row_version = 0;
    bool is_old = false;
    bool is_new = false;
  };
  std::vector<Kept> kept_;
  uint64_t version_ = 0;
};

class RandomHistory {
 public:
  explicit RandomHistory(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 8; ++i) nodes_.emplace_back(RandomNode(absl::StrCat("n", i)));
    SetOrder();
  }

  void Step() {
    if (order_.empty() || Below(40) == 0) return SetOrder();
    if (Below(6) == 0) return MoveRows();
    if (Below(8) == 0) return Rearrange();
    const NodeRow row = Below(static_cast<int>(order_.size()));
    NodeInfo& node = *order_[row];
    // One to three changes between refreshes.
    for (int i = Below(3); i >= 0; --i) Change(node);
    table_.RefreshRow(row);
    if (Below(4) == 0) table_.label_column(S(kLabels[Below(3)]));
  }

  void Check() {
    ExpectInStep(table_, order_);
    ExpectImagesInStep(table_, order_);
    for (int i = 0; i < 4; ++i) {
      ExpectSelected(table_, order_, Below(2) == 0 ? RareLabel() : S(kLabels[Below(3)]),
                     SomeValues(), Below(table_.size() + 1));
      const Symbol key = RareLabel();
      columns_made_ += table_.FindLabelColumn(key, 0) == nullptr;
      const LabelColumn* const column = table_.FindLabelColumn(key, order_.size());
      ASSERT_NE(column, nullptr);
      for (NodeRow row = 0; row < table_.size(); ++row) {
        ExpectColumn(*column, row, *order_[row], key);
      }
    }
    // Some are often in step, others seldom.
    for (size_t i = 0; i < followers_.size(); ++i) {
      if (Below(1 << (2 * i)) == 0) followers_[i].Follow(table_);
    }
  }
  absl::Span<const Follower> followers() const { return followers_; }
  int columns_made() const { return columns_made_; }

 private:
  int Below(int n) { return static_cast<int>(random_() % n); }
  Symbol RareLabel() { return RareLabels()[Below(static_cast<int>(RareLabels().size()))]; }
  // One of those that RandomNode() gives labels, and one that no node has; perhaps one twice.
  std::vector<Symbol> SomeValues() {
    std::vector<Symbol> values;
    for (int i = Below(4); i > 0; --i) values.push_back(S(absl::StrCat("v", Below(4))));
    return values;
  }

  // Some of the nodes, in any order; as when nodes come, go and change zones.
  void SetOrder() {
    order_.clear();
    for (NodeInfo& node : nodes_) {
      if (Below(5) != 0) order_.push_back(&node);
    }
    std::shuffle(order_.begin(), order_.end(), random_);
    table_.SetOrder(std::vector<const NodeInfo*>(order_.begin(), order_.end()));
  }

  // The same, told as a move; some nodes are others of the same name. Or nodes only go.
  void Rearrange() {
    std::list<NodeInfo> former;  // the table has them until it is told
    if (Below(2) == 0) {
      std::erase_if(order_, [&](NodeInfo*) { return Below(4) == 0; });
    } else {
      order_.clear();
      for (auto it = nodes_.begin(); it != nodes_.end(); ++it) {
        if (Below(5) == 0) {
          const auto other = nodes_.insert(it, NodeInfo(RandomNode(it->name().view())));
          former.splice(former.end(), nodes_, it);
          it = other;
        }
        if (Below(5) != 0) order_.push_back(&*it);
      }
      std::shuffle(order_.begin(), order_.end(), random_);
    }
    table_.Rearrange(std::vector<const NodeInfo*>(order_.begin(), order_.end()));
  }

  // A node comes, or one goes and some others take its place and each other's.
  void MoveRows() {
    for (NodeInfo& node : nodes_) {
      if (Below(2) == 0 || table_.FindRow(node.name()) >= 0) continue;
      const NodeRow row = Below(static_cast<int>(order_.size()) + 1);
      order_.insert(order_.begin() + row, &node);
      return table_.InsertRow(row, &node);
    }
    std::vector<NodeRow> rows = {Below(static_cast<int>(order_.size()))};
    for (NodeRow row = rows.front() + 1; row < static_cast<int>(order_.size()); ++row) {
      if (Below(2) == 0) rows.push_back(row);
    }
    RowMove::Went(rows, static_cast<int>(order_.size())).Apply(order_);
    table_.RemoveRow(rows);
  }

  void Change(NodeInfo& node) {
    switch (Below(6)) {
      case 0:
        return node.SetSpec(RandomNode(node.name().view()));
      case 1:
        if (node.has_node() && Below(2) == 0) {  // the node goes and comes back as it was
          const std::shared_ptr<const NodeSpec> spec = node.shared_spec();
          node.ClearSpec();
          if (Below(2) == 0) node.SetSpec(spec);
        }
        return;
      case 2:
      case 3:
        if (!node.pods().empty()) {
          const std::string uid = node.pods()[Below(static_cast<int>(node.pods().size()))]->uid();
          EXPECT_TRUE(node.RemovePod(uid));
          return;
        }
        [[fallthrough]];
      default:
        return node.AddPod(RandomPod());
    }
  }

  const std::string& RareResource() {
    return RareResources()[Below(static_cast<int>(RareResources().size()))];
  }

  std::shared_ptr<const NodeSpec> RandomNode(absl::string_view name) {
    NodeBuilder node = MakeNode().Name(name).Pods(Below(20));
    for (const char* resource : kResources) {
      if (Below(2) == 0) node.Capacity(resource, absl::StrCat(Below(100)));
    }
    for (int i = Below(4); i > 0; --i) node.Capacity(RareResource(), absl::StrCat(Below(100)));
    for (const char* label : kLabels) {
      if (Below(2) == 0) node.Label(label, absl::StrCat("v", Below(3)));
    }
    for (int i = Below(4); i > 0; --i) {
      const Symbol key = RareLabels()[Below(static_cast<int>(RareLabels().size()))];
      node.Label(key.view(), absl::StrCat("v", Below(3)));
    }
    for (const char* image : kImages) {
      if (Below(2) == 0) node.Image(image, Below(1000));
    }
    if (Below(3) == 0) node.Taint("k", absl::StrCat(Below(2)), TaintEffect::kNoSchedule);
    if (Below(4) == 0) node.Unschedulable();
    return node.Obj();
  }

  std::shared_ptr<const PodInfo> RandomPod() {
    PodBuilder pod = MakePod().Name(absl::StrCat("p", ++pods_made_)).Container();
    for (const char* resource : kResources) {
      if (Below(2) == 0) pod.Request(resource, absl::StrCat(Below(100)));
    }
    if (Below(2) == 0) pod.Request(RareResource(), absl::StrCat(Below(100)));
    if (Below(4) == 0) pod.HostPort(1 + Below(3));
    if (Below(4) == 0) pod.PodAntiAffinity("zone", {});
    if (Below(4) == 0) pod.PreferredPodAffinity(1, "zone", {});
    if (Below(4) == 0) pod.Claim(absl::StrCat("c", Below(3)));
    return pod.Obj();
  }

  std::mt19937 random_;
  std::list<NodeInfo> nodes_;
  std::vector<NodeInfo*> order_;
  NodeTable table_;
  int pods_made_ = 0;
  int columns_made_ = 0;
  std::array<Follower, 4> followers_;
};

// More columns were asked for than are kept; what a node has afterwards is right in all of them.
TEST(NodeTable, ColumnsOfRareResourcesComeAndGo) {
  const std::vector<std::string>& names = RareResources();
  std::list<NodeInfo> infos;
  std::vector<NodeInfo*> nodes;
  for (size_t i = 0; i < 500; ++i) {
    NodeBuilder node = MakeNode().Name(absl::StrCat("n", i));
    if (i < names.size()) node.Capacity(names[i], absl::StrCat(1 + i));
    nodes.push_back(&infos.emplace_back(node.Info()));
  }
  NodeTable table;
  table.SetOrder(std::vector<const NodeInfo*>(nodes.begin(), nodes.end()));
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < names.size(); ++i) {
      const ResourceId id = ResourceIdOf(names[i]);
      const absl::Span<const int64_t> has = table.allocatable(id), used = table.requested(id);
      for (size_t row = 0; row < nodes.size(); ++row) {
        ASSERT_EQ(has[row], nodes[row]->allocatable().Get(id)) << names[i] << ", row " << row;
        ASSERT_EQ(used[row], nodes[row]->requested().Get(id)) << names[i] << ", row " << row;
      }
      nodes[i]->AddPod(
          MakePod().Name(absl::StrCat("p", round, "-", i)).Request(names[i], "1").Obj());
      table.RefreshRow(static_cast<NodeRow>(i));
    }
  }
}

TEST(NodeTable, IsInStepAfterAnyHistory) {
  const uint32_t base = std::random_device()();
  std::cout << "seeds from " << base << "\n";
  for (uint32_t seed = base; seed != base + 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomHistory history(seed);
    for (int step = 0; step < 200; ++step) {
      history.Step();
      history.Check();
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(history.followers().front().moves, 5);
    // More often than there are labels: those of rare ones go again.
    EXPECT_GT(history.columns_made(), static_cast<int>(RareLabels().size()));
  }
}

TEST(NodeTable, TellsWhichRowsMoved) {
  std::list<NodeInfo> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
  NodeTable table;
  table.SetOrder({&nodes.front()});
  const uint64_t begin = table.version();
  std::vector<std::string> names = {"n0"};
  const auto replay = [&](uint64_t since) {
    return table.Replay(
        since, [&](const RowChange& change) { names[change.row] += "!"; },
        [&](const RowMove& move) { move.Apply(names, std::string("new")); });
  };
  table.InsertRow(0, &*std::next(nodes.begin()));
  table.RefreshRow(1);
  table.InsertRow(1, &*std::next(nodes.begin(), 2));
  table.RefreshRow(0);
  EXPECT_EQ(table.ChangesSince(begin), std::nullopt) << "rows have other numbers";
  EXPECT_THAT(*table.ChangesSince(table.version() - 1), SizeIs(1));
  ASSERT_TRUE(replay(begin));
  EXPECT_THAT(names, ElementsAre("new!", "new", "n0!"));

  const uint64_t then = table.version();
  table.RemoveRow({0, 2});
  ASSERT_TRUE(replay(then));
  EXPECT_THAT(names, ElementsAre("n0!", "new"));

  // So much moved that nobody wants to follow.
  for (int i = 0; i < 600; ++i) {
    table.InsertRow(0, &nodes.back());
    table.RemoveRow({0});
  }
  EXPECT_FALSE(replay(then));
  EXPECT_TRUE(replay(table.version() - 2));
  EXPECT_THAT(names, ElementsAre("n0!", "new"));
  const uint64_t last = table.version();
  table.SetOrder({&nodes.front()});
  EXPECT_FALSE(replay(last)) << "all is new";
  EXPECT_TRUE(replay(table.version()));
}

}  // namespace
}  // namespace berth
