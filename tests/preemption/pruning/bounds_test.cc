// SPDX-License-Identifier: Apache-2.0
// What is kept of each node, and what it says of them, is what a look at all of them would say,
// whatever becomes of pods and rows.
#include <algorithm>
#include <array>
#include <list>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "preemption/pruning/bound_cache.h"
#include "preemption/pruning/bound_calculator.h"
#include "preemption/pruning/candidate_heap.h"
#include "preemption/pruning/priority_levels.h"

namespace berth::testing {
namespace {

constexpr char kHuge[] = "144115188075855872";  // 2^57

// A resource that is not common.
ResourceId Rare() {
  static const ResourceId id = [] {
    for (int i = 0; i < kCommonResources; ++i) ResourceIdOf(absl::StrCat("example.com/other-", i));
    return ResourceIdOf("example.com/rare");
  }();
  return id;
}

// Random nodes, of which some are in a table, and pods on them. They have cpu and another resource.
class ChangingNodes {
 public:
  ChangingNodes(unsigned seed, int count, ResourceId other = kMemory)
      : random_(seed), count_(count), other_(ResourceName(other)) {
    for (int i = 0; i < count; ++i) {
      nodes_.push_back(MakeNode()
                           .Name(absl::StrCat("n", i))
                           .Capacity("cpu", "8")
                           .Capacity(other_, i % 50 == 7 ? kHuge : "8")
                           .Info());
    }
    table_.SetOrder({});
  }

  int Below(int bound) { return static_cast<int>(random_() % bound); }
  const NodeTable& table() const { return table_; }

  void Change() {
    NodeInfo& node = *std::next(nodes_.begin(), Below(count_));
    const NodeRow row = table_.FindRow(node.name());
    // Rows move now and then, by one or all of them.
    const int kind = Below(10) > 0 && row >= 0 && count_ > 64 ? 9 : Below(10);
    if (row < 0) {
      if (kind > 5) table_.InsertRow(Below(table_.size() + 1), &node);
    } else if (kind == 0) {
      std::vector<const NodeInfo*> some;
      for (const NodeInfo& other : nodes_) {
        if (Below(3) > 0) some.push_back(&other);
      }
      if (Below(5) > 0) {
        table_.Rearrange(some);
      } else {
        table_.SetOrder(some);
      }
    } else if (kind == 1) {
      std::vector<NodeRow> rows = {row};
      for (NodeRow other = row + 1; other < table_.size(); ++other) {
        if (Below(3) == 0) rows.push_back(other);
      }
      table_.RemoveRow(rows);
    } else {
      ChangePods(node);
      table_.RefreshRow(row);
    }
  }

 private:
  void ChangePods(NodeInfo& node) {
    const int kind = Below(4);
    if (node.pods().empty() || (kind > 0 && node.pods().size() < 8)) {
      node.AddPod(Pod().Obj());
      return;
    }
    const auto pod = node.pods()[Below(static_cast<int>(node.pods().size()))];
    if (kind == 1) {
      node.RemovePod(*pod);
    } else {  // it starts
      const auto started = pod->packed()->With(
          [](api::Pod& object) { object.mutable_status()->mutable_start_time()->set_seconds(3); });
      node.ReplacePod(*pod, *PodInfo::Create(started, pod.get()));
    }
  }

  PodBuilder Pod() {
    PodBuilder pod = MakePod().Name(absl::StrCat("p", ++pods_)).Priority(Below(7) - 2);
    if (Below(3) > 0) pod.Started(absl::FromUnixSeconds(Below(4)));
    if (Below(4) > 0) pod.Request("cpu", absl::StrCat(Below(4)));
    if (Below(4) > 0) pod.Request(other_, Below(50) == 0 ? kHuge : absl::StrCat(Below(4)));
    return pod;
  }

  std::mt19937 random_;
  const int count_;
  const absl::string_view other_;
  int pods_ = 0;
  std::list<NodeInfo> nodes_;
  NodeTable table_;
};

void Read(PriorityLevels& levels, const NodeTable& nodes) {
  WorkBudget unlimited;
  ASSERT_TRUE(levels.Refresh(nodes, unlimited));
}

// By priority, as text.
std::string Describe(const PriorityLevels& priority_levels, NodeRow row) {
  std::string text = priority_levels.is_merged(row) ? "merged" : "";
  const int32_t place = priority_levels.place(row);
  for (const PriorityLevel& level : priority_levels.levels()) {
    if (level.priority[place] == PriorityLevels::kNone) break;
    absl::StrAppend(&text, " ", level.priority[place], ": ", level.pods[place], " pods, started ",
                    level.latest_start_nanos[place]);
    for (const auto* columns : {&level.requests, &level.largest}) {
      for (size_t resource = 0; resource < columns->size(); ++resource) {
        const PriorityLevel::Amounts& amounts = (*columns)[resource];
        if (amounts.empty() || amounts[place] == 0) continue;
        absl::StrAppend(&text, " ", ResourceName(static_cast<ResourceId>(resource)), "=",
                        amounts[place]);
      }
    }
  }
  return text;
}

PreemptorClass ClassOf(int64_t milli_cpu, int64_t memory, int64_t priority,
                       ResourceId other = kMemory) {
  PreemptorClass preemptor{
      .priority = priority, .by_priority = true, .victims_by_priority = priority > 2};
  preemptor.room.emplace();
  preemptor.room->needed.requests = {{kCpu, milli_cpu}, {other, memory}};
  return preemptor;
}

TEST(PriorityLevels, FollowsNodesAndPods) {
  constexpr unsigned kSeed = 21;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, 12);
  PriorityLevels priority_levels;
  int merged = 0, stops = 0;
  for (int step = 0; step < 4'000; ++step) {
    nodes.Change();
    if (nodes.Below(4) > 0) continue;
    if (nodes.Below(2) == 0) {  // bit by bit, of which some go and come meanwhile
      const auto yields = [&] {
        WorkBudget budget(1 + nodes.Below(20));
        const bool done = priority_levels.Refresh(nodes.table(), budget);
        EXPECT_EQ(budget.yielded(), !done);
        return !done;
      };
      if (yields()) ++stops;
      if (nodes.Below(2) == 0) nodes.Change();
      while (yields()) ++stops;
    }
    Read(priority_levels, nodes.table());
    PriorityLevels fresh;
    Read(fresh, nodes.table());
    EXPECT_EQ(priority_levels.lowest(), fresh.lowest());
    for (NodeRow row = 0; row < nodes.table().size(); ++row) {
      EXPECT_EQ(Describe(priority_levels, row), Describe(fresh, row));
      EXPECT_EQ(priority_levels.lowest(row), fresh.lowest(row));
      merged += priority_levels.is_merged(row);
    }
    ASSERT_FALSE(HasFailure()) << step;
  }
  EXPECT_GT(merged, 100);
  EXPECT_GT(stops, 200);
}

// What is computed for a preemptor is no lower than what is computed for one that needs more.
TEST(BoundCalculator, OfOneThatNeedsLittleLessHoldsForOneThatNeedsMore) {
  constexpr unsigned kSeed = 26;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, 60);
  PriorityLevels priority_levels;
  int possible = 0, only_for_less = 0;
  for (int step = 0; step < 2'000; ++step) {
    nodes.Change();
    if (step % 10 > 0) continue;
    Read(priority_levels, nodes.table());
    const int priority = nodes.Below(7) - 2;
    const PreemptorClass less = ClassOf(1000 + 125 * nodes.Below(60), 0, priority);
    PreemptorClass more = less;
    more.room->needed.requests.front().second *= 1.125;
    ASSERT_TRUE(NeedsLittleLess(less, more));
    ASSERT_FALSE(NeedsLittleLess(more, less));
    ASSERT_FALSE(NeedsLittleLess(less, less));
    const BoundCalculator of_less(less, nodes.table(), priority_levels);
    const BoundCalculator of_more(more, nodes.table(), priority_levels);
    for (NodeRow row = 0; row < nodes.table().size(); ++row) {
      CandidateBound at_most, bound;
      const bool may_be_possible =
          of_less.Compute(row, {}, at_most).kind() == EvictionFeasibility::Kind::kPossible;
      const bool is_possible =
          of_more.Compute(row, {}, bound).kind() == EvictionFeasibility::Kind::kPossible;
      ASSERT_TRUE(may_be_possible || !is_possible) << step;
      only_for_less += may_be_possible && !is_possible;
      if (!is_possible) continue;
      ++possible;
      ASSERT_FALSE(at_most < bound) << step;
    }
  }
  EXPECT_GT(possible, 1'000);
  EXPECT_GT(only_for_less, 100);
}

TEST(NeedsLittleLess, InAmountsAlone) {
  const PreemptorClass preemptor = ClassOf(8000, 64, 4);
  EXPECT_TRUE(NeedsLittleLess(ClassOf(7000, 56, 4), preemptor));
  EXPECT_TRUE(NeedsLittleLess(ClassOf(8000, 63, 4), preemptor));
  EXPECT_FALSE(NeedsLittleLess(ClassOf(6999, 64, 4), preemptor)) << "much less";
  EXPECT_FALSE(NeedsLittleLess(ClassOf(7000, 65, 4), preemptor)) << "more of the other";
  EXPECT_FALSE(NeedsLittleLess(ClassOf(7000, 64, 5), preemptor)) << "another priority";
  EXPECT_FALSE(NeedsLittleLess(ClassOf(7000, 64, 4, Rare()), preemptor)) << "of something else";
  PreemptorClass unknown = preemptor;
  unknown.room.reset();
  EXPECT_FALSE(NeedsLittleLess(unknown, preemptor));
  EXPECT_FALSE(NeedsLittleLess(preemptor, unknown));
}

// Amounts of which sums do not tell are among them; of more rows than are looked at without sums
// once these tell little.
TEST(BoundCalculator, AllRowsAtOnceAreWhatEachIs) {
  constexpr unsigned kSeed = 24;
  SCOPED_TRACE(kSeed);
  std::array<int, 3> seen = {};
  int merged = 0;
  for (const int count : {300, 5'000}) {
    ChangingNodes nodes(kSeed, count);
    PriorityLevels priority_levels;
    for (int step = 0; step < 6'000; ++step) {
      nodes.Change();
      if (step % 100 > 0 || (count > 300 && step < 5'500)) continue;
      Read(priority_levels, nodes.table());
      for (int milli_cpu = 0; milli_cpu < 12'000; milli_cpu += 3'000) {
        const int memory = nodes.Below(9), priority = nodes.Below(7) - 2;
        PreemptorClass preemptor = ClassOf(milli_cpu, memory, priority);
        preemptor.by_priority = nodes.Below(4) > 0;
        if (nodes.Below(4) == 0) preemptor.room->needed.requests.emplace_back(kCpu, -1);
        if (nodes.Below(8) == 0) preemptor.room.reset();
        const BoundCalculator calculator(preemptor, nodes.table(), priority_levels);
        std::vector<EvictionFeasibility> all;
        std::vector<CandidateBound> bounds;
        calculator.ComputeAll(all, bounds);
        ASSERT_EQ(static_cast<int>(all.size()), nodes.table().size());
        ASSERT_TRUE(bounds.empty() || bounds.size() == all.size());
        for (NodeRow row = 0; row < nodes.table().size(); ++row) {
          CandidateBound bound;
          const EvictionFeasibility feasibility = calculator.Compute(row, {}, bound);
          ASSERT_EQ(all[row], feasibility) << step << ", row " << row;
          ++seen[static_cast<size_t>(feasibility.kind())];
          merged += feasibility.kind() == EvictionFeasibility::Kind::kStillInsufficient &&
                    feasibility.short_of() == 0;
          if (feasibility.kind() != EvictionFeasibility::Kind::kPossible) continue;
          ASSERT_EQ(bounds[row].scores(), bound.scores()) << step << ", row " << row;
        }
      }
    }
  }
  for (const int times : seen) EXPECT_GT(times, 300);
  EXPECT_GT(merged, 10);
}

// What is kept of a resource that is not common says what it would of one that is.
TEST(BoundCalculator, RareResourcesCountAsCommonOnes) {
  constexpr unsigned kSeed = 25;
  SCOPED_TRACE(kSeed);
  ChangingNodes common(kSeed, 300), rare(kSeed, 300, Rare());
  PriorityLevels levels_of_common, levels_of_rare;
  int possible = 0;
  for (int step = 0; step < 8'000; ++step) {
    common.Change();
    rare.Change();
    if (step % 50 > 0) continue;
    Read(levels_of_common, common.table());
    Read(levels_of_rare, rare.table());
    const int64_t milli_cpu = common.Below(9) * 1'000, amount = common.Below(9);
    const int64_t priority = common.Below(7) - 2;
    for (int i = 0; i < 3; ++i) rare.Below(9);
    const BoundCalculator of_common(ClassOf(milli_cpu, amount, priority), common.table(),
                                    levels_of_common);
    const BoundCalculator of_rare(ClassOf(milli_cpu, amount, priority, Rare()), rare.table(),
                                  levels_of_rare);
    ASSERT_EQ(common.table().size(), rare.table().size());
    for (NodeRow row = 0; row < common.table().size(); ++row) {
      CandidateBound wanted, bound;
      const EvictionFeasibility feasibility = of_common.Compute(row, {}, wanted);
      ASSERT_EQ(of_rare.Compute(row, {}, bound), feasibility) << step << ", row " << row;
      if (feasibility.kind() != EvictionFeasibility::Kind::kPossible) continue;
      ++possible;
      ASSERT_EQ(bound.scores(), wanted.scores()) << step << ", row " << row;
    }
  }
  EXPECT_GT(possible, 1'000);
}

// The first victim may be of any level: its start bounds that of the others too.
TEST(BoundCalculator, InAnyOrderEveryStartCounts) {
  NodeInfo node = MakeNode().Name("n").Capacity("cpu", "4").Info();
  const auto add = [&](const char* name, int32_t priority, const char* cpu, int64_t start) {
    node.AddPod(MakePod()
                    .Name(name)
                    .Priority(priority)
                    .Request("cpu", cpu)
                    .Started(absl::FromUnixSeconds(start))
                    .Obj());
  };
  add("low", 0, "1", 9);
  add("high", 5, "3", 1);
  NodeTable table;
  table.SetOrder({&node});
  PriorityLevels priority_levels;
  Read(priority_levels, table);
  PreemptorClass preemptor = ClassOf(4'000, 0, 9);
  for (const bool by_priority : {false, true}) {
    preemptor.victims_by_priority = by_priority;
    CandidateBound bound;
    BoundCalculator(preemptor, table, priority_levels).Compute(0, {}, bound);
    EXPECT_EQ(bound.victims, 2);
    EXPECT_EQ(bound.highest_priority, by_priority ? 5 : 0);
    EXPECT_EQ(bound.latest_start_nanos, (by_priority ? 1 : 9) * 1'000'000'000LL);
  }
}

// Of few nodes everything is looked at again, of more only what changed.
class BoundsOfNodes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(FewAndMany, BoundsOfNodes, ::testing::Values(12, 300));

TEST_P(BoundsOfNodes, FollowNodesPodsAndNominations) {
  constexpr unsigned kSeed = 22;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, GetParam());
  PriorityLevels levels;
  BoundCache cache;
  FakeNominator nominator;
  const NodeJournal budgets;  // of which none changes
  const std::vector<PreemptorClass> classes = {ClassOf(3000, 2, 4), ClassOf(6000, 6, 2),
                                               ClassOf(1000, 8, 3)};
  int possible = 0, fell_behind = 0;
  for (int step = 0; step < 4'000; ++step) {
    nodes.Change();
    if (nodes.Below(3) > 0) continue;
    const bool falls_behind = nodes.Below(300) == 0;  // so far that nothing is followed
    for (int i = 0; falls_behind && i < 2'000; ++i) nodes.Change();
    fell_behind += falls_behind;
    const NodeTable& table = nodes.table();
    const PreemptorClass& preemptor = classes[nodes.Below(3)];
    Read(levels, table);
    if (nodes.Below(10) == 0) {
      auto pod = MakePod().Name(absl::StrCat("nominated-", step)).Priority(nodes.Below(5));
      nominator.Nominate(pod.Request("cpu", "1").Obj(), absl::StrCat("n", nodes.Below(GetParam())));
    }
    const NodeRow own_row = nodes.Below(3) == 0 ? nodes.Below(table.size() + 1) - 1 : -1;
    const CandidateBounds& kept = cache.Find(preemptor, table, levels, nominator, budgets, own_row);
    CandidateBounds fresh(preemptor);
    NominatedRows nominated_rows;
    nominated_rows.CatchUp(table, nominator);
    fresh.Refresh(table, levels, nominator, nominated_rows, budgets, own_row);
    for (NodeRow row = 0; row < table.size(); ++row) {
      ASSERT_EQ(kept.feasibility(row), fresh.feasibility(row)) << step;
      if (!fresh.is_possible(row)) continue;
      ++possible;
      ASSERT_EQ(kept.at(row).scores(), fresh.at(row).scores()) << step;
    }
  }
  EXPECT_GT(possible, 1000);
  EXPECT_GT(fell_behind, 0);
}

TEST(CandidateHeap, GivesTheHighestBoundFirst) {
  constexpr unsigned kSeed = 23;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, 300);
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 50; ++i) nodes.Change();
    const NodeTable& table = nodes.table();
    PriorityLevels levels;
    Read(levels, table);
    FakeNominator nominator;
    CandidateBounds bounds(ClassOf(3000, 2, 4));
    NominatedRows none;
    none.CatchUp(table, nominator);
    bounds.Refresh(table, levels, nominator, none, NodeJournal());
    std::vector<uint8_t> is_left(table.size());
    for (uint8_t& left : is_left) left = nodes.Below(4) > 0;
    CandidateHeap heap(bounds, is_left);
    // By a look at each.
    const auto best = [&] {
      NodeRow best = -1;
      for (NodeRow row = 0; row < table.size(); ++row) {
        if (!is_left[row] || !bounds.is_possible(row)) continue;
        if (best < 0 || bounds.at(best) < bounds.at(row)) best = row;
      }
      return best;
    };
    for (NodeRow row = best(); row >= 0; row = best(), ++found) {
      ASSERT_EQ(heap.Best(), row) << round;
      if (nodes.Below(4) == 0 && !bounds.at(row).knows_budgets) {
        CandidateBound sharper = bounds.at(row);
        sharper.knows_budgets = true;
        sharper.violations += nodes.Below(2);
        bounds.Tighten(row, sharper);
        heap.Update(row);
      } else {
        is_left[row] = 0;
        heap.Remove(row);
      }
    }
    ASSERT_EQ(heap.Best(), -1);
    std::vector<NodeRow> rest;
    for (NodeRow row = 0; row < table.size(); ++row) {
      if (is_left[row]) rest.push_back(row);
    }
    EXPECT_EQ(heap.Rows(), rest);
  }
  EXPECT_GT(found, 1000);
}

}  // namespace
}  // namespace berth::testing
