// SPDX-License-Identifier: Apache-2.0
// What is known of topology domains from one cycle to another, in random histories: it is what a
// look at all of them finds. BERTH_TEST_SEED repeats one history.
#include "evaluation/incremental/domain_tracker.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/columns/pod_counts.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::NodeBuilder;
using ::berth::testing::Random;

constexpr int kHistories = 20;
constexpr int kSteps = 200;
constexpr int kNodes = 100;

// Nodes with pods of two kinds, counted. Some lack a label or get another one.
class Cluster {
 public:
  explicit Cluster(Random& random) : random_(random) {
    nodes_.reserve(kNodes);
    std::vector<const NodeInfo*> order;
    for (int i = 0; i < kNodes; ++i) order.push_back(&nodes_.emplace_back(RandomNode(i).Info()));
    table_.SetOrder(std::move(order));
    slots_.row_of_slot.resize(kNodes);
    std::iota(slots_.row_of_slot.begin(), slots_.row_of_slot.end(), 0);
    slots_.rows = kNodes;
    slots_.order_version = table_.order_version();
    for (auto& kind : kinds_)
      kind = {std::make_shared<PodCounts>(slots_), std::vector<int>(kNodes)};
  }

  // Pods come to some nodes and go from some.
  void ChangePods() {
    for (int changes = random_.Below(random_.Percent(10) ? 60 : 5); changes > 0; --changes) {
      const int row = random_.Below(kNodes);
      Kind& kind = kinds_[random_.Below(2)];
      int& pods = kind.on_node[row];
      const int few = random_.Below(4), many = random_.Below(3000);
      const int now = random_.Percent(5) ? many : few;
      kind.counts->Add(row, now - pods);
      pods = now;
    }
  }
  void Relabel() {
    const int row = random_.Below(kNodes);
    // The pods of a node that is another one now are counted again.
    for (Kind& kind : kinds_) kind.counts->Add(row, -kind.on_node[row]);
    nodes_[row].SetSpec(RandomNode(row).Info().shared_spec());
    table_.RefreshRow(row);
    for (Kind& kind : kinds_) kind.counts->Add(row, kind.on_node[row]);
  }

  const NodeTable& table() const { return table_; }
  const std::shared_ptr<PodCounts>& counts(int kind) const { return kinds_[kind].counts; }
  const LabelColumn& column(Symbol key) const { return table_.label_column(key); }

 private:
  NodeBuilder RandomNode(int i) {
    const std::string name = absl::StrCat("n", i);
    NodeBuilder node = MakeNode().Name(name);
    if (!random_.Percent(5))
      node.Label("host", random_.Percent(80) ? name : absl::StrCat(name, "b"));
    if (!random_.Percent(5)) node.Label("zone", absl::StrCat("z", random_.Below(4)));
    return node;
  }

  struct Kind {
    std::shared_ptr<PodCounts> counts;
    std::vector<int> on_node;  // pods
  };
  Random& random_;
  std::vector<NodeInfo> nodes_;
  NodeTable table_;
  NodeSlots slots_;
  Kind kinds_[2];
};

void ForEachHistory(void (*run)(Random&)) {
  const auto run_one = [&](uint64_t seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_TEST_SEED=", seed));
    Random random(seed);
    run(random);
  };
  if (const char* seed = std::getenv("BERTH_TEST_SEED")) {
    return run_one(std::strtoull(seed, nullptr, 10));
  }
  for (uint64_t seed = 1; seed <= kHistories && !::testing::Test::HasFailure(); ++seed) {
    run_one(seed);
  }
}

Symbol Host() { return Symbol::Intern("host"); }
Symbol Zone() { return Symbol::Intern("zone"); }

// --- PodCounts -----------------------------------------------------------------------------------

MinimumPods PlainMinimum(const LabelColumn& column, absl::Span<const int64_t> counts) {
  std::vector<int64_t> all;
  for (uint32_t domain = 0; domain < counts.size(); ++domain) {
    const bool is_domain = column.values()[domain].present && column.row_count(domain) > 0;
    if (is_domain) all.push_back(counts[domain]);
  }
  std::sort(all.begin(), all.end());
  MinimumPods minimum;
  minimum.domains = static_cast<int64_t>(all.size());
  if (all.empty()) return minimum;
  minimum.pods = all.front();
  const auto next = std::upper_bound(all.begin(), all.end(), minimum.pods);
  minimum.with_minimum = next - all.begin();
  if (next != all.end()) minimum.next = *next;
  return minimum;
}

void CountAlong(Random& random) {
  Cluster cluster(random);
  const PodCounts& pods = *cluster.counts(0);
  struct Known {
    Symbol key;
    std::vector<int64_t> counts;
    PodCounts::Version version;
    int followed = 0;
  };
  Known known[] = {{Host()}, {Zone()}};
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    cluster.ChangePods();
    if (random.Percent(10)) cluster.Relabel();
    if (random.Percent(20)) continue;  // looks from time to time
    for (Known& before : known) {
      const LabelColumn& column = cluster.column(before.key);
      const auto changes = pods.ChangesSince(column, before.version);
      const absl::Span<const int64_t> now = pods.of_domains(column);
      if (changes.has_value()) {
        ++before.followed;
        ASSERT_LE(changes->size(), 64 + now.size() / 8) << "reading all takes no longer";
        for (const auto& [domain, row] : *changes) {
          ASSERT_EQ(column.index(row), domain);
          before.counts[domain] = now[domain];
        }
        ASSERT_EQ(absl::MakeConstSpan(before.counts), now);
      }
      before.counts.assign(now.begin(), now.end());
      before.version = pods.version(column);
      ASSERT_TRUE(pods.ChangesSince(column, before.version)->empty());
      const MinimumPods minimum = pods.minimum(column), plain = PlainMinimum(column, now);
      ASSERT_EQ(minimum.domains, plain.domains);
      ASSERT_EQ(minimum.pods, plain.pods);
      ASSERT_EQ(minimum.with_minimum, plain.with_minimum);
      ASSERT_EQ(minimum.next, plain.next);
    }
  }
  for (const Known& each : known) EXPECT_GT(each.followed, kSteps / 4) << each.key;
}

TEST(PodCounts, TellsWhatChangedAndWhereTheyAreTheFewest) { ForEachHistory(CountAlong); }

TEST(PodCounts, HostsThatAllHaveVeryManyPods) {
  Random random(1);
  Cluster cluster(random);
  PodCounts& pods = *cluster.counts(0);
  const LabelColumn& column = cluster.column(Host());
  for (int row = 0; row < kNodes; ++row) pods.Add(row, 5'000 + row % 3);
  const MinimumPods minimum = pods.minimum(column);
  const MinimumPods plain = PlainMinimum(column, pods.of_domains(column));
  EXPECT_EQ(minimum.pods, 5'000);
  EXPECT_EQ(minimum.with_minimum, plain.with_minimum);
  EXPECT_EQ(minimum.next, 5'001);
}

// --- DomainTracker -----------------------------------------------------------------------------

DomainThreshold RandomSays(Random& random) {
  return {.max_pods = random.Below(3),
          .above_max = static_cast<uint8_t>(random.Below(3)),
          .up_to_max = static_cast<uint8_t>(random.Below(2)),
          .without_key = static_cast<uint8_t>(random.Below(3))};
}

// What a rule says of each row; all zeros if there are fewer rules.
std::vector<int64_t> SaidOfRows(const std::vector<TrackedThreshold>& rules, size_t i,
                                const NodeTable& nodes) {
  std::vector<int64_t> says(nodes.size());
  if (i >= rules.size()) return says;
  for (NodeRow row = 0; row < nodes.size(); ++row) says[row] = rules[i].OfRow(row);
  return says;
}

void CatchUpWithRules(Random& random) {
  Cluster cluster(random);
  const NodeTable& nodes = cluster.table();
  DomainTracker followed;
  std::vector<TrackedThreshold> rules;
  std::vector<std::vector<int64_t>> before(3, std::vector<int64_t>(kNodes));
  uint64_t last_version = nodes.version();
  int known = 0;
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    cluster.ChangePods();
    if (random.Percent(10)) cluster.Relabel();
    const std::vector<DomainThreshold> same = [&] {
      std::vector<DomainThreshold> says;
      for (const auto& rule : rules) says.push_back(rule.answer);
      return says;
    }();
    rules.clear();
    const size_t size = random.Percent(80) ? same.size() : random.Below(4);
    for (size_t i = 0; i < size; ++i) {
      const Symbol key = i == 1 ? Zone() : Host();
      const LabelColumn& column = cluster.column(key);
      const std::shared_ptr<PodCounts>& pods = cluster.counts(random.Percent(95) ? i % 2 : 0);
      const auto all = pods->of_domains(column);
      const bool own = random.Percent(5);
      DomainCounts counts = own ? DomainCounts(key, column, {all.begin(), all.end()})
                                : DomainCounts(key, column, pods);
      const DomainThreshold says =
          i < same.size() && random.Percent(80) ? same[i] : RandomSays(random);
      rules.push_back({std::move(counts), says, random.Percent(97) ? 0 : 1});
    }
    std::set<NodeRow> marked;
    const bool is_known = followed.CatchUp(rules, nodes, [&](NodeRow row) { marked.insert(row); });
    if (!is_known) followed.Keep(rules);
    known += is_known;
    // Callers know of these anyway.
    const auto changes = nodes.ChangesSince(last_version);
    ASSERT_TRUE(changes.has_value());
    for (const RowChange& change : *changes) marked.insert(change.row);
    last_version = nodes.version();
    for (size_t i = 0; i < before.size(); ++i) {
      std::vector<int64_t> now = SaidOfRows(rules, i, nodes);
      for (NodeRow row = 0; row < kNodes && is_known; ++row) {
        ASSERT_TRUE(now[row] == before[i][row] || marked.contains(row)) << i << ", row " << row;
      }
      before[i] = std::move(now);
    }
  }
  EXPECT_GT(known, kSteps / 4);
}

TEST(DomainTracker, MarkRowsWhoseDomainVerdictChanged) { ForEachHistory(CatchUpWithRules); }

// It costs what changed: that is why they are followed.
TEST(DomainTracker, MarkNoOthers) {
  Random random(1);
  Cluster cluster(random);
  const NodeTable& nodes = cluster.table();
  DomainTracker followed;
  bool is_known = true;
  const auto follow = [&] {
    std::vector<NodeRow> marked;
    const LabelColumn& column = cluster.column(Host());
    std::vector<TrackedThreshold> rules = {
        {DomainCounts(Host(), column, cluster.counts(0)), {.max_pods = 1, .above_max = 2}}};
    is_known = followed.CatchUp(rules, nodes, [&](NodeRow row) { marked.push_back(row); });
    if (!is_known) followed.Keep(rules);
    return marked;
  };
  const auto lonely = [&](NodeRow row) {
    const LabelColumn& column = cluster.column(Host());
    return column.values()[column.index(row)].present;
  };
  EXPECT_TRUE(follow().empty());
  EXPECT_FALSE(is_known) << "these rules are new";
  NodeRow row = 0;
  while (!lonely(row)) ++row;
  cluster.counts(0)->Add(row, 1);
  EXPECT_TRUE(follow().empty());  // not crowded yet
  EXPECT_TRUE(is_known);
  cluster.counts(0)->Add(row, 1);
  EXPECT_EQ(follow(), std::vector<NodeRow>{row});
  cluster.counts(0)->Add(row, 7);
  EXPECT_TRUE(follow().empty());
  cluster.counts(0)->Add(row, -8);
  EXPECT_EQ(follow(), std::vector<NodeRow>{row});
}

// What a plugin adds to counts before it gives them away is in no journal.
TEST(DomainTracker, CountsToWhichSomethingWasAddedAreCompared) {
  Random random(1);
  Cluster cluster(random);
  DomainTracker followed;
  const LabelColumn& column = cluster.column(Host());
  int marked = 0;
  const auto follow = [&](int added) {
    TrackedThreshold rule{DomainCounts(Host(), column, cluster.counts(0)), {.above_max = 2}};
    for (uint32_t domain = 1; domain <= 5; ++domain) rule.counts.Add(domain, added);
    marked = 0;
    if (!followed.CatchUp({rule}, cluster.table(), [&](NodeRow) { ++marked; })) {
      followed.Keep({rule});
    }
  };
  follow(1);
  EXPECT_EQ(marked, 0) << "these rules are new";
  follow(0);
  EXPECT_GT(marked, 0);
  follow(0);
  EXPECT_EQ(marked, 0);
}

}  // namespace
}  // namespace berth
