// SPDX-License-Identifier: Apache-2.0
// Pods counted on some of the nodes: in random histories of nodes and pods it is what a look at all
// of them finds. BERTH_TEST_SEED repeats one history.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/columns/pod_table.h"
#include "berth/incremental/domain_counts.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::NodeBuilder;
using ::berth::testing::PodBuilder;
using ::berth::testing::Random;
using PodPtr = std::shared_ptr<const PodInfo>;

constexpr int kHistories = 12;
constexpr int kSteps = 250;
constexpr int kNames = 110;  // of nodes: so many hosts that it is kept how many have how many pods

Symbol Host() { return Symbol::Intern("host"); }
Symbol Zone() { return Symbol::Intern("zone"); }

RequiredNodeAffinity AffinityOf(const PodBuilder& pod) {
  return pod.Obj()->required_node_affinity();
}

RequiredNodeAffinity NotNamed(const std::string& name) {
  PodBuilder pod = MakePod();
  api::NodeSelectorRequirement* const field =
      pod.Message()
          .mutable_spec()
          ->mutable_affinity()
          ->mutable_node_affinity()
          ->mutable_required_during_scheduling_ignored_during_execution()
          ->add_node_selector_terms()
          ->add_match_fields();
  field->set_key("metadata.name");
  field->set_operator_("NotIn");
  field->add_values(name);
  return AffinityOf(pod);
}

Toleration Tolerating(absl::string_view key) {
  return {.key = Symbol::Intern(key), .op = TolerationOperator::kExists};
}

const std::vector<NodeScope>& Scopes() {
  static const auto& scopes = *new std::vector<NodeScope>{
      {},
      {.label_keys = {Host(), Zone()}},
      {.label_keys = {Symbol::Intern("disk")}},
      {.affinity = AffinityOf(MakePod().NodeSelector("disk", "ssd"))},
      {.affinity = AffinityOf(MakePod().NodeAffinityNotIn("zone", {"z1", "z2"}))},
      {.affinity = NotNamed("n7")},
      {.tolerations = std::vector<Toleration>()},
      {.tolerations = std::vector<Toleration>{Tolerating("dedicated")}},
      {.label_keys = {Zone()},
       .affinity = AffinityOf(MakePod().NodeSelector("disk", "ssd")),
       .tolerations = std::vector<Toleration>{Tolerating("broken")}},
  };
  return scopes;
}

PodSelector App(const std::string& value) {
  return {.namespaces = {Symbol::Intern("default")},
          .labels = LabelSelector::FromLabels({{"app", value}}),
          .counts_terminating = false};
}

// --- The cluster ---------------------------------------------------------------------------------

class Cluster {
 public:
  explicit Cluster(Random& random) : random_(random) {
    for (int i = 0; i < kNames; ++i) nodes_.push_back(nullptr);
    for (int i = 0; i < kNames * 4 / 5; ++i) NodeComes();
  }

  void Change() {
    const int change = random_.Below(100);
    if (change < 10) return NodeComes();
    if (change < 18) return NodeGoes();
    if (change < 28) return Relabel();
    if (change < 45) return Taint();
    if (change < 50) return SayTheSame();
    if (change < 52) return Rearrange();
    if (change < 53) return table_.SetOrder(order_);
    ChangePods();
  }

  const NodeTable& table() const { return table_; }

 private:
  static std::string Name(int i) { return absl::StrCat("n", i); }
  const NodeInfo* OneInTable() { return order_[random_.Below(static_cast<int>(order_.size()))]; }
  NodeInfo& Mutable(const NodeInfo* node) {
    return **std::find_if(nodes_.begin(), nodes_.end(),
                          [&](const auto& owned) { return owned.get() == node; });
  }

  // Labels of a node; two may have one host label.
  NodeBuilder RandomNode() {
    NodeBuilder node = MakeNode().Name("any");
    if (!random_.Percent(5)) node.Label("host", Name(random_.Below(kNames)));
    if (!random_.Percent(10)) node.Label("zone", absl::StrCat("z", random_.Below(4)));
    if (!random_.Percent(10)) node.Label("disk", random_.Percent(60) ? "ssd" : "hdd");
    return node;
  }
  TaintList RandomTaints() {
    std::vector<berth::Taint> taints;
    const auto add = [&](int chance, absl::string_view key, TaintEffect effect) {
      if (random_.Percent(chance)) taints.push_back({.key = Symbol::Intern(key), .effect = effect});
    };
    add(20, "dedicated", TaintEffect::kNoSchedule);
    add(15, "broken", TaintEffect::kNoExecute);
    add(15, "soft", TaintEffect::kPreferNoSchedule);
    return TaintList(std::move(taints));
  }

  void NodeComes() {
    const int i = random_.Below(kNames);
    if (nodes_[i] != nullptr) return;
    NodeBuilder node = RandomNode();
    if (random_.Percent(80)) node.Label("host", Name(i));
    nodes_[i] = std::make_unique<NodeInfo>(node.Name(Name(i)).Info());
    auto spec = std::make_shared<NodeSpec>(nodes_[i]->spec());
    spec->taints = RandomTaints();
    nodes_[i]->SetSpec(std::move(spec));
    for (int pods = random_.Below(3); pods > 0; --pods) nodes_[i]->AddPod(RandomPod());
    const int row = random_.Below(static_cast<int>(order_.size()) + 1);
    order_.insert(order_.begin() + row, nodes_[i].get());
    table_.InsertRow(row, order_[row]);
  }
  void NodeGoes() {
    if (order_.size() < 2) return;
    const NodeRow row = random_.Below(static_cast<int>(order_.size()));
    const NodeInfo* const node = order_[row];
    order_.erase(order_.begin() + row);
    table_.RemoveRow({&row, 1});
    std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& owned) {
      return owned.get() == node;
    })->reset();
  }
  void Relabel() {
    NodeInfo& node = Mutable(OneInTable());
    auto spec = std::make_shared<NodeSpec>(node.spec());
    spec->labels = RandomNode().Info().labels();
    SetObject(node, std::move(spec));
  }
  void Taint() {
    NodeInfo& node = Mutable(OneInTable());
    auto spec = std::make_shared<NodeSpec>(node.spec());
    spec->taints = RandomTaints();
    SetObject(node, std::move(spec));
  }
  void SayTheSame() {
    NodeInfo& node = Mutable(OneInTable());
    SetObject(node, std::make_shared<NodeSpec>(node.spec()));
  }
  void SetObject(NodeInfo& node, std::shared_ptr<const NodeSpec> spec) {
    node.SetSpec(std::move(spec));
    if (random_.Percent(20)) node.AddPod(RandomPod());  // seen along with it
    Refresh(node);
  }
  void Rearrange() {
    for (int i = static_cast<int>(order_.size()) - 1; i > 0; --i) {
      std::swap(order_[i], order_[random_.Below(i + 1)]);
    }
    table_.Rearrange(order_);
  }
  void ChangePods() {
    for (int changes = random_.Between(1, 8); changes > 0; --changes) {
      NodeInfo& node = Mutable(OneInTable());
      if (random_.Percent(40) && !node.pods().empty()) {
        const PodPtr gone = node.pods()[random_.Below(static_cast<int>(node.pods().size()))];
        node.RemovePod(*gone);
      } else {
        node.AddPod(RandomPod());
      }
      Refresh(node);
    }
  }
  PodPtr RandomPod() {
    const std::string name = absl::StrCat("p", ++pods_);
    PodBuilder pod = MakePod().Name(name).Uid(name).Namespace("default");
    pod.Label("app", random_.Percent(60) ? "a" : "b");
    if (random_.Percent(10)) pod.Deleted();
    return pod.Obj();
  }
  void Refresh(const NodeInfo& node) { table_.RefreshRow(table_.FindRow(node.name())); }

  Random& random_;
  std::vector<std::unique_ptr<NodeInfo>> nodes_;  // by number; null: there is none
  std::vector<const NodeInfo*> order_;
  NodeTable table_;
  int pods_ = 0;
};

// --- The same, from a look at all nodes ----------------------------------------------------------

struct PlainCounts {
  std::vector<int64_t> of_rows, of_domains;
  std::vector<int> nodes_of_domains;
  int64_t total = 0, labelled = 0;
  MinimumPods minimum;
};

bool IsInScope(const NodeScope& scope, const NodeInfo& node) {
  for (const Symbol key : scope.label_keys) {
    if (node.labels().Find(key) == nullptr) return false;
  }
  if (!scope.affinity.Matches(node.labels(), node.name())) return false;
  if (!scope.tolerations.has_value()) return true;
  for (const Taint& taint : node.taints()) {
    const bool keeps_off = taint.effect != TaintEffect::kPreferNoSchedule;
    if (keeps_off && !Tolerates(*scope.tolerations, taint)) return false;
  }
  return true;
}

PlainCounts CountPlainly(const NodeTable& nodes, const PodSelector& selector,
                         const NodeScope& scope, const LabelColumn& column) {
  PlainCounts counts;
  counts.of_domains.resize(column.values().size());
  counts.nodes_of_domains.resize(column.values().size());
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    counts.of_rows.push_back(0);
    const NodeInfo& node = nodes.node(row);
    if (!IsInScope(scope, node)) continue;
    for (const PodPtr& pod : node.pods()) counts.of_rows[row] += selector.Matches(*pod) ? 1 : 0;
    counts.of_domains[column.index(row)] += counts.of_rows[row];
    ++counts.nodes_of_domains[column.index(row)];
    counts.total += counts.of_rows[row];
    if (column.at(row).present) counts.labelled += counts.of_rows[row];
  }
  for (uint32_t domain = 0; domain < column.values().size(); ++domain) {
    const bool is_domain = column.values()[domain].present && counts.nodes_of_domains[domain] > 0;
    if (is_domain) counts.minimum.Include(counts.of_domains[domain]);
  }
  return counts;
}

// What somebody kept who looked before.
struct Kept {
  PodSelector selector;
  NodeScope scope;
  Symbol key;
  std::vector<int64_t> counts;
  PodCounts::Version version;
};

template <class T>
std::vector<T> Copy(absl::Span<const T> values) {
  return {values.begin(), values.end()};
}

void Check(const NodeTable& nodes, Kept& kept, int& followed) {
  const std::shared_ptr<const PodCounts> pods = nodes.pods().Count(kept.selector, kept.scope);
  const LabelColumn& column = nodes.label_column(kept.key);
  const PlainCounts want = CountPlainly(nodes, kept.selector, kept.scope, column);
  ASSERT_EQ(Copy(pods->of_rows()), want.of_rows);
  ASSERT_EQ(Copy(pods->of_domains(column)), want.of_domains);
  ASSERT_EQ(Copy(pods->nodes_of_domains(column)), want.nodes_of_domains);
  ASSERT_EQ(pods->total(), want.total);
  ASSERT_EQ(pods->total_labelled(column), want.labelled);
  const MinimumPods minimum = pods->minimum(column);
  ASSERT_EQ(minimum.domains, want.minimum.domains);
  ASSERT_EQ(minimum.pods, want.minimum.pods);
  ASSERT_EQ(minimum.with_minimum, want.minimum.with_minimum);
  ASSERT_EQ(minimum.next, want.minimum.next);
  std::vector<int64_t> sums(column.values().size());
  ASSERT_EQ(pods->AddToDomains(column, 1, absl::MakeSpan(sums)), want.labelled);

  const auto changes = pods->ChangesSince(column, kept.version);
  if (changes.has_value()) {
    ++followed;
    for (const PodCounts::Change& change : *changes) {
      ASSERT_EQ(column.index(change.row), change.domain);
      kept.counts[change.domain] = want.of_domains[change.domain];
    }
    ASSERT_EQ(kept.counts, want.of_domains);
  }
  kept.counts = want.of_domains;
  kept.version = pods->version(column);
}

void CountAlong(Random& random) {
  Cluster cluster(random);
  std::vector<Kept> all;
  for (const NodeScope& scope : Scopes()) {
    for (const char* app : {"a", "b"}) {
      for (const Symbol key : {Host(), Zone()}) all.push_back({App(app), scope, key});
    }
  }
  int followed = 0;
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    const NodeTable& nodes = cluster.table();
    // Held while it may be forgotten for others, as by a cycle.
    const Kept& held = random.OneOf(all);
    const auto counts = nodes.pods().Count(held.selector, held.scope);
    if (random.Percent(2)) {
      for (int i = 0; i < 600; ++i) {
        nodes.pods().Count(App(absl::StrCat(i)), random.OneOf(Scopes()));
      }
    }
    const LabelColumn& column = nodes.label_column(held.key);
    ASSERT_EQ(Copy(counts->of_domains(column)),
              CountPlainly(nodes, held.selector, held.scope, column).of_domains);
    for (int changes = random.Between(1, 3); changes > 0; --changes) cluster.Change();
    for (size_t i = 0; i < all.size(); ++i) {
      if (random.Percent(60)) continue;
      SCOPED_TRACE(absl::StrCat("counts ", i));
      ASSERT_NO_FATAL_FAILURE(Check(nodes, all[i], followed));
    }
  }
  EXPECT_GT(followed, kSteps) << "nodes come and go too often to see counts being followed";
}

TEST(ScopedCounts, EqualAFullEvaluation) {
  const auto run_one = [](uint64_t seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_TEST_SEED=", seed));
    Random random(seed);
    CountAlong(random);
  };
  if (const char* seed = std::getenv("BERTH_TEST_SEED")) {
    return run_one(std::strtoull(seed, nullptr, 10));
  }
  for (uint64_t seed = 1; seed <= kHistories && !::testing::Test::HasFailure(); ++seed) {
    run_one(seed);
  }
}

// --- One thing at a time -------------------------------------------------------------------------

// Nodes, each a host with one more pod than the one before, from none; two hosts a zone.
class ScopedCountsOfHosts : public ::testing::TestWithParam<int> {
 protected:
  ScopedCountsOfHosts() {
    std::vector<const NodeInfo*> order;
    for (int i = 0; i < GetParam(); ++i) {
      std::vector<PodPtr> pods;
      for (int k = 0; k < i; ++k) {
        const std::string name = absl::StrCat("p", i, "-", k);
        pods.push_back(MakePod().Name(name).Uid(name).Namespace("default").Label("app", "a").Obj());
      }
      nodes_.push_back(std::make_unique<NodeInfo>(Node(i).Info(pods)));
      order.push_back(nodes_.back().get());
    }
    table_.SetOrder(order);
    table_.RefreshRow(Tainted(GetParam() - 1));  // or all nodes would be in the scope
  }

  static NodeBuilder Node(int i) {
    return MakeNode()
        .Name(absl::StrCat("n", i))
        .Label("host", absl::StrCat("n", i))
        .Label("zone", absl::StrCat("z", i / 2));
  }
  NodeRow Set(int i, const NodeBuilder& node) {
    nodes_[i]->SetSpec(node.Info().shared_spec());
    return i;
  }
  NodeRow Tainted(int i) { return Set(i, Node(i).Taint("t", "", TaintEffect::kNoSchedule)); }
  std::shared_ptr<const PodCounts> Count() const {
    return table_.pods().Count(App("a"), {.tolerations = std::vector<Toleration>()});
  }

  std::vector<std::unique_ptr<NodeInfo>> nodes_;
  NodeTable table_;
};

TEST_P(ScopedCountsOfHosts, ATaintTakesANodeOut) {
  const LabelColumn& hosts = table_.label_column(Host());
  const LabelColumn& zones = table_.label_column(Zone());
  const auto counts = Count();
  const int64_t total = counts->total();
  EXPECT_EQ(counts->minimum(hosts).domains, GetParam() - 1);
  EXPECT_EQ(counts->minimum(hosts).pods, 0);
  EXPECT_EQ(counts->minimum(zones).pods, 1);
  EXPECT_TRUE(DomainCounts(Host(), hosts, counts).HasNodes(hosts.index(0)));

  table_.RefreshRow(Tainted(0));
  EXPECT_EQ(Count(), counts) << "it was counted along";
  EXPECT_EQ(counts->minimum(hosts).domains, GetParam() - 2);
  EXPECT_EQ(counts->minimum(hosts).pods, 1);
  EXPECT_EQ(counts->minimum(hosts).next, 2);
  EXPECT_EQ(counts->minimum(zones).pods, 1) << "the other host of the zone counts";
  EXPECT_FALSE(DomainCounts(Host(), hosts, counts).HasNodes(hosts.index(0)));
  EXPECT_TRUE(DomainCounts(Zone(), zones, counts).HasNodes(zones.index(0)));

  table_.RefreshRow(Tainted(1));
  EXPECT_EQ(counts->total(), total - 1);
  EXPECT_EQ(counts->of_rows()[1], 0);
  EXPECT_EQ(counts->minimum(hosts).pods, 2);
  EXPECT_EQ(counts->minimum(zones).pods, 5);
  EXPECT_FALSE(DomainCounts(Zone(), zones, counts).HasNodes(zones.index(0)));

  table_.RefreshRow(Set(1, Node(1)));
  EXPECT_EQ(counts->total(), total);
  EXPECT_EQ(counts->minimum(hosts).pods, 1);
  EXPECT_EQ(counts->minimum(zones).pods, 1);
}

TEST_P(ScopedCountsOfHosts, AnObjectThatSaysTheSameChangesNothing) {
  const LabelColumn& hosts = table_.label_column(Host());
  const auto counts = Count();
  const PodCounts::Version before = counts->version(hosts);
  for (int i = 0; i < GetParam() - 1; ++i) table_.RefreshRow(Set(i, Node(i).Annotation("x", "y")));
  ASSERT_TRUE(counts->ChangesSince(hosts, before).has_value());
  EXPECT_TRUE(counts->ChangesSince(hosts, before)->empty());
}

// With few domains all are looked at, of many it is kept how many have how many pods.
INSTANTIATE_TEST_SUITE_P(, ScopedCountsOfHosts, ::testing::Values(10, 100));

}  // namespace
}  // namespace berth
