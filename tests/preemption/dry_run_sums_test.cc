// SPDX-License-Identifier: Apache-2.0
// A dry run by sums finds what one finds that copies the node and runs the filters.
#include "preemption/dry_run_sums.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/preemption/preemption.h"
#include "gtest/gtest.h"
#include "tests/plugins/random_cluster.h"
#include "tests/preemption/small_cluster.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using testing::PodPtr;
using testing::Random;
using testing::SmallCluster;

PodBuilder RandomPod(Random& random, const std::string& name) {
  PodBuilder pod = MakePod().Name(name).Priority(random.Below(4));
  if (random.Percent(90)) pod.Request("cpu", absl::StrCat(random.Between(1, 4)));
  if (random.Percent(50)) pod.Request("memory", absl::StrCat(random.Between(1, 4), "Gi"));
  if (random.Percent(30)) pod.Request("example.com/gpu", absl::StrCat(random.Between(1, 2)));
  return pod;
}

void Fill(Random& random, SmallCluster& cluster) {
  cluster.Add(MakeNode()
                  .Name("n")
                  .Capacity("cpu", absl::StrCat(random.Between(4, 20)))
                  .Capacity("memory", absl::StrCat(random.Between(4, 20), "Gi"))
                  .Capacity("example.com/gpu", absl::StrCat(random.Below(5)))
                  .Capacity("pods", absl::StrCat(random.Between(3, 12))));
  for (int i = random.Below(12); i > 0; --i) {
    cluster.Add(RandomPod(random, absl::StrCat("p", i))
                    .NodeName("n")
                    .Started(absl::FromUnixSeconds(random.Below(5))));
  }
  for (int i = random.Below(3); i > 0; --i) {
    cluster.Nominate(RandomPod(random, absl::StrCat("nominated", i)), "n");
  }
}

std::string Text(const Status& status, const PreemptionCandidate& candidate) {
  std::string text = status.ToString();
  for (const PodPtr& victim : candidate.victims) absl::StrAppend(&text, " ", victim->name());
  return absl::StrCat(text, " ", candidate.pdb_violations);
}

// The node of a run, its pods in any order.
std::string Text(const NodeInfo& node) {
  std::vector<std::string> names;
  for (const PodPtr& pod : node.pods()) names.emplace_back(pod->name());
  std::sort(names.begin(), names.end());
  return absl::StrCat(absl::StrJoin(names, " "), "; ", node.requested().Get(kCpu));
}

std::unique_ptr<DryRunSums> SumsOf(SmallCluster& cluster, const CycleState& state,
                                   const PodInfo& pod) {
  Handle& handle = cluster;
  const auto need = handle.resource_needs()->FindNeededResources(state, pod);
  return DryRunSums::Make(cluster, *need, state, pod, cluster.FindNode("n"));
}

// Two runs of one preemptor on a random node, one of them by sums.
struct TwoRuns {
  explicit TwoRuns(Random& random) {
    Fill(random, cluster);
    pod = RandomPod(random, "preemptor").Obj();
    plain.emplace(cluster, state, *pod, node());
    by_sums.emplace(cluster, state, *pod, node());
    std::unique_ptr<DryRunSums> sums = SumsOf(cluster, state, *pod);
    EXPECT_NE(sums, nullptr);
    UseSums(*by_sums, std::move(sums));
  }
  const NodeInfo& node() { return cluster.FindNode("n"); }

  SmallCluster cluster;
  PodPtr pod;
  const CycleState state;
  std::optional<DryRun> plain, by_sums;
};

TEST(DryRunSums, FindTheVictimsThatFiltersFind) {
  int with_victims = 0, without = 0;
  for (int seed = 1; seed <= 3000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    TwoRuns runs(random);
    PriorityPreemptionRules rules(runs.cluster, 100, 1);
    PreemptionCandidate expected, found;
    const Status expected_status = rules.SelectVictims(*runs.plain, DisruptionBudgets(), expected);
    const int filtered = runs.cluster.filter_calls;
    const Status status = rules.SelectVictims(*runs.by_sums, DisruptionBudgets(), found);
    ASSERT_EQ(Text(status, found), Text(expected_status, expected));
    EXPECT_EQ(Text(runs.by_sums->node()), Text(runs.plain->node()));
    if (status.ok()) {
      EXPECT_EQ(runs.cluster.filter_calls, filtered) << "a filter was run";
    }
    ++(status.ok() ? with_victims : without);
  }
  EXPECT_GT(with_victims, 300);
  EXPECT_GT(without, 300);
}

// Rules of one's own may take pods off and put them back in any order, and other pods, too.
TEST(DryRunSums, FollowWhateverRulesDo) {
  int fits = 0, other_pods = 0;
  for (int seed = 1; seed <= 1000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    TwoRuns runs(random);
    DryRun &plain = *runs.plain, &by_sums = *runs.by_sums;
    const NodeInfo& node = runs.node();
    std::vector<PodPtr> there(node.pods().begin(), node.pods().end()), gone;
    const bool restless = random.Percent(20);
    for (int step = 0; step < 30; ++step) {
      if (restless && random.Percent(10)) {
        gone.push_back(RandomPod(random, absl::StrCat("other", step)).Obj());
        ++other_pods;
      }
      std::vector<PodPtr>& from = random.Percent(60) ? there : gone;
      if (!from.empty()) {
        const bool away = &from == &there;
        const size_t i = random.Below(static_cast<int>(from.size()));
        const PodPtr moved = from[i];
        from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
        (away ? gone : there).push_back(moved);
        const Status expected = away ? plain.Remove(*moved) : plain.Add(moved);
        const Status status = away ? by_sums.Remove(*moved) : by_sums.Add(moved);
        ASSERT_EQ(status.ToString(), expected.ToString());
      }
      ASSERT_EQ(by_sums.Fits(), plain.Fits());
      ASSERT_EQ(by_sums.Filter().ToString(), plain.Filter().ToString());
      ASSERT_EQ(Text(by_sums.node()), Text(plain.node()));
      fits += plain.Fits() ? 1 : 0;
    }
  }
  EXPECT_GT(fits, 1000);
  EXPECT_GT(other_pods, 100);
}

TEST(DryRunSums, DoNotTellWhereAFilterLooksAtPodsOrAmountsMayOverflow) {
  const CycleState state;
  const PodPtr pod = MakePod().Name("preemptor").Priority(9).Request("cpu", "1").Obj();
  SmallCluster cluster;
  cluster.Add(MakeNode().Name("n").Capacity("cpu", "2").Capacity("pods", "10"));
  EXPECT_NE(SumsOf(cluster, state, *pod), nullptr);
  const PodPtr huge = MakePod().Name("huge").Priority(9).Request("cpu", "8e15").Obj();
  EXPECT_EQ(SumsOf(cluster, state, *huge), nullptr);
  cluster.Also(
      [](const CycleState&, const PodInfo&, const NodeInfo&) { return Status::Success(); });
  EXPECT_EQ(SumsOf(cluster, state, *pod), nullptr);
}

}  // namespace
}  // namespace berth
