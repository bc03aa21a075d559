// What is kept of each node, and what it says of them, is what a look at all of them would say,
// whatever becomes of pods and rows.
#include "preemption/pruning/candidate_heap.h"

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
#include "preemption/pruning/candidate_bound.h"
#include "preemption/pruning/priority_levels.h"
#include "preemption/pruning/bound_cache.h"

namespace berth::testing {
namespace {

constexpr char kHuge[] = "144115188075855872";  // 2^57

// Random nodes, of which some are in a table, and pods on them.
class ChangingNodes {
 public:
  ChangingNodes(unsigned seed, int count) : random_(seed), count_(count) {
    for (int i = 0; i < count; ++i) {
      nodes_.push_back(MakeNode()
                           .Name(absl::StrCat("n", i))
                           .Capacity("cpu", "8")
                           .Capacity("memory", i % 50 == 7 ? kHuge : "8")
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
    if (Below(4) > 0) pod.Request("memory", Below(50) == 0 ? kHuge : absl::StrCat(Below(4)));
    return pod;
  }

  std::mt19937 random_;
  const int count_;
  int pods_ = 0;
  std::list<NodeInfo> nodes_;
  NodeTable table_;
};

// By priority, as text.
std::string Describe(const EvictionOutlook& outlook, NodeRow row) {
  std::string text = outlook.is_merged(row) ? "merged" : "";
  const int32_t place = outlook.place(row);
  for (const EvictionLevel& level : outlook.levels()) {
    if (level.priority[place] == EvictionOutlook::kNobody) break;
    absl::StrAppend(&text, " ", level.priority[place], ": ", level.pods[place], " pods, started ",
                    level.latest_start_nanos[place]);
    for (const auto* columns : {&level.requests, &level.largest}) {
      for (size_t resource = 0; resource < columns->size(); ++resource) {
        const EvictionLevel::Amounts& amounts = (*columns)[resource];
        if (amounts.empty() || amounts[place] == 0) continue;
        absl::StrAppend(&text, " ", ResourceName(static_cast<ResourceId>(resource)), "=",
                        amounts[place]);
      }
    }
  }
  return text;
}

EvictionQuestion Question(int64_t milli_cpu, int64_t memory, int64_t priority) {
  EvictionQuestion question{
      .priority = priority, .by_priority = true, .victims_by_priority = priority > 2};
  question.room.emplace();
  question.room->needed.requests = {{kCpu, milli_cpu}, {kMemory, memory}};
  return question;
}

TEST(EvictionOutlook, FollowsNodesAndPods) {
  constexpr unsigned kSeed = 21;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, 12);
  EvictionOutlook outlook;
  int merged = 0, stops = 0;
  for (int step = 0; step < 4'000; ++step) {
    nodes.Change();
    if (nodes.Below(3) == 0) outlook.Follow(nodes.table());
    if (nodes.Below(4) > 0) continue;
    if (nodes.Below(2) == 0) {  // bit by bit, of which some go and come meanwhile
      if (!outlook.Refresh(nodes.table(), 1 + nodes.Below(20))) ++stops;
      if (nodes.Below(2) == 0) nodes.Change();
      while (!outlook.Refresh(nodes.table(), 1 + nodes.Below(20))) ++stops;
    }
    outlook.Refresh(nodes.table());
    EvictionOutlook fresh;
    fresh.Refresh(nodes.table());
    EXPECT_EQ(outlook.lowest(), fresh.lowest());
    for (NodeRow row = 0; row < nodes.table().size(); ++row) {
      EXPECT_EQ(Describe(outlook, row), Describe(fresh, row));
      EXPECT_EQ(outlook.lowest(row), fresh.lowest(row));
      merged += outlook.is_merged(row);
    }
    ASSERT_FALSE(HasFailure()) << step;
  }
  EXPECT_GT(merged, 100);
  EXPECT_GT(stops, 200);
}

// Amounts of which sums do not tell are among them; of more rows than are looked at without sums
// once these tell little.
TEST(BoundFinder, AllRowsAtOnceAreWhatEachIs) {
  constexpr unsigned kSeed = 24;
  SCOPED_TRACE(kSeed);
  std::array<int, 3> seen = {};
  int merged = 0;
  for (const int count : {300, 5'000}) {
    ChangingNodes nodes(kSeed, count);
    EvictionOutlook outlook;
    for (int step = 0; step < 6'000; ++step) {
      nodes.Change();
      if (step % 100 > 0 || (count > 300 && step < 5'500)) continue;
      outlook.Refresh(nodes.table());
      for (int milli_cpu = 0; milli_cpu < 12'000; milli_cpu += 3'000) {
        const int memory = nodes.Below(9), priority = nodes.Below(7) - 2;
        EvictionQuestion question = Question(milli_cpu, memory, priority);
        question.by_priority = nodes.Below(4) > 0;
        if (nodes.Below(4) == 0) question.room->needed.requests.emplace_back(kCpu, -1);
        if (nodes.Below(8) == 0) question.room.reset();
        const BoundFinder finder(question, nodes.table(), outlook);
        std::vector<EvictionChance> chances;
        std::vector<EvictionBound> bounds;
        finder.FindAll(chances, bounds);
        ASSERT_EQ(static_cast<int>(chances.size()), nodes.table().size());
        ASSERT_TRUE(bounds.empty() || bounds.size() == chances.size());
        for (NodeRow row = 0; row < nodes.table().size(); ++row) {
          EvictionBound bound;
          const EvictionChance chance = finder.Find(row, {}, bound);
          ASSERT_EQ(chances[row], chance) << step << ", row " << row;
          ++seen[static_cast<size_t>(chance.kind())];
          merged += chance.kind() == EvictionChance::Kind::kShort && chance.short_of() == 0;
          if (chance.kind() != EvictionChance::Kind::kPossible) continue;
          ASSERT_EQ(bounds[row].scores(), bound.scores()) << step << ", row " << row;
        }
      }
    }
  }
  for (const int times : seen) EXPECT_GT(times, 300);
  EXPECT_GT(merged, 10);
}

// The first victim may be of any level: its start bounds that of the others too.
TEST(BoundFinder, InAnyOrderEveryStartCounts) {
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
  EvictionOutlook outlook;
  outlook.Refresh(table);
  EvictionQuestion question = Question(4'000, 0, 9);
  for (const bool by_priority : {false, true}) {
    question.victims_by_priority = by_priority;
    EvictionBound bound;
    BoundFinder(question, table, outlook).Find(0, {}, bound);
    EXPECT_EQ(bound.victims, 2);
    EXPECT_EQ(bound.highest_priority, by_priority ? 5 : 0);
    EXPECT_EQ(bound.latest_start_nanos, (by_priority ? 1 : 9) * 1'000'000'000LL);
  }
}

std::vector<NodeRow> ListAllInPlay(const Prospects& prospects) {
  std::vector<NodeRow> all, rows;
  for (NodeRow end = prospects.ListInPlay(0, rows); !rows.empty();
       end = prospects.ListInPlay(end, rows)) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(Prospects, VeryManyInPlayAreListedBitByBit) {
  constexpr int kNodes = 9'500;
  std::list<NodeInfo> infos;
  std::vector<const NodeInfo*> order;
  for (int i = 0; i < kNodes; ++i) {
    infos.push_back(MakeNode().Name(absl::StrCat("n", i)).Capacity("cpu", "8").Info());
    order.push_back(&infos.back());
  }
  NodeTable table;
  table.SetOrder(order);
  EvictionOutlook outlook;
  outlook.Refresh(table);
  FakeNominator nominator;
  QuestionBounds bounds(Question(1000, 1, 4));
  bounds.Refresh(table, outlook, nominator);
  Prospects prospects;
  prospects.Follow(bounds);
  EXPECT_THAT(ListAllInPlay(prospects), ::testing::IsEmpty());
  std::vector<NodeRow> want;
  for (NodeRow row = 0; row < kNodes; ++row) {
    if (row % 1000 > 900 || row % 7 == 0) continue;
    prospects.SetInPlay(row, true);
    want.push_back(row);
  }
  std::vector<NodeRow> first;
  prospects.ListInPlay(0, first);
  EXPECT_LT(first.size(), size_t{5000});
  EXPECT_EQ(ListAllInPlay(prospects), want);
  // What is listed goes out of play meanwhile.
  std::vector<NodeRow> listed, rows;
  for (NodeRow end = prospects.ListInPlay(0, rows); !rows.empty();
       end = prospects.ListInPlay(end, rows)) {
    for (const NodeRow row : rows) prospects.SetInPlay(row, false);
    listed.insert(listed.end(), rows.begin(), rows.end());
  }
  EXPECT_EQ(listed, want);
  EXPECT_THAT(ListAllInPlay(prospects), ::testing::IsEmpty());
}

// Of few nodes everything is looked at again, of more only what changed.
class ProspectsOfNodes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(FewAndMany, ProspectsOfNodes, ::testing::Values(12, 300));

TEST_P(ProspectsOfNodes, FollowNodesAndPods) {
  constexpr unsigned kSeed = 22;
  SCOPED_TRACE(kSeed);
  ChangingNodes nodes(kSeed, GetParam());
  EvictionOutlook outlook;
  BoundsOfQuestions bounds_of_questions;
  FakeNominator nominator;
  const std::vector<EvictionQuestion> questions = {Question(3000, 2, 4), Question(6000, 6, 2),
                                                   Question(1000, 8, 3)};
  int found = 0, kept_rows = 0, fell_behind = 0;
  for (int step = 0; step < 4'000; ++step) {
    nodes.Change();
    if (nodes.Below(3) > 0) continue;
    const bool falls_behind = nodes.Below(300) == 0;  // so far that nothing is followed
    for (int i = 0; falls_behind && i < 2'000; ++i) nodes.Change();
    fell_behind += falls_behind;
    const NodeTable& table = nodes.table();
    const EvictionQuestion& question = questions[nodes.Below(3)];
    outlook.Refresh(table);
    if (nodes.Below(10) == 0) {
      auto pod = MakePod().Name(absl::StrCat("nominated-", step)).Priority(nodes.Below(5));
      nominator.Nominate(pod.Request("cpu", "1").Obj(), absl::StrCat("n", nodes.Below(GetParam())));
    }
    const NodeRow own_row = nodes.Below(3) == 0 ? nodes.Below(table.size() + 1) - 1 : -1;
    auto& [bounds, followed] =
        bounds_of_questions.Find(question, table, outlook, nominator, own_row);
    const bool kept = followed.Follow(bounds);
    QuestionBounds fresh_bounds(question);
    fresh_bounds.Refresh(table, outlook, nominator, own_row);
    Prospects fresh;
    EXPECT_FALSE(fresh.Follow(fresh_bounds));
    for (NodeRow row = 0; row < table.size(); ++row) {
      if (!kept || nodes.Below(3) == 0) followed.SetInPlay(row, nodes.Below(4) > 0);
      fresh.SetInPlay(row, followed.is_in_play(row));
    }
    kept_rows += kept ? table.size() : 0;
    EXPECT_EQ(ListAllInPlay(followed), ListAllInPlay(fresh));
    // One after the other until there is none, or enough.
    const int enough = nodes.Below(20);
    std::vector<std::pair<NodeRow, EvictionBound>> sharpened;
    for (NodeRow best = followed.Best(); best >= 0; best = followed.Best()) {
      ++found;
      ASSERT_EQ(best, fresh.Best()) << step;
      EXPECT_EQ(bounds.at(best).scores(), fresh_bounds.at(best).scores()) << step;
      EXPECT_TRUE(followed.is_in_play(best));
      followed.SetInPlay(best, false);
      fresh.SetInPlay(best, false);
      if (nodes.Below(20) < enough) break;
      if (nodes.Below(10) > 0 || followed.Best() < 0) continue;
      const NodeRow row = followed.Best();
      EvictionBound sharper = bounds.at(row);
      sharpened.emplace_back(row, sharper);
      ++sharper.violations;
      fresh_bounds.Sharpen(row, sharper);
      bounds.Sharpen(row, sharper);
    }
    std::reverse(sharpened.begin(), sharpened.end());
    for (const auto& [row, before] : sharpened) {
      bounds.Sharpen(row, before);
      fresh_bounds.Sharpen(row, before);
    }
    for (NodeRow row = 0; row < table.size(); ++row) {
      EXPECT_EQ(bounds.chance(row), fresh_bounds.chance(row)) << step;
    }
    if (followed.Best() >= 0) continue;
    EXPECT_EQ(fresh.Best(), -1) << step;
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(kept_rows, 1000);
  EXPECT_GT(fell_behind, 0);
}

}  // namespace
}  // namespace berth::testing
