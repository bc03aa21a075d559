// SPDX-License-Identifier: Apache-2.0
// Preemption spares groups: one that would end goes only where no other pod makes room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/incremental/preemption_hints.h"
#include "berth/preemption/preemption.h"
#include "group/group_index.h"
#include "group/group_victims.h"
#include "tests/preemption/small_cluster.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;

std::optional<std::string> GroupByLabel(const PodInfo& pod) {
  const Symbol* const group = pod.labels().Find("gang");
  return group == nullptr ? std::nullopt : std::optional(absl::StrCat("default/", group->view()));
}

// Pods on nodes, some of them in groups that need `min_member` members.
struct ClusterWithGroups {
  explicit ClusterWithGroups(int min_member_of_groups) : min_member(min_member_of_groups) {
    cluster.SetGroups(groups);
  }
  void AddNode(int node) {
    cluster.Add(MakeNode().Name(absl::StrCat("n", node)).Capacity("cpu", "4"));
  }
  // Without a gang it is on its own.
  PodPtr AddPod(absl::string_view name, int node, int priority, absl::string_view gang = "") {
    PodBuilder pod = MakePod();
    pod.Name(name).NodeName(absl::StrCat("n", node)).Priority(priority).Request("cpu", "2");
    pod.Started(absl::UnixEpoch() + absl::Hours(24));
    if (!gang.empty()) pod.Label("gang", gang);
    PodPtr made = pod.Obj();
    groups.SetPod(made);
    cluster.Assign(made);
    return made;
  }
  void Remove(const PodPtr& pod) {
    groups.RemovePod(*pod->identity());
    cluster.Unassign(*pod);
  }
  ListedStatuses StatusesFor(const PodInfo& pod) const {
    std::vector<Status> statuses;
    for (NodeRow row = 0; row < cluster.nodes().size(); ++row) {
      Status status =
          cluster.RunFilterPluginsWithNominatedPods(CycleState(), pod, cluster.nodes().node(row));
      if (status.ok()) status = Status::UnschedulableAndUnresolvable("kept off");
      statuses.push_back(std::move(status));
    }
    return ListedStatuses(std::move(statuses));
  }

  int min_member;
  GroupIndex groups{GroupByLabel,
                    [this](const PodInfo&, absl::string_view) -> std::optional<GroupSpec> {
                      GroupSpec spec;
                      spec.min_member = min_member;
                      return spec;
                    },
                    [](const PodInfo&, std::string&) {}};
  mutable SmallCluster cluster;
};

std::vector<std::string> Names(const std::vector<PodPtr>& pods) {
  std::vector<std::string> names;
  for (const PodPtr& pod : pods) names.emplace_back(pod->name());
  return names;
}

PodPtr Preemptor() { return MakePod().Name("p").Priority(9).Request("cpu", "2").Obj(); }

// The best candidates of every node are members of gangs; there are better ones for people. The
// search for these comes to the same when it stops: first to read nodes, then between dry runs.
TEST(SparedGroupsTest, ASearchThatStopsComesToTheSame) {
  constexpr int kNodes = 40;
  ClusterWithGroups with(2);
  for (int i = 0; i < kNodes; ++i) {
    with.AddNode(i);
    with.AddPod(absl::StrCat("member", i), i, 0, absl::StrCat("g", i / 2));
    with.AddPod(absl::StrCat("alone", i), i, i == 30 ? 1 : 2);
  }
  const PodPtr pod = Preemptor();
  const ListedStatuses statuses = with.StatusesFor(*pod);
  PriorityPreemptionRules rules(with.cluster, 100, 0);
  Preemption preemption(with.cluster);
  for (int again = 0; again < 2; ++again) {
    for (const int64_t steps : {1, 0}) {
      int stops = 0;
      PostFilterResult result;
      for (bool yielded = true; yielded;) {
        result = {};
        CycleState state;
        state.SetWorkBudget(WorkBudget(steps));
        const Status status = preemption.Run(rules, state, *pod, statuses, result);
        yielded = state.work_budget().yielded();
        stops += yielded;
        EXPECT_EQ(status.ok(), !yielded) << status.ToString();
      }
      EXPECT_THAT(Names(result.victims), ElementsAre("alone30"));
      EXPECT_EQ(stops > 0, steps == 1);
    }
  }
}

// Whatever happens while a search has stopped, it ends as one that looks at everything now.
TEST(SparedGroupsTest, AStoppedSearchSeesWhatChanged) {
  int spared = 0, stops = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto upto = [&](int n) { return static_cast<int>(random() % (n + 1)); };
    ClusterWithGroups with(1 + upto(2));
    std::vector<PodPtr> pods;
    const int nodes = 4 + upto(12);
    int made = 0;
    const auto add = [&](int node) {
      const std::string gang = upto(2) > 0 ? absl::StrCat("g", upto(nodes / 2)) : "";
      pods.push_back(with.AddPod(absl::StrCat("p", ++made), node, upto(3), gang));
    };
    for (int node = 0; node < nodes; ++node) {
      with.AddNode(node);
      add(node);
      add(node);
    }
    Preemption by_steps(with.cluster), at_once(with.cluster);
    PriorityPreemptionRules rules(with.cluster, 100, 0);
    const PodPtr pod = Preemptor();
    for (int attempt = 0; attempt < 10; ++attempt) {
      PostFilterResult result;
      Status status;
      for (bool yielded = true; yielded;) {
        if (upto(3) == 0) {  // a pod comes to a node with room, or goes
          const int position = upto(static_cast<int>(pods.size()) - 1);
          const int node = upto(nodes - 1);
          if (with.cluster.FindNode(absl::StrCat("n", node)).pods().size() < 2) {
            add(node);
          } else {
            with.Remove(pods[position]);
            pods.erase(pods.begin() + position);
          }
        } else if (upto(20) == 0) {  // what a group needs
          with.min_member = 1 + upto(2);
          with.cluster.AddYaml(absl::StrCat(
              "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: x, "
              "namespace: default}, spec: {minMember: ",
              with.min_member, "}}"));
        }
        result = {};
        CycleState state;
        state.SetWorkBudget(WorkBudget(1 + upto(20)));
        status = by_steps.Run(rules, state, *pod, with.StatusesFor(*pod), result);
        yielded = state.work_budget().yielded();
        stops += yielded;
      }
      CycleState full;
      full.SetFullEvaluation();
      PostFilterResult expected;
      const Status want = at_once.Run(rules, full, *pod, with.StatusesFor(*pod), expected);
      ASSERT_EQ(status.ToString(), want.ToString()) << attempt;
      ASSERT_EQ(result.nominated_node, expected.nominated_node) << attempt;
      ASSERT_EQ(Names(result.victims), Names(expected.victims)) << attempt;
      spared +=
          !result.victims.empty() && !GroupVictims(with.groups).EvictionsEndGroup(result.victims);
    }
  }
  EXPECT_GT(spared, 100);
  EXPECT_GT(stops, 100);
}

// As DefaultPreemption.
class RulesWithHints final : public PriorityPreemptionRules, public PreemptionHints {
 public:
  using PriorityPreemptionRules::PriorityPreemptionRules;
  Victims PossibleVictims(const CycleState&, const PodInfo&) const override {
    return Victims::kAllLowerPriority;
  }
  bool FirstVictimHasHighestPriority() const override { return true; }
};

// A group has the highest of its pods' priorities, on whatever nodes these are.
TEST(SparedGroupsTest, NoGroupEndsForAPodThatIsNotMoreImportant) {
  int ended = 0, kept = 0;
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto upto = [&](int n) { return static_cast<int>(random() % (n + 1)); };
    ClusterWithGroups with(1 + upto(2));
    const int nodes = 2 + upto(6);
    int made = 0;
    for (int node = 0; node < nodes; ++node) {
      with.AddNode(node);
      for (int i = 0; i < 2; ++i) {
        const std::string gang = upto(9) > 0 ? absl::StrCat("g", upto(nodes - 1)) : "";
        with.AddPod(absl::StrCat("p", ++made), node, upto(3), gang);
      }
    }
    const PodPtr pod = MakePod().Name("p").Priority(1 + upto(3)).Request("cpu", "2").Obj();
    Preemption pruned(with.cluster), full(with.cluster);
    RulesWithHints rules(with.cluster, 100, 0);
    PostFilterResult result, expected;
    const Status status = pruned.Run(rules, CycleState(), *pod, with.StatusesFor(*pod), result);
    CycleState state;
    state.SetFullEvaluation();
    const Status want = full.Run(rules, state, *pod, with.StatusesFor(*pod), expected);
    ASSERT_EQ(status.ToString(), want.ToString());
    ASSERT_EQ(result.nominated_node, expected.nominated_node);
    ASSERT_EQ(Names(result.victims), Names(expected.victims));
    for (const PodPtr& victim : result.victims) {
      EXPECT_LT(victim->priority(), pod->priority()) << victim->name();
    }
    ended += GroupVictims(with.groups).EvictionsEndGroup(result.victims);
    kept += absl::StrContains(status.message(), "would end");
  }
  EXPECT_GT(ended, 50);
  EXPECT_GT(kept, 5);
}

}  // namespace
}  // namespace berth::testing
