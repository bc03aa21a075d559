// SPDX-License-Identifier: Apache-2.0
// The parts of berth/preemption/preemption.h: the search, the choice, budgets and reprieves.
#include "berth/preemption/preemption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "berth/incremental/preemption_hints.h"
#include "preemption/candidate_scores.h"
#include "tests/preemption/small_cluster.h"

namespace berth {
namespace {

using ::berth::testing::ListedStatuses;
using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::NodeBuilder;
using ::berth::testing::PodBuilder;
using ::berth::testing::PodPtr;
using ::berth::testing::SmallCluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

absl::Time Day(int day) { return absl::UnixEpoch() + absl::Hours(24 * day); }

std::vector<std::string> Names(const std::vector<PodPtr>& pods) {
  std::vector<std::string> names;
  for (const PodPtr& pod : pods) names.emplace_back(pod->name());
  return names;
}

PodBuilder Victim(absl::string_view name, int32_t priority, absl::Time start) {
  return MakePod().Name(name).Priority(priority).Started(start);
}

// --- Importance ---

TEST(MoreImportantPodTest, PriorityThenAge) {
  const PodPtr high = Victim("high", 2, Day(9)).Obj();
  const PodPtr old = Victim("old", 1, Day(1)).Obj();
  const PodPtr young = Victim("young", 1, Day(2)).Obj();
  const PodPtr waiting = MakePod().Name("waiting").Priority(1).Obj();
  EXPECT_TRUE(MoreImportantPod(*high, *old));
  EXPECT_FALSE(MoreImportantPod(*old, *high));
  EXPECT_TRUE(MoreImportantPod(*old, *young));
  EXPECT_FALSE(MoreImportantPod(*young, *old));
  EXPECT_TRUE(MoreImportantPod(*young, *waiting)) << "a pod that has not started is the youngest";
  EXPECT_FALSE(MoreImportantPod(*waiting, *young));
  EXPECT_FALSE(MoreImportantPod(*waiting, *waiting));
}

// --- Budgets ---

DisruptionBudget Budget(const LabelSet& labels, int64_t allowed,
                        absl::flat_hash_set<std::string> disrupted_pods = {}) {
  return {LabelSelector::FromLabels(labels), allowed, std::move(disrupted_pods)};
}

TEST(DisruptionBudgetsTest, FindsThoseOfAPod) {
  DisruptionBudgets budgets;
  const PodPtr web = MakePod().Name("w").Label("app", "web").Label("tier", "front").Obj();
  EXPECT_TRUE(budgets.empty());
  EXPECT_FALSE(budgets.Protect(*web));
  budgets.Set("default", "web", Budget({{"app", "web"}}, 0));
  budgets.Set("default", "front", Budget({{"tier", "front"}}, 1));
  budgets.Set("default", "db", Budget({{"app", "db"}}, 0));
  budgets.Set("other", "web", Budget({{"app", "web"}}, 0));
  const auto* const of_web = budgets.Find("default", "web");
  EXPECT_THAT(budgets.Of(*web), UnorderedElementsAre(of_web, budgets.Find("default", "front")));
  EXPECT_THAT(budgets.Of(*MakePod().Name("bare").Obj()), IsEmpty());
  EXPECT_TRUE(budgets.Protect(*web));
  budgets.Set("default", "web", Budget({{"app", "web"}}, 0, {"w"}));
  EXPECT_FALSE(budgets.Protect(*web)) << "it is counted already";
  budgets.Set("default", "web", Budget({{"app", "web"}}, 1));
  EXPECT_FALSE(budgets.Protect(*web));
  EXPECT_TRUE(budgets.AnyExhausted());
  budgets.Set("default", "db", Budget({{"app", "web"}}, 0));
  EXPECT_TRUE(budgets.Protect(*web)) << "it selects others now";
  budgets.Set("default", "db", std::nullopt);
  EXPECT_FALSE(budgets.Protect(*web));
  budgets.Set("other", "web", std::nullopt);
  EXPECT_FALSE(budgets.AnyExhausted());
  EXPECT_EQ(budgets.Of(*web).size(), 2u);
}

TEST(DisruptionBudgetsTest, APlanSpendsThem) {
  DisruptionBudgets budgets;
  budgets.Set("default", "web", Budget({{"app", "web"}}, 1, {"counted"}));
  const PodBuilder web = MakePod().Label("app", "web");
  const PodPtr counted = PodBuilder(web).Name("counted").Obj();
  const PodPtr first = PodBuilder(web).Name("first").Obj();
  const PodPtr second = PodBuilder(web).Name("second").Obj();
  EXPECT_FALSE(budgets.Spend(*counted)) << "the API server has";
  EXPECT_FALSE(budgets.Spend(*MakePod().Name("bare").Obj()));
  EXPECT_FALSE(budgets.AnyExhausted());
  EXPECT_TRUE(budgets.Spend(*first));
  EXPECT_FALSE(budgets.Spend(*first)) << "once";
  EXPECT_TRUE(budgets.AnyExhausted());
  EXPECT_FALSE(budgets.Protect(*first));
  EXPECT_TRUE(budgets.Protect(*second));
  const std::vector<PodPtr> pods = {counted, first, second};
  EXPECT_THAT(Names(SplitByBudget(pods, budgets).violating), ElementsAre("second"));
  EXPECT_TRUE(budgets.Spend(*second)) << "violating it";
  budgets.GiveBack(*first);
  EXPECT_TRUE(budgets.AnyExhausted());
  EXPECT_TRUE(budgets.Protect(*first));
  budgets.GiveBack(*second);
  EXPECT_FALSE(budgets.AnyExhausted());
  EXPECT_THAT(Names(SplitByBudget(pods, budgets).violating), ElementsAre("second"));
}

TEST(SplitByBudgetTest, CountsEachBudgetDown) {
  DisruptionBudgets budgets;
  budgets.Set("default", "web", Budget({{"app", "web"}}, 1, {"processed"}));
  budgets.Set("default", "front", Budget({{"tier", "front"}}, 0));
  budgets.Set("other", "db", Budget({{"app", "db"}}, 0));
  const PodBuilder web = MakePod().Label("app", "web");
  const std::vector<PodPtr> pods = {
      PodBuilder(web).Name("processed").Obj(),
      PodBuilder(web).Name("first").Obj(),
      MakePod().Name("unlabelled").Obj(),
      PodBuilder(web).Name("second").Obj(),
      MakePod().Name("front").Label("tier", "front").Obj(),
      MakePod().Name("db").Label("app", "db").Obj(),
      MakePod().Name("other-db").Namespace("other").Label("app", "db").Obj(),
      PodBuilder(web).Name("other-web").Namespace("other").Obj(),
  };
  const PodsByBudget split = SplitByBudget(pods, budgets);
  EXPECT_THAT(Names(split.violating), ElementsAre("second", "front", "other-db"));
  EXPECT_THAT(Names(split.non_violating),
              ElementsAre("processed", "first", "unlabelled", "db", "other-web"));
}

TEST(SplitByBudgetTest, APodUnderTwoBudgetsCountsForBoth) {
  DisruptionBudgets budgets;
  budgets.Set("default", "a", Budget({{"a", "1"}}, 1));
  budgets.Set("default", "b", Budget({{"b", "1"}}, 1));
  const std::vector<PodPtr> pods = {MakePod().Name("both").Label("a", "1").Label("b", "1").Obj(),
                                    MakePod().Name("a").Label("a", "1").Obj(),
                                    MakePod().Name("b").Label("b", "1").Obj()};
  EXPECT_THAT(Names(SplitByBudget(pods, budgets).violating), ElementsAre("a", "b"));
}

TEST(PreemptionTest, ReadsABudgetAnewOnlyWhenItChanges) {
  SmallCluster cluster;
  cluster.AddYaml(R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {selector: {matchLabels: {app: web}}}
status: {disruptionsAllowed: 2, disruptedPods: {gone: "2026-01-01T00:00:00Z"}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all, namespace: default}
spec: {selector: {}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: none, namespace: default}
)");
  Preemption preemption(cluster);
  const DisruptionBudgets& budgets = preemption.budgets();
  const DisruptionBudget* const web = budgets.Find("default", "web");
  ASSERT_NE(web, nullptr);
  EXPECT_EQ(web->disruptions_allowed, 2);
  EXPECT_TRUE(web->disrupted_pods.contains("gone"));
  for (const char* const name : {"all", "none"}) {
    EXPECT_EQ(budgets.Find("default", name), nullptr)
        << "empty and absent selectors protect nobody";
  }
  cluster.object_store().Remove(Kind::kPodDisruptionBudget, "default/all");
  EXPECT_EQ(preemption.budgets().Find("default", "web"), web);

  cluster.object_store().Remove(Kind::kPodDisruptionBudget, "default/web");
  EXPECT_TRUE(preemption.budgets().empty());
}

// --- The choice ---

PreemptionCandidate Candidate(absl::string_view node, const std::vector<PodBuilder>& victims,
                              int pdb_violations = 0) {
  PreemptionCandidate candidate;
  candidate.node = std::string(node);
  candidate.pdb_violations = pdb_violations;
  for (const PodBuilder& victim : victims) candidate.victims.push_back(victim.Obj());
  return candidate;
}

std::vector<int> BestByDefault(const std::vector<PreemptionCandidate>& candidates) {
  std::vector<ScoredCandidatePtr> scored;
  for (const PreemptionCandidate& candidate : candidates) {
    scored.push_back(
        std::make_shared<ScoredCandidate>(ScoredCandidate{candidate, DefaultScoresOf(candidate)}));
  }
  return BestOf(scored);
}

TEST(BestCandidatesTest, CriteriaInOrder) {
  constexpr int32_t kLow = 0, kMid = 100, kHigh = 1000;
  struct Case {
    absl::string_view name;
    std::vector<PreemptionCandidate> candidates;
    std::vector<int> want;
  };
  const std::vector<Case> cases = {
      {"nothing to choose from", {}, {}},
      {"one", {Candidate("a", {Victim("v", kHigh, Day(1))}, 3)}, {0}},
      {"fewest violations beat everything",
       {Candidate("a", {Victim("v", kLow, Day(1))}, 1),
        Candidate("b", {Victim("v", kHigh, Day(1)), Victim("w", kHigh, Day(1))}, 0)},
       {1}},
      {"lowest highest priority",
       {Candidate("a", {Victim("v", kHigh, Day(1))}),
        Candidate("b", {Victim("v", kMid, Day(1)), Victim("w", kMid, Day(1))})},
       {1}},
      {"lowest sum",
       {Candidate("a", {Victim("v", kMid, Day(1)), Victim("w", kMid, Day(1))}),
        Candidate("b", {Victim("v", kMid, Day(1)), Victim("w", kLow, Day(1))})},
       {1}},
      {"few victims of negative priority beat many",
       {Candidate("a", {Victim("v", -5, Day(1)), Victim("w", -5, Day(1))}),
        Candidate("b", {Victim("v", -5, Day(1))})},
       {1}},
      {"the latest start",
       {Candidate("a", {Victim("v", kMid, Day(1))}), Candidate("b", {Victim("v", kMid, Day(3))}),
        Candidate("c", {Victim("v", kMid, Day(2))})},
       {1}},
      {"the start of the most important victims only, the earliest of them",
       {Candidate(
            "a", {Victim("v", kMid, Day(2)), Victim("w", kMid, Day(9)), Victim("x", kLow, Day(1))}),
        Candidate("b", {Victim("v", kMid, Day(3)), Victim("w", kMid, Day(3)),
                        Victim("x", kLow, Day(1))})},
       {1}},
      {"a pod that has not started is the youngest",
       {Candidate("a", {Victim("v", kMid, Day(3))}), Candidate("b", {MakePod().Priority(kMid)})},
       {1}},
      {"a tie is all of them, in order",
       {Candidate("a", {Victim("v", kHigh, Day(1))}), Candidate("b", {Victim("v", kMid, Day(1))}),
        Candidate("c", {Victim("v", kMid, Day(1))})},
       {1, 2}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(BestByDefault(c.candidates), c.want) << c.name;
  }
}

TEST(BestCandidatesTest, TheSumNeedsMoreThan32Bits) {
  std::vector<PodBuilder> many;
  for (int i = 0; i < 5; ++i) many.push_back(Victim("v", 2000000000, Day(1)));
  const std::vector<PodBuilder> few(many.begin(), many.begin() + 2);
  EXPECT_THAT(BestByDefault({Candidate("a", many), Candidate("b", few)}), ElementsAre(1));
}

// --- Rules with hooks ---

NodeBuilder Node(absl::string_view name, absl::string_view cpu) {
  return MakeNode().Name(name).Capacity("cpu", cpu);
}
PodBuilder On(absl::string_view node, absl::string_view name, int32_t priority,
              absl::string_view cpu, int start_day = 1) {
  return MakePod()
      .Name(name)
      .NodeName(node)
      .Priority(priority)
      .Request("cpu", cpu)
      .Started(Day(start_day));
}

// Runs rules over a cluster in which the pod fits nowhere, as an explanation does; expects that the
// pruned search, which leaves out what cannot be chosen, comes to the same, and so does the full
// one, unless the rules want too few candidates for that.
struct Outcome {
  Status status;
  PostFilterResult result;
  size_t scored_to_choose = 0;  // candidates, by the pruned search
};
enum class InFullToo { kYes, kNo };
Outcome Preempt(SmallCluster& cluster, PreemptionRules& rules, const PodInfo& pod,
                InFullToo in_full_too = InFullToo::kYes) {
  std::vector<Status> statuses;
  for (NodeRow row = 0; row < cluster.nodes().size(); ++row) {
    statuses.push_back(
        cluster.RunFilterPluginsWithNominatedPods(CycleState(), pod, cluster.nodes().node(row)));
  }
  Outcome outcome;
  CycleState state;
  state.SetForExplanation();
  outcome.status =
      Preemption(cluster).Run(rules, state, pod, ListedStatuses(statuses), outcome.result);
  PostFilterResult chosen;
  const Status status =
      Preemption(cluster).Run(rules, CycleState(), pod, ListedStatuses(statuses), chosen);
  EXPECT_EQ(status.ToString(), outcome.status.ToString());
  EXPECT_EQ(chosen.nominated_node, outcome.result.nominated_node);
  EXPECT_EQ(Names(chosen.victims), Names(outcome.result.victims));
  EXPECT_EQ(chosen.retry_at, outcome.result.retry_at);
  outcome.scored_to_choose = chosen.candidates.size();
  if (in_full_too == InFullToo::kNo) return outcome;
  CycleState full_evaluation;
  full_evaluation.SetFullEvaluation();
  PostFilterResult full;
  const Status full_status =
      Preemption(cluster).Run(rules, full_evaluation, pod, ListedStatuses(statuses), full);
  EXPECT_EQ(full_status.ToString(), outcome.status.ToString());
  EXPECT_EQ(full.nominated_node, outcome.result.nominated_node);
  EXPECT_EQ(Names(full.victims), Names(outcome.result.victims));
  EXPECT_EQ(full.retry_at, outcome.result.retry_at);
  EXPECT_EQ(full.EquallyGoodNodes(), outcome.result.EquallyGoodNodes());
  return outcome;
}

class KeepDatabases final : public PriorityPreemptionRules {
 public:
  using PriorityPreemptionRules::PriorityPreemptionRules;
  absl::StatusOr<bool> MayEvict(const NodeInfo&, const PodInfo& victim, const PodInfo&) override {
    return !victim.labels().Has(Symbol::Intern("database"));
  }
  // The youngest is the most important.
  bool MoreImportant(const PodInfo& a, const PodInfo& b) const override {
    return *a.start_time() > *b.start_time();
  }
  // The more victims the better.
  std::vector<CandidateScore> OrderedScores() const override {
    return {[](const PreemptionCandidate& c) { return static_cast<int64_t>(c.victims.size()); }};
  }
};

TEST(PriorityPreemptionRulesTest, HooksReplaceTheRules) {
  SmallCluster cluster;
  cluster.Add(Node("a", "3"))
      .Add(On("a", "db", 0, "1").Label("database", ""))
      .Add(On("a", "old", 0, "1", 1))
      .Add(On("a", "young", 0, "1", 2));
  const PodPtr pod = MakePod().Priority(10).Request("cpu", "1").Obj();
  KeepDatabases rules(cluster, 100, 0);
  Outcome outcome = Preempt(cluster, rules, *pod);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  EXPECT_THAT(Names(outcome.result.victims), ElementsAre("old"));

  cluster.Add(Node("b", "1")).Add(On("b", "x", 0, "500m")).Add(On("b", "y", 0, "500m"));
  outcome = Preempt(cluster, rules, *pod);
  EXPECT_EQ(outcome.result.nominated_node, "b");
  EXPECT_THAT(Names(outcome.result.victims), ElementsAre("x", "y"));
}

TEST(PriorityPreemptionRulesTest, Range) {
  SmallCluster cluster;
  cluster.next_random = 107;
  struct Case {
    int64_t percentage, absolute;
    int nodes, want_candidates;
  };
  for (const Case& c : std::vector<Case>{{10, 100, 50, 50},
                                         {10, 100, 500, 100},
                                         {10, 100, 5000, 500},
                                         {100, 0, 7, 7},
                                         {10, 0, 5, 1}}) {
    PriorityPreemptionRules rules(cluster, c.percentage, c.absolute);
    const PreemptionRules::SearchRange range = rules.Range(c.nodes);
    EXPECT_EQ(range.candidates, c.want_candidates) << c.nodes;
    EXPECT_EQ(range.offset, c.want_candidates == c.nodes ? 0 : 107 % c.nodes) << c.nodes;
  }
}

// Rules of which the search knows nothing: neither what candidates come to, nor who may go.
class UnknownRules : public PriorityPreemptionRules {
 public:
  using PriorityPreemptionRules::PriorityPreemptionRules;
  std::vector<CandidateScore> OrderedScores() const override { return DefaultCandidateScores(); }
};

TEST(PreemptionTest, WithScoresOfTheirOwnRulesStopAtEnoughCandidatesFromTheOffset) {
  SmallCluster cluster;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    cluster.Add(Node(name, "1")).Add(On(name, absl::StrCat("on-", name), 0, "1"));
  }
  cluster.next_random = 3;
  UnknownRules rules(cluster, 40, 0);
  const Outcome outcome = Preempt(cluster, rules, *MakePod().Priority(1).Request("cpu", "1").Obj());
  ASSERT_EQ(outcome.result.candidates.size(), 2u);
  EXPECT_EQ(outcome.result.candidates[0]->node, "d");
  EXPECT_EQ(outcome.result.candidates[1]->node, "e");
  EXPECT_EQ(outcome.result.nominated_node, "d");
  EXPECT_THAT(outcome.result.EquallyGoodNodes(), ElementsAre("d", "e"));
}

TEST(PreemptionTest, OfAllNodesThePromisingOnesAreTheCandidatesThatAreWanted) {
  SmallCluster cluster;
  const char* const kNames[] = {"a", "b", "c", "d", "e"};
  for (int i = 0; i < 5; ++i) {
    const std::string pod = absl::StrCat("on-", kNames[i]);
    cluster.Add(Node(kNames[i], "1")).Add(On(kNames[i], pod, 0, "1", i == 2 || i == 4 ? 9 : i));
  }
  cluster.next_random = 3;
  PriorityPreemptionRules rules(cluster, 40, 0);
  const PodPtr pod = MakePod().Priority(1).Request("cpu", "1").Obj();
  const Outcome outcome = Preempt(cluster, rules, *pod, InFullToo::kNo);
  ASSERT_EQ(outcome.result.candidates.size(), 2u);
  EXPECT_EQ(outcome.result.nominated_node, "c") << "the latest start, wherever the search begins";
  EXPECT_THAT(outcome.result.EquallyGoodNodes(), ElementsAre("c", "e"));
  EXPECT_EQ(outcome.scored_to_choose, 1u);
}

// As DefaultPreemption has them.
class DefaultRules : public PriorityPreemptionRules, public PreemptionHints {
 public:
  using PriorityPreemptionRules::PriorityPreemptionRules;
  Victims PossibleVictims(const CycleState&, const PodInfo&) const override {
    return Victims::kAllLowerPriority;
  }
  bool FirstVictimHasHighestPriority() const override { return true; }
};

// Rules that hint at nothing.
class NoHints : public PriorityPreemptionRules, public PreemptionHints {
 public:
  using PriorityPreemptionRules::PriorityPreemptionRules;
};

// Pods that leave come last, whatever their priority, as with CapacityScheduling.
template <class Rules>
class LeavingLast : public Rules {
 public:
  using Rules::Rules;
  bool MoreImportant(const PodInfo& a, const PodInfo& b) const override {
    const bool a_leaves = a.deletion_time().has_value(), b_leaves = b.deletion_time().has_value();
    return a_leaves != b_leaves ? b_leaves : MoreImportantPod(a, b);
  }
};

TEST(PreemptionTest, TheFirstVictimNeedNotHaveTheHighestPriority) {
  SmallCluster cluster;
  cluster.Add(Node("a", "2")).Add(Node("b", "2"));
  cluster.Add(On("a", "low", 0, "1")).Add(On("a", "leaving", 5, "1").Deleted(Day(3)));
  cluster.Add(On("b", "middle", 3, "2"));
  LeavingLast<NoHints> rules(cluster, 10, 100);
  const Outcome outcome = Preempt(cluster, rules, *MakePod().Priority(9).Request("cpu", "2").Obj());
  EXPECT_EQ(outcome.result.nominated_node, "a");
  EXPECT_THAT(Names(outcome.result.victims), ElementsAre("low", "leaving"));
}

TEST(PreemptionTest, NodesThatNeedMoreVictimsComeLater) {
  SmallCluster cluster;
  // All of b's pods, of which two do, started before those of a, of which three are needed.
  cluster.Add(Node("a", "3")).Add(Node("b", "3")).Add(Node("c", "3"));
  for (int i = 0; i < 3; ++i) cluster.Add(On("a", absl::StrCat("a-", i), 0, "1", 9));
  for (int i = 0; i < 2; ++i) cluster.Add(On("b", absl::StrCat("b-", i), 0, "1500m", 1));
  for (int i = 0; i < 6; ++i) cluster.Add(On("c", absl::StrCat("c-", i), 0, "500m", 9));
  const PodPtr pod = MakePod().Priority(1).Request("cpu", "3").Obj();
  DefaultRules rules(cluster, 10, 100);
  Outcome outcome = Preempt(cluster, rules, *pod);
  EXPECT_EQ(outcome.result.nominated_node, "b");
  EXPECT_EQ(outcome.scored_to_choose, 1u);
  // So many are needed in whatever order they go.
  LeavingLast<NoHints> odd(cluster, 10, 100);
  outcome = Preempt(cluster, odd, *pod);
  EXPECT_EQ(outcome.result.nominated_node, "b");
  EXPECT_EQ(outcome.scored_to_choose, 1u);
}

TEST(PreemptionTest, OneLargePodOfAHigherPriorityMayGoFromWhereItNeedNot) {
  SmallCluster cluster;
  cluster.Add(Node("a", "9")).Add(Node("c", "5"));
  for (int i = 0; i < 5; ++i) cluster.Add(On("a", absl::StrCat("low-", i), 0, "1"));
  cluster.Add(On("a", "leaving", 1, "4").Deleted(Day(3)));
  for (const char* cpu : {"1", "2", "2"}) cluster.Add(On("c", absl::StrCat("c-", cpu), 0, cpu));
  LeavingLast<NoHints> rules(cluster, 10, 100);
  const Outcome outcome = Preempt(cluster, rules, *MakePod().Priority(9).Request("cpu", "5").Obj());
  EXPECT_EQ(outcome.result.nominated_node, "a");
  EXPECT_EQ(outcome.result.victims.size(), 2u);
}

TEST(PreemptionTest, NodesThatStayShortOfTheSameAreTriedOnce) {
  SmallCluster cluster;
  for (int i = 0; i < 20; ++i) {  // 500m of a CPU may be freed on each
    const std::string name = absl::StrCat("n", i);
    cluster.Add(Node(name, "1").Capacity("memory", i < 15 ? "8" : "1"))
        .Add(On(name, absl::StrCat("high-", name), 9, "500m").Request("memory", "1"))
        .Add(On(name, absl::StrCat("low-", name), 0, "500m"));
  }
  const PodPtr pod = MakePod().Priority(5).Request("cpu", "800m").Request("memory", "1").Obj();
  DefaultRules rules(cluster, 10, 100);
  const int before = cluster.filter_calls;
  Outcome outcome = Preempt(cluster, rules, *pod, InFullToo::kNo);
  EXPECT_EQ(outcome.status.message(),
            "0/20 nodes are available: 20 Insufficient cpu, 5 Insufficient memory.");
  EXPECT_EQ(cluster.filter_calls - before, 20 + 2 * 2) << "the test's own, and two searches";

  // What is nominated to a node counts there only.
  cluster.Nominate(MakePod().Name("nominated").Priority(7).Request("memory", "8"), "n3");
  outcome = Preempt(cluster, rules, *pod);
  EXPECT_EQ(outcome.status.message(),
            "0/20 nodes are available: 20 Insufficient cpu, 6 Insufficient memory.");
}

TEST(PreemptionTest, TriesTheHighestBoundFirst) {
  SmallCluster cluster;
  for (int i = 0; i < 30; ++i) {
    const std::string node = absl::StrCat("n", i);
    cluster.Add(Node(node, "1")).Add(On(node, absl::StrCat("on-", node), i == 7 ? 2 : 3, "1"));
  }
  DefaultRules rules(cluster, 10, 100);
  const PodPtr pod = MakePod().Priority(9).Request("cpu", "1").Obj();
  Outcome outcome = Preempt(cluster, rules, *pod);
  EXPECT_EQ(outcome.result.nominated_node, "n7") << "the lowest priority";
  EXPECT_EQ(outcome.result.candidates.size(), 30u);
  EXPECT_EQ(outcome.scored_to_choose, 1u);

  // Three nodes with a pod of priority 1: on one a pod of priority 8 has to go with it; of the
  // others the later start counts.
  cluster.Add(Node("both", "1"))
      .Add(On("both", "low", 1, "500m", 3))
      .Add(On("both", "high", 8, "500m", 3));
  cluster.Add(Node("old", "1")).Add(On("old", "on-old", 1, "1", 1));
  cluster.Add(Node("young", "1")).Add(On("young", "on-young", 1, "1", 2));
  outcome = Preempt(cluster, rules, *pod);
  EXPECT_EQ(outcome.result.nominated_node, "young");
  EXPECT_EQ(outcome.scored_to_choose, 1u) << "of \"both\", sums tell that the high one goes";
}

TEST(PreemptionTest, OfEquallyGoodNodesTheFirstIsChosen) {
  SmallCluster cluster;
  for (const char* name : {"a", "b", "c"}) cluster.Add(Node(name, "1"));
  // b and c can be better than a, and turn out to be as good.
  cluster.Add(On("a", "on-a", 3, "1", 1));
  for (const char* name : {"b", "c"}) {
    cluster.Add(On(name, absl::StrCat("large-", name), 3, "1", 1));
    cluster.Add(On(name, absl::StrCat("small-", name), 2, "0", 5));
  }
  PriorityPreemptionRules rules(cluster, 10, 100);
  const Outcome outcome = Preempt(cluster, rules, *MakePod().Priority(9).Request("cpu", "1").Obj());
  EXPECT_EQ(outcome.result.nominated_node, "a");
  EXPECT_THAT(outcome.result.EquallyGoodNodes(), ElementsAre("a", "b", "c"));
}

TEST(PreemptionTest, GoesOnWhileEveryCandidateViolatesABudget) {
  SmallCluster cluster;
  for (const char* name : {"a", "b", "c"}) {
    cluster.Add(Node(name, "1"))
        .Add(On(name, absl::StrCat("on-", name), 0, "1")
                 .Label("app", name[0] == 'c' ? "new" : "old"));
  }
  cluster.AddYaml(R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: old, namespace: default}
spec: {selector: {matchLabels: {app: old}}}
)");
  UnknownRules rules(cluster, 1, 0);
  const Outcome outcome = Preempt(cluster, rules, *MakePod().Priority(1).Request("cpu", "1").Obj());
  EXPECT_EQ(outcome.result.nominated_node, "c");
  ASSERT_EQ(outcome.result.candidates.size(), 2u) << "c, and as many others as were wanted";
  EXPECT_EQ(outcome.result.candidates[1]->node, "a");
  EXPECT_EQ(outcome.result.candidates[1]->pdb_violations, 1);
}

TEST(PreemptionTest, ExhaustedBudgetsAreKnownBeforeDryRuns) {
  SmallCluster cluster;
  cluster.AddYaml(R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: kept, namespace: default}
spec: {selector: {matchLabels: {app: kept}}}
status: {disruptionsAllowed: 0, disruptedPods: {counted: "2026-01-01T00:00:00Z"}}
)");
  // How many pods of the budget each node has, of three; all others are more important.
  const int kKept[] = {3, 2, 3, 1, 3};
  for (int n = 0; n < 5; ++n) {
    const std::string node = absl::StrCat("n", n);
    cluster.Add(Node(node, "3"));
    for (int i = 0; i < 3; ++i) {
      const bool is_kept = i < kKept[n];
      PodBuilder pod = On(node, absl::StrCat(node, "-", i), is_kept ? 0 : 1, "1");
      cluster.Add(is_kept ? pod.Label("app", "kept") : pod);
    }
  }
  DefaultRules rules(cluster, 10, 100);
  const PodPtr pod = MakePod().Priority(9).Request("cpu", "3").Obj();
  Outcome outcome = Preempt(cluster, rules, *pod);
  EXPECT_EQ(outcome.result.nominated_node, "n3");
  EXPECT_EQ(outcome.scored_to_choose, 1u);
  EXPECT_EQ(outcome.result.candidates.size(), 5u);

  // What the budget has counted already may go.
  cluster.Add(Node("n5", "3"));
  for (const char* name : {"counted", "n5-1", "n5-2"}) {
    cluster.Add(
        On("n5", name, name[0] == 'c' ? 0 : 1, "1").Label("app", name[0] == 'c' ? "kept" : ""));
  }
  outcome = Preempt(cluster, rules, *pod);
  EXPECT_EQ(outcome.result.nominated_node, "n5");
  EXPECT_EQ(outcome.scored_to_choose, 1u);
}

TEST(PreemptionTest, LooksAtNodesWithoutVictimsOnly) {
  SmallCluster cluster;
  cluster.Add(Node("a", "1")).Add(On("a", "equal", 5, "1"));
  PriorityPreemptionRules rules(cluster, 10, 100);
  const PodPtr pod = MakePod().Priority(5).Request("cpu", "1").Obj();
  const int before = cluster.filter_calls;
  const Outcome outcome = Preempt(cluster, rules, *pod);
  EXPECT_EQ(cluster.filter_calls, before + 1) << "only the test's own filtering";
  EXPECT_EQ(outcome.status.message(),
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.");
  EXPECT_EQ(outcome.result.nominated_node, "") << "clears the pod's nomination";
}

TEST(PreemptionTest, TextsAreCountedAndSortedAsStrings) {
  SmallCluster cluster;
  // Ten nodes without victims, one that is too small, two that stay full.
  for (int i = 0; i < 10; ++i) {
    const std::string name = absl::StrCat("full-", i);
    cluster.Add(Node(name, "1")).Add(On(name, name, 9, "1"));
  }
  cluster.Add(Node("tiny", "100m"));
  for (const char* name : {"x", "y"}) {
    cluster.Add(Node(name, "1"))
        .Add(On(name, absl::StrCat("high-", name), 9, "500m"))
        .Add(On(name, absl::StrCat("low-", name), 0, "500m"));
  }
  PriorityPreemptionRules rules(cluster, 10, 100);
  const Outcome outcome = Preempt(cluster, rules, *MakePod().Priority(5).Request("cpu", "1").Obj());
  EXPECT_EQ(outcome.status.code(), Code::kUnschedulable);
  EXPECT_EQ(outcome.status.message(),
            "0/13 nodes are available: 1 Preemption is not helpful for scheduling, "
            "10 No preemption victims found for incoming pod, 2 Insufficient cpu.");
}

TEST(PreemptionTest, ErrorsCountOnlyWithoutCandidates) {
  class Broken final : public PriorityPreemptionRules {
   public:
    using PriorityPreemptionRules::PriorityPreemptionRules;
    absl::StatusOr<bool> MayEvict(const NodeInfo& node, const PodInfo&, const PodInfo&) override {
      if (node.name().view() == "good") return true;
      return absl::InternalError(node.name().view() == "odd" ? "odd" : "broken");
    }
  };
  SmallCluster cluster;
  for (const char* name : {"a", "b", "odd"}) {
    cluster.Add(Node(name, "1")).Add(On(name, absl::StrCat("on-", name), 0, "1"));
  }
  Broken rules(cluster, 10, 100);
  const PodPtr pod = MakePod().Priority(1).Request("cpu", "1").Obj();
  Outcome outcome = Preempt(cluster, rules, *pod);
  EXPECT_TRUE(outcome.status.IsError());
  EXPECT_EQ(outcome.status.message(), "[broken, odd]");
  EXPECT_FALSE(outcome.result.nominated_node.has_value()) << "an error changes no nomination";

  cluster.Add(Node("good", "1")).Add(On("good", "victim", 0, "1"));
  outcome = Preempt(cluster, rules, *pod);
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.result.nominated_node, "good");
}

TEST(PreemptionTest, APodThatFitsAfterAllIsAnError) {
  SmallCluster cluster;
  cluster.Add(Node("a", "1")).Add(On("a", "low", 0, "500m"));
  PriorityPreemptionRules rules(cluster, 10, 100);
  PostFilterResult result;
  const Status status =
      Preemption(cluster).Run(rules, CycleState(), *MakePod().Priority(1).Obj(),
                              ListedStatuses({Status::Unschedulable("a lie")}), result);
  EXPECT_EQ(status.message(), "expected at least one victim pod on node \"a\"");
  EXPECT_TRUE(status.IsError());
}

// --- Searches that stop and go on ---

// Searches until it is done, with so many steps at once. Returns how often it stopped.
int SearchBitByBit(Preemption& preemption, PreemptionRules& rules, const PodInfo& pod,
                   const NodeStatuses& statuses, int64_t steps, Status& status,
                   PostFilterResult& result) {
  for (int stops = 0;; ++stops) {
    result = {};
    CycleState state;
    state.SetWorkBudget(WorkBudget(steps));
    status = preemption.Run(rules, state, pod, statuses, result);
    if (!state.work_budget().yielded()) return stops;
    EXPECT_EQ(status.code(), Code::kUnschedulable);
    EXPECT_TRUE(result.candidates.empty() && result.victims.empty());
  }
}

// --- Properties ---

// As Preempt() does for choosing, but a search that stops at every node. Adds up how often.
template <class Rules>
void ExpectTheSameBitByBit(SmallCluster& cluster, const PodInfo& pod, const Outcome& expected,
                           int& stops) {
  std::vector<Status> statuses;
  for (NodeRow row = 0; row < cluster.nodes().size(); ++row) {
    statuses.push_back(
        cluster.RunFilterPluginsWithNominatedPods(CycleState(), pod, cluster.nodes().node(row)));
  }
  Rules rules(cluster, 100, 0);
  Preemption preemption(cluster);
  for (int pods = 0; pods < 2; ++pods) {
    Status status;
    PostFilterResult result;
    stops += SearchBitByBit(preemption, rules, pod, ListedStatuses(statuses), 1, status, result);
    EXPECT_EQ(status.ToString(), expected.status.ToString());
    EXPECT_EQ(result.nominated_node, expected.result.nominated_node);
    EXPECT_EQ(Names(result.victims), Names(expected.result.victims));
  }
}

void ExpectSame(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.status.ToString(), b.status.ToString());
  EXPECT_EQ(a.result.nominated_node, b.result.nominated_node);
  EXPECT_EQ(Names(a.result.victims), Names(b.result.victims));
  EXPECT_EQ(a.result.EquallyGoodNodes(), b.result.EquallyGoodNodes());
}

// Random nodes full of pods, random budgets, a preemptor: whatever is planned must work, be
// allowed, and be needed.
TEST(PreemptionPropertyTest, VictimsMakeRoomAndNoneCouldStay) {
  int plans = 0, stops = 0;
  size_t scored_to_choose = 0;
  for (unsigned seed = 1; seed <= 1'000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto upto = [&](int n) { return static_cast<int>(random() % (n + 1)); };
    SmallCluster cluster;
    const int nodes = 1 + upto(4);
    const int priorities = upto(1) == 0 ? 4 : 9;
    const int most_cpu = upto(1) == 0 ? 4 : 2;
    for (int n = 0; n < nodes; ++n) {
      const std::string node = absl::StrCat("n", n);
      cluster.Add(Node(node, "8").Capacity("memory", "8").Pods(6));
      for (int p = upto(6); p > 0; --p) {
        // Every draw is a statement of its own: one seed, one cluster, whatever the compiler.
        const int priority = upto(priorities) - 2;
        const bool leaves = upto(4) == 0;  // and is the largest, sometimes
        const int cpu = leaves ? 1 + upto(4) : upto(most_cpu);
        const int start_day = upto(5);
        PodBuilder pod = MakePod();
        pod.Name(absl::StrCat(node, "-", p)).NodeName(node).Priority(priority);
        pod.Request("cpu", absl::StrCat(cpu));
        if (start_day > 0) pod.Started(Day(start_day));
        if (leaves) pod.Deleted(Day(9));
        pod.Request("memory", absl::StrCat(upto(4)));
        pod.Label("app", absl::StrCat(upto(2)));
        cluster.Add(pod);
      }
    }
    cluster.AddYaml(absl::StrCat(R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b, namespace: default}
spec: {selector: {matchLabels: {app: "1"}}}
status: {disruptionsAllowed: )",
                                 upto(2), "}\n"));
    if (upto(2) == 0) {
      cluster.Nominate(MakePod().Name("nominated").Priority(upto(4) - 2).Request("cpu", "2"), "n0");
    }
    PodBuilder preemptor = MakePod().Name("preemptor");
    preemptor.Priority(upto(priorities) - 2);
    preemptor.Request("cpu", absl::StrCat(1 + upto(7)));
    preemptor.Request("memory", absl::StrCat(upto(7)));
    const PodPtr pod = preemptor.Obj();
    DefaultRules rules(cluster, 100, 0);
    const Outcome outcome = Preempt(cluster, rules, *pod);
    // A search that knows nothing before it looks comes to the same.
    UnknownRules unknown(cluster, 100, 0);
    ExpectSame(Preempt(cluster, unknown, *pod), outcome);
    LeavingLast<NoHints> odd(cluster, 100, 0);
    LeavingLast<UnknownRules> unknown_odd(cluster, 100, 0);
    const Outcome odd_outcome = Preempt(cluster, odd, *pod);
    ExpectSame(Preempt(cluster, unknown_odd, *pod), odd_outcome);
    ExpectTheSameBitByBit<DefaultRules>(cluster, *pod, outcome, stops);
    ExpectTheSameBitByBit<LeavingLast<NoHints>>(cluster, *pod, odd_outcome, stops);
    const auto fits = [&](const NodeInfo& node) {
      return cluster.RunFilterPluginsWithNominatedPods(CycleState(), *pod, node).ok();
    };
    if (outcome.status.IsError()) {
      // The pod fits without any eviction on a node; nobody would have asked.
      bool fits_somewhere = false;
      for (NodeRow row = 0; row < cluster.nodes().size(); ++row) {
        fits_somewhere |= fits(cluster.nodes().node(row));
      }
      EXPECT_TRUE(fits_somewhere) << "seed " << seed << ": " << outcome.status.ToString();
      continue;
    }
    scored_to_choose += outcome.scored_to_choose;
    std::set<NodeRow> candidate_rows;
    for (const auto& weighed : outcome.result.candidates) {
      const PreemptionCandidate& candidate = *weighed;
      ++plans;
      candidate_rows.insert(candidate.row);
      NodeInfo node = cluster.nodes().node(candidate.row);
      for (const PodPtr& victim : candidate.victims) {
        EXPECT_LT(victim->priority(), pod->priority()) << "seed " << seed;
        EXPECT_TRUE(node.RemovePod(victim->uid())) << "seed " << seed;
      }
      EXPECT_TRUE(fits(node)) << "seed " << seed;
      for (const PodPtr& victim : candidate.victims) {
        NodeInfo with_victim = node;
        with_victim.AddPod(victim);
        EXPECT_FALSE(fits(with_victim))
            << "seed " << seed << ": " << victim->name() << " need not go";
      }
    }
    // Where there is no candidate, not even all lower pods together make room.
    for (NodeRow row = 0; row < cluster.nodes().size(); ++row) {
      NodeInfo node = cluster.nodes().node(row);
      if (candidate_rows.contains(row) || fits(node)) continue;
      const std::vector<PodPtr> pods(node.pods().begin(), node.pods().end());
      for (const PodPtr& other : pods) {
        if (other->priority() < pod->priority()) node.RemovePod(other->uid());
      }
      EXPECT_FALSE(fits(node)) << "seed " << seed << ": missed node " << node.name().view();
    }
  }
  EXPECT_LT(scored_to_choose, static_cast<size_t>(plans)) << "nodes are left out";
  EXPECT_GT(plans, 200) << "the generator makes too few interesting clusters";
  EXPECT_GT(stops, 1'000);
}

// --- What is kept between searches ---

// Unschedulable everywhere.
class UniformlyUnschedulable final : public NodeStatuses {
 public:
  explicit UniformlyUnschedulable(int rows) : rows_(rows) {}
  Code code(NodeRow) const override { return Code::kUnschedulable; }
  Status status(NodeRow) const override { return Status::Unschedulable("full"); }
  std::vector<NodeRow> RowsWith(Code code) const override {
    std::vector<NodeRow> rows(code == Code::kUnschedulable ? rows_ : 0);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }

 private:
  int rows_;
};

class RulesThatThrow final : public PriorityPreemptionRules {
 public:
  explicit RulesThatThrow(Handle& handle) : PriorityPreemptionRules(handle, 100, 100) {}
  absl::StatusOr<bool> MayEvict(const NodeInfo& node, const PodInfo& victim,
                                const PodInfo& preemptor) override {
    if (node.name().view() == throws_on) throw std::runtime_error("as asked");
    return PriorityPreemptionRules::MayEvict(node, victim, preemptor);
  }
  std::string throws_on;
};

TEST(PreemptionMemoryTest, RulesThatThrowEndOneSearchOnly) {
  SmallCluster cluster;
  for (const char* name : {"a", "b"}) {
    cluster.Add(MakeNode().Name(name).Capacity("cpu", "4"));
    cluster.Add(Victim(absl::StrCat("on-", name), name == std::string("a") ? 1 : 0, Day(1))
                    .Request("cpu", "4")
                    .NodeName(name));
  }
  const PodPtr preemptor = MakePod().Name("p").Priority(10).Request("cpu", "4").Obj();
  Preemption preemption(cluster);
  RulesThatThrow rules(cluster);
  const UniformlyUnschedulable statuses(2);
  const auto search = [&] {
    PostFilterResult result;
    CycleState state;
    EXPECT_TRUE(preemption.Run(rules, state, *preemptor, statuses, result).ok());
    return result.nominated_node.value_or("none");
  };
  rules.throws_on = "b";
  EXPECT_THROW(search(), std::runtime_error);
  rules.throws_on.clear();
  EXPECT_EQ(search(), "b");
  EXPECT_EQ(search(), "b");
}

// What is kept of a node's budget holds until that one changes.
TEST(PreemptionMemoryTest, ABudgetThatMovesCounts) {
  constexpr int kNodes = 60;
  SmallCluster cluster;
  const auto set_budget = [&](int i, int allowed) {
    cluster.AddYaml(
        absl::StrCat("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b", i,
                     ", namespace: default}, spec: {selector: {matchLabels: {app: a", i,
                     "}}}, status: {disruptionsAllowed: ", allowed, "}}"));
  };
  for (int i = 0; i < kNodes; ++i) {
    const std::string node = absl::StrCat("n", i);
    cluster.Add(MakeNode().Name(node).Capacity("cpu", "1"));
    cluster.Add(Victim(absl::StrCat("on-", node), 0, Day(1))
                    .Label("app", absl::StrCat("a", i))
                    .Request("cpu", "1")
                    .NodeName(node));
    set_budget(i, 0);
  }
  const PodPtr pod = MakePod().Name("p").Priority(9).Request("cpu", "1").Obj();
  Preemption preemption(cluster);
  PriorityPreemptionRules rules(cluster, 100, 0);
  const UniformlyUnschedulable statuses(kNodes);
  const auto search = [&] {
    PostFilterResult result;
    CycleState state;
    state.SetForExplanation();  // tries all nodes
    EXPECT_TRUE(preemption.Run(rules, state, *pod, statuses, result).ok());
    return result.nominated_node.value_or("none");
  };
  EXPECT_EQ(search(), "n0");
  for (const int i : {40, 50}) {
    set_budget(i, 1);
    EXPECT_EQ(search(), "n40");
  }
  set_budget(40, 2);  // no more than its one pod can go
  EXPECT_EQ(search(), "n40");
  set_budget(40, 0);
  EXPECT_EQ(search(), "n50");
}

TEST(PreemptionStopsTest, TheOutcomeEqualsThatOfAnUninterruptedSearch) {
  constexpr int kNodes = 40;
  SmallCluster cluster;
  for (int i = 0; i < kNodes; ++i) {  // all but one need a second victim, which sums do not tell
    const std::string node = absl::StrCat("n", i);
    cluster.Add(MakeNode().Name(node).Capacity("cpu", "4"));
    for (const char* half : {"a", "b"}) {
      cluster.Add(Victim(absl::StrCat(half, i), i == 30 ? 0 : 1, Day(1 + i % 7))
                      .Label("app", "web")
                      .Request("cpu", "2")
                      .NodeName(node));
    }
  }
  const UniformlyUnschedulable statuses(kNodes);
  for (const int cpu : {2, 4, 5}) {  // on no node is room for 5
    const PodPtr pod = MakePod().Name("p").Priority(9).Request("cpu", absl::StrCat(cpu)).Obj();
    PriorityPreemptionRules rules(cluster, 100, 0);
    Preemption at_once(cluster), bit_by_bit(cluster);
    Status want, status;
    PostFilterResult expected, result;
    const int stops = SearchBitByBit(bit_by_bit, rules, *pod, statuses, 1, status, result);
    EXPECT_EQ(SearchBitByBit(at_once, rules, *pod, statuses, 0, want, expected), 0);
    EXPECT_EQ(status.ToString(), want.ToString());
    EXPECT_EQ(result.nominated_node, expected.nominated_node);
    EXPECT_EQ(Names(result.victims), Names(expected.victims));
    EXPECT_EQ(status.ok(), cpu < 5);
    if (cpu == 2) {
      EXPECT_GE(stops, kNodes - 1) << "to read the nodes, one by one";
    }
    // What was read is of use to the next pod, which stops between dry runs only.
    EXPECT_LE(SearchBitByBit(bit_by_bit, rules, *pod, statuses, 1, status, result), kNodes / 2);
    EXPECT_EQ(status.ToString(), want.ToString());
  }
}

// --- The searches held against each other ---

// A budget comes, goes, selects others, lets more or fewer go, or one of `pods` is on its way out.
void MoveBudget(SmallCluster& cluster, int pods, std::mt19937& random) {
  const auto upto = [&](int n) { return static_cast<int>(random() % (n + 1)); };
  const int app = upto(3);
  const std::string name = absl::StrCat("b", upto(4));
  if (upto(5) == 0) {
    cluster.object_store().Remove(Kind::kPodDisruptionBudget, absl::StrCat("default/", name));
    return;
  }
  const std::vector<std::string> selectors = {
      absl::StrCat("matchLabels: {app: '", app, "'}"),
      absl::StrCat("matchExpressions: [{key: app, operator: In, values: ['", app, "', '0']}]"),
      absl::StrCat("matchExpressions: [{key: app, operator: NotIn, values: ['", app, "']}]"),
      "matchLabels: {app: none}"};
  const std::string disrupted =
      upto(2) > 0 ? "" : absl::StrCat("p", upto(pods), ": '2026-01-01T00:00:00Z'");
  cluster.AddYaml(absl::StrCat(
      "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: ", name,
      ", namespace: default}, spec: {selector: {", selectors[upto(3) == 0 ? upto(3) : 0],
      "}}, status: {disruptionsAllowed: ", upto(3), ", disruptedPods: {", disrupted, "}}}"));
}

// More pods and nodes than above, of more kinds: full and pruned, for pods that come again and
// again while the cluster changes, so that what is kept is used and becomes stale.
TEST(PreemptionSearchesTest, FullAndPrunedChooseTheSame) {
  int found = 0, in_vain = 0, pruned_runs = 0, full_runs = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto upto = [&](int n) { return static_cast<int>(random() % (n + 1)); };
    SmallCluster cluster;
    const int nodes = 5 + upto(25);
    int pods = 0;
    const auto add_pod = [&](int node) {
      const std::string name = absl::StrCat("n", node);
      const int priority = upto(6) - 2;
      const int cpu = upto(4), memory = upto(4), start = upto(5), app = upto(3);
      PodBuilder pod = MakePod();
      pod.Name(absl::StrCat("p", ++pods)).NodeName(name).Priority(priority);
      pod.Request("cpu", absl::StrCat(cpu)).Request("memory", absl::StrCat(memory));
      pod.Label("app", absl::StrCat(app));
      if (start > 0) pod.Started(Day(start));
      cluster.Add(pod);
    };
    for (int n = 0; n < nodes; ++n) {
      cluster.Add(Node(absl::StrCat("n", n), "8").Capacity("memory", "8").Pods(6));
      for (int p = upto(5); p > 0; --p) add_pod(n);
    }
    Preemption pruned(cluster), full(cluster);
    CycleState full_evaluation;
    full_evaluation.SetFullEvaluation();
    DefaultRules rules(cluster, 100, 0);
    for (int step = 0; step < 40; ++step) {
      const int node = upto(nodes - 1);
      const int change = upto(6);
      if (change == 0) {
        add_pod(node);
      } else if (change == 1) {
        const auto on_node = cluster.FindNode(absl::StrCat("n", node)).pods();
        if (!on_node.empty()) cluster.Unassign(*PodPtr(on_node.front()));
      } else if (change == 2 || change == 6) {
        for (int moves = 1 + upto(1); moves > 0; --moves) MoveBudget(cluster, pods, random);
      } else if (change == 3) {
        const int priority = upto(6) - 2;
        cluster.Nominate(
            MakePod().Name(absl::StrCat("nominated", step)).Priority(priority).Request("cpu", "2"),
            absl::StrCat("n", node));
      }
      // Some need a little less than others, of which bounds are kept.
      const int milli_cpu = 2000 + 2000 * upto(3) + (upto(1) == 0 ? 0 : 125 * upto(4) - 250);
      const int priority = upto(6) - 2;
      const PodPtr pod = MakePod()
                             .Name(absl::StrCat("preemptor-", milli_cpu, "-", priority))
                             .Priority(priority)
                             .Request("cpu", absl::StrCat(milli_cpu, "m"))
                             .Obj();
      std::vector<Status> statuses;
      for (NodeRow row = 0; row < cluster.nodes().size(); ++row) {
        Status status = cluster.RunFilterPluginsWithNominatedPods(CycleState(), *pod,
                                                                  cluster.nodes().node(row));
        // Where it fits, it is taken for a pod that another plugin keeps off.
        if (status.ok()) status = Status::UnschedulableAndUnresolvable("kept off");
        statuses.push_back(std::move(status));
      }
      const ListedStatuses listed(std::move(statuses));
      PostFilterResult by_full, by_pruned;
      int before = cluster.filter_calls;
      const Status want = full.Run(rules, full_evaluation, *pod, listed, by_full);
      full_runs += cluster.filter_calls - before;
      before = cluster.filter_calls;
      const Status got = pruned.Run(rules, CycleState(), *pod, listed, by_pruned);
      pruned_runs += cluster.filter_calls - before;
      ASSERT_EQ(got.ToString(), want.ToString()) << step;
      ASSERT_EQ(by_pruned.nominated_node, by_full.nominated_node) << step;
      ASSERT_EQ(Names(by_pruned.victims), Names(by_full.victims)) << step;
      (want.ok() ? found : in_vain) += 1;
    }
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(in_vain, 100);
  EXPECT_LT(pruned_runs, full_runs / 3);
}

}  // namespace
}  // namespace berth
