// SPDX-License-Identifier: Apache-2.0
// Quotas in a tree over random histories: the books are right after every step, a guarantee is
// there when it is claimed, victims are no more than needed, and who was evicted evicts nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/quota/taking.h"
#include "plugins/capacity_scheduling/capacity_scheduling.h"
#include "plugins/capacity_scheduling/tree_victims.h"
#include "tests/preemption/small_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::Plan;
using ::berth::testing::PlanFor;
using ::berth::testing::PodBuilder;
using ::berth::testing::PodPtr;
using ::berth::testing::SmallCluster;

constexpr absl::string_view kGpu = "example.com/gpu";
constexpr int kNodes = 4, kGpusOfNode = 4;

class TreeHistory {
 public:
  explicit TreeHistory(uint32_t seed) : random_(seed), plugin_(cluster_) {
    for (int n = 0; n < kNodes; ++n) {
      cluster_.Add(MakeNode()
                       .Name(absl::StrCat("n", n))
                       .Capacity("cpu", "64")
                       .Capacity(kGpu, absl::StrCat(kGpusOfNode)));
    }
    cluster_.Observe(plugin_);
    cluster_.Extend(plugin_);
  }

  int Upto(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n + 1)); }

  // ns0 and ns1 are teams of one department, ns2 and ns3 of another, ns4 stands alone. What is
  // promised adds up at every level, and the nodes have it.
  void SetPromises() {
    int left = kNodes * kGpusOfNode;
    for (int team = 0; team < 5; ++team) {
      min_[team] = std::min(left, Upto(5));
      left -= min_[team];
    }
    SetQuota("d0", "", "", min_[0] + min_[1]);
    SetQuota("d1", "", "", min_[2] + min_[3]);
    for (int team = 0; team < 5; ++team) {
      SetQuota(absl::StrCat("t", team), team == 4 ? "" : absl::StrCat("d", team / 2),
               absl::StrCat("ns", team), min_[team]);
    }
  }
  void SetQuota(absl::string_view name, absl::string_view parent, absl::string_view of, int min) {
    cluster_.AddYaml(absl::StrCat(
        "apiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\nmetadata: {name: ", name,
        ", creationTimestamp: '2026-01-01T00:00:00Z', uid: ", name, "}\nspec: {",
        parent.empty() ? "" : absl::StrCat("parent: ", parent, ", "),
        of.empty() ? "" : absl::StrCat("namespaces: [", of, "], "), "min: {", kGpu, ": ", min,
        "}}\n"));
  }

  PodBuilder APod(int team, int gpus, int priority = 0) {
    PodBuilder pod = MakePod();
    pod.Name(absl::StrCat("p", ++pods_)).Namespace(absl::StrCat("ns", team));
    pod.Request(kGpu, absl::StrCat(gpus)).Request("cpu", "1").Priority(priority);
    return pod;
  }

  // What the pod's cycle comes to; executes its plan, and places the pod if it fits then.
  struct Outcome {
    bool placed = false;
    std::vector<PodPtr> victims;
    std::string why;
  };
  Outcome Submit(PodBuilder pod) {
    Outcome outcome;
    const PodPtr waiting = pod.Obj();
    plugin_.OnPodPending(*waiting);
    const Plan plan = PlanFor(cluster_, plugin_, *waiting, &plugin_);
    outcome.victims = plan.result.victims;
    outcome.why = absl::StrCat(plan.pre_filter.message(), " / ", plan.post_filter.message());
    const std::vector<PodPtr> needed = NeededByTheRules(*waiting, outcome.victims);
    for (const PodPtr& victim : outcome.victims) cluster_.Unassign(*victim);
    ExpectNoneToSpare(*waiting, plan, needed);
    const std::string node = NodeFor(*waiting);
    if (!node.empty()) cluster_.Add(pod.NodeName(node));
    outcome.placed = !node.empty();
    if (!outcome.placed) plugin_.OnPodGone(*waiting);
    EXPECT_TRUE(outcome.placed || outcome.victims.empty()) << "evicted for nothing";
    for (const PodPtr& victim : outcome.victims) plugin_.OnPodGone(*victim);
    return outcome;
  }

  bool Admits(CycleState& state, const PodInfo& pod) {
    PreFilterResult narrowed;
    const Status status = plugin_.PreFilter(state, pod, cluster_.nodes(), narrowed);
    return status.ok() || status.IsSkip();
  }

  // The first node on which the pod may run as things are; empty: none.
  std::string NodeFor(const PodInfo& pod) {
    CycleState state;
    if (!Admits(state, pod)) return "";
    for (NodeRow row = 0; row < cluster_.nodes().size(); ++row) {
      const NodeInfo& node = cluster_.nodes().node(row);
      if (cluster_.RunFilterPlugins(state, pod, node).ok()) return std::string(node.name().view());
    }
    return "";
  }

  // Victims without which the rules would not allow that the others go, whatever their order.
  std::vector<PodPtr> NeededByTheRules(const PodInfo& pod, const std::vector<PodPtr>& victims) {
    std::vector<PodPtr> needed;
    if (victims.size() > 6) return needed;
    QuotaTree tree = plugin_.book().tree();
    for (const PodPtr& spared : victims) {
      std::vector<PodPtr> others = victims;
      others.erase(std::find(others.begin(), others.end(), spared));
      if (!MayAllGo(pod, others, tree)) needed.push_back(spared);
    }
    return needed;
  }
  bool MayAllGo(const PodInfo& pod, const std::vector<PodPtr>& pods, QuotaTree& tree) {
    if (pods.empty()) return true;
    for (size_t i = 0; i < pods.size(); ++i) {
      if (!MayGo(pod, *pods[i], tree)) continue;
      std::vector<PodPtr> others = pods;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const QuotaCharge& charge = *plugin_.book().FindCharge(*pods[i]->identity());
      tree.Release(charge.quota, charge.amounts);
      const bool may = MayAllGo(pod, others, tree);
      tree.Charge(charge.quota, charge.amounts);
      if (may) return true;
    }
    return false;
  }
  bool MayGo(const PodInfo& pod, const PodInfo& victim, const QuotaTree& tree) {
    const QuotaBook& book = plugin_.book();
    const absl::Time now = cluster_.clock().Now();
    const QuotaCharge& charge = *book.FindCharge(*victim.identity());
    return TakingRule(tree, now)
        .MayTake(
            {*book.QuotaOf(pod), book.ChargeOf(pod, nullptr), pod.priority(), pod.creation_time()},
            {charge.quota, charge.amounts, victim.priority(), victim.creation_time(), now})
        .ok();
  }

  // Whether some of the running pods could go, one after the other as the rules allow it then, so
  // that the pod runs. Plain: tries all sets of them.
  bool CouldRun(const PodInfo& pod) {
    CycleState state;
    PreFilterResult narrowed;
    plugin_.PreFilter(state, pod, cluster_.nodes(), narrowed);  // reads the quotas
    const QuotaBook& book = plugin_.book();
    QuotaTree tree = book.tree();
    const std::vector<PodPtr> running = Running();
    std::set<std::vector<bool>> seen;
    const std::function<bool(const std::vector<bool>&)> from = [&](const std::vector<bool>& gone) {
      if (!seen.insert(gone).second) return false;
      const bool has_room =
          !tree.FindShortage(*book.QuotaOf(pod), book.ChargeOf(pod, nullptr)).has_value();
      if (has_room && Fits(pod, running, gone)) return true;
      for (size_t i = 0; i < running.size(); ++i) {
        if (gone[i]) continue;
        const QuotaCharge& charge = *book.FindCharge(*running[i]->identity());
        if (!MayGo(pod, *running[i], tree)) continue;
        std::vector<bool> more = gone;
        more[i] = true;
        tree.Release(charge.quota, charge.amounts);
        const bool runs = from(more);
        tree.Charge(charge.quota, charge.amounts);
        if (runs) return true;
      }
      return false;
    };
    return from(std::vector<bool>(running.size(), false));
  }
  bool Fits(const PodInfo& pod, const std::vector<PodPtr>& running, const std::vector<bool>& gone) {
    for (NodeRow row = 0; row < cluster_.nodes().size(); ++row) {
      const NodeInfo& node = cluster_.nodes().node(row);
      int64_t used = 0;
      for (size_t i = 0; i < running.size(); ++i) {
        if (!gone[i] && running[i]->node_name() == node.name().view()) used += GpusOf(*running[i]);
      }
      if (used + GpusOf(pod) <= kGpusOfNode) return true;
    }
    return false;
  }
  static int64_t GpusOf(const PodInfo& pod) { return pod.requests().Get(ResourceIdOf(kGpu)); }

  // With any one victim back the pod would not run where it is to.
  void ExpectNoneToSpare(const PodInfo& pod, const Plan& plan, const std::vector<PodPtr>& needed) {
    for (const PodPtr& victim : plan.result.victims) {
      if (std::find(needed.begin(), needed.end(), victim) != needed.end()) continue;
      cluster_.Assign(victim);
      CycleState state;
      const bool runs = Admits(state, pod) &&
                        cluster_.RunFilterPlugins(state, pod, cluster_.FindNode(plan.node())).ok();
      EXPECT_FALSE(runs) << victim->name() << " need not have gone";
      cluster_.Unassign(*victim);
    }
  }

  std::vector<PodPtr> Running() {
    std::vector<PodPtr> pods;
    for (NodeRow row = 0; row < cluster_.nodes().size(); ++row) {
      const auto on_node = cluster_.nodes().node(row).pods();
      pods.insert(pods.end(), on_node.begin(), on_node.end());
    }
    return pods;
  }
  int Used(int team) {
    int used = 0;
    for (const PodPtr& pod : Running()) {
      if (pod->namespace_name().view() == absl::StrCat("ns", team)) {
        used += static_cast<int>(pod->requests().Get(ResourceIdOf(kGpu)));
      }
    }
    return used;
  }
  void ExpectExactBooks() {
    CycleState state;
    PreFilterResult narrowed;
    plugin_.PreFilter(state, *APod(0, 1).Obj(), cluster_.nodes(), narrowed);  // reads the quotas
    const QuotaTree& tree = plugin_.book().tree();
    ASSERT_TRUE(tree.IsConsistent());
    for (int team = 0; team < 5; ++team) {
      const auto quota = tree.Find(absl::StrCat("t", team));
      if (!quota.has_value()) continue;
      ASSERT_TRUE(tree.used(*quota, 0) == Used(team)) << "team " << team;
      ASSERT_EQ(plugin_.book().ChargesOf(*quota).empty(), Used(team) == 0);
    }
    ExpectVersionTellsOfChanges();
  }
  // What is worked out of the tree's figures is kept as long as the version is the same.
  void ExpectVersionTellsOfChanges() {
    const QuotaTree& tree = plugin_.book().tree();
    std::vector<__int128> figures;
    for (QuotaId quota = 0; quota < tree.size(); ++quota) {
      for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
        figures.insert(figures.end(),
                       {tree.own(quota, line), tree.used(quota, line), tree.wanted(quota, line),
                        tree.guarantee(quota, line), tree.most(quota, line)});
      }
    }
    EXPECT_EQ(plugin_.book().what_ifs(), 0);
    if (figures != figures_) {
      EXPECT_NE(plugin_.book().version(), version_);
    }
    figures_ = std::move(figures);
    version_ = plugin_.book().version();
  }
  void RemoveOne() {
    const std::vector<PodPtr> running = Running();
    if (running.empty()) return;
    const PodPtr& gone = running[Upto(static_cast<int>(running.size()) - 1)];
    cluster_.Unassign(*gone);
    plugin_.OnPodGone(*gone);
  }
  int min(int team) const { return min_.at(team); }
  SmallCluster& cluster() { return cluster_; }
  const QuotaBook& book() {
    CycleState state;
    Admits(state, *APod(0, 1).Obj());  // reads the quotas
    return plugin_.book();
  }
  std::string Describe(const PodInfo& asks) {
    std::string text = absl::StrCat(asks.key(), " asks for ", GpusOf(asks), " GPUs, priority ",
                                    asks.priority(), "\n");
    for (const auto& [team, min] : min_) absl::StrAppend(&text, "t", team, " min ", min, "\n");
    for (const PodPtr& pod : Running()) {
      absl::StrAppend(&text, pod->key(), " on ", pod->node_name(), ": ", GpusOf(*pod),
                      " GPUs, priority ", pod->priority(), "\n");
    }
    return text;
  }

 private:
  std::mt19937 random_;
  SmallCluster cluster_;
  CapacityScheduling plugin_;
  std::map<int, int> min_;
  int pods_ = 0;
  std::vector<__int128> figures_;  // as of that version
  uint64_t version_ = 0;
};

TEST(QuotaInTree, AGuaranteeIsThereWhenItIsClaimed) {
  int evictions = 0;
  for (const uint32_t seed : testing::Seeds(40)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    TreeHistory history(seed);
    history.SetPromises();
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      if (history.Upto(9) == 0) history.SetPromises();
      if (history.Upto(3) == 0) {
        history.RemoveOne();
      } else {
        const int team = history.Upto(4);
        const bool promised = history.Used(team) + 1 <= history.min(team);
        const auto outcome = history.Submit(history.APod(team, 1));
        EXPECT_TRUE(outcome.placed || !promised) << outcome.why;
        evictions += static_cast<int>(outcome.victims.size());
        // An evicted pod may evict others that borrow, but never in turns.
        std::vector<PodPtr> evicted = outcome.victims;
        for (size_t next = 0; next < evicted.size(); ++next) {
          const int of = evicted[next]->namespace_name().view().back() - '0';
          EXPECT_GE(history.Used(of), history.min(of)) << "what was guaranteed was taken";
          const auto again = history.Submit(history.APod(of, 1));
          evicted.insert(evicted.end(), again.victims.begin(), again.victims.end());
          ASSERT_LT(evicted.size(), 20u) << "they evict each other";
        }
      }
      history.ExpectExactBooks();
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(evictions, 50);
}

TEST(QuotaInTree, LargePodsAndPrioritiesEvictNoMoreThanTheyNeed) {
  int evictions = 0;
  for (const uint32_t seed : testing::Seeds(40)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    TreeHistory history(seed);
    history.SetPromises();
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      if (history.Upto(9) == 0) history.SetPromises();
      if (history.Upto(3) == 0) {
        history.RemoveOne();
      } else {
        const auto outcome =
            history.Submit(history.APod(history.Upto(4), 1 + history.Upto(3), history.Upto(2)));
        evictions += static_cast<int>(outcome.victims.size());
      }
      history.ExpectExactBooks();
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(evictions, 50);
}

// Whatever set of evictions the rules allow, one after the other: if it makes room for a pod, some
// such set is found; and it is found only then.
TEST(QuotaInTree, EvictsWheneverThatIsAllowedAndHelps) {
  int could = 0, could_not = 0, evicting = 0;
  for (const uint32_t seed : testing::Seeds(100)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    TreeHistory history(seed);
    const int most_important = seed % 2 == 0 ? 0 : 2;
    history.SetPromises();
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      if (history.Upto(9) == 0) history.SetPromises();
      if (history.Upto(3) == 0) {
        history.RemoveOne();
        continue;
      }
      const PodBuilder pod =
          history.APod(history.Upto(4), 1 + history.Upto(3), history.Upto(most_important));
      const PodPtr asks = PodBuilder(pod).Obj();
      const bool allowed = history.CouldRun(*asks);
      const std::string before = history.Describe(*asks);
      const auto outcome = history.Submit(pod);
      EXPECT_TRUE(allowed || !outcome.placed) << before;
      EXPECT_TRUE(outcome.placed || !allowed) << outcome.why << "\n" << before;
      (allowed ? could : could_not) += 1;
      evicting += static_cast<int>(!outcome.victims.empty());
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(could, 1000);
  EXPECT_GT(could_not, 500);
  EXPECT_GT(evicting, 200);
}

// Many pods wait for who leaves already: for these nobody works out who else might go.
TEST(QuotaInTree, APlanThatOnlyWaitsAsksNoQuotaForVictims) {
  TreeHistory history(1);
  history.SetPromises();
  int asked = 0;
  TreeVictims victims(history.book(), history.cluster(), [&] {
    ++asked;
    return std::vector<QuotaId>{1, 2};
  });
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(victims.MostRequested(ResourceIdOf(kGpu)), 0);
  EXPECT_EQ(victims.At(0), -1);
  EXPECT_TRUE(victims.OnRow(0).empty());
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace berth
