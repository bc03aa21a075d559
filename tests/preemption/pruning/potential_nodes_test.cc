// What is counted of nodes that need not be looked at is what a look at all of them would count.
#include "preemption/pruning/potential_nodes.h"

#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/change_journal.h"
#include "gmock/gmock.h"
#include "preemption/pruning/priority_levels.h"
#include "preemption/pruning/bound_cache.h"
#include "tests/preemption/small_cluster.h"

namespace berth::testing {
namespace {

// Codes that are kept from one pod to the next, or are of one pod alone.
class ChangingStatuses final : public NodeStatuses {
 public:
  explicit ChangingStatuses(int rows) : codes_(rows, Code::kUnschedulable) {}

  Code code(NodeRow row) const override { return codes_[row]; }
  Status status(NodeRow row) const override { return Status::Make(codes_[row], {"says so"}); }
  std::vector<NodeRow> RowsWith(Code code) const override {
    std::vector<NodeRow> rows;
    for (NodeRow row = 0; row < static_cast<NodeRow>(codes_.size()); ++row) {
      if (codes_[row] == code) rows.push_back(row);
    }
    return rows;
  }
  Version version() const override {
    const RowJournal::Position end = journal_.end();
    return is_kept ? Version{end.journal, end.number} : Version{};
  }
  std::optional<absl::Span<const NodeRow>> ChangesSince(const Version& version) const override {
    return is_kept ? journal_.Since({version.kept, version.number}) : std::nullopt;
  }

  void Set(NodeRow row, Code code) {
    codes_[row] = code;
    journal_.Add(row, static_cast<int>(codes_.size()));
  }
  bool is_kept = true;

 private:
  std::vector<Code> codes_;
  RowJournal journal_;
};

TEST(Standings, CountWhatIsKnownToFail) {
  constexpr unsigned kSeed = 31;
  constexpr int kNodes = 90;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  std::vector<NodeInfo> infos;
  infos.reserve(kNodes);
  for (int i = 0; i < kNodes; ++i) infos.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
  NodeTable table;
  std::vector<const NodeInfo*> order;
  for (const NodeInfo& info : infos) order.push_back(&info);
  table.SetOrder(order);
  const FakeNominator nominator;
  EvictionOutlook outlook;
  QuestionBounds bounds((EvictionQuestion()));
  ChangingStatuses statuses(kNodes);
  RememberedRuns runs;
  Standings standings;
  const std::vector<int64_t> gauges = {0};
  int counted = 0, in_play = 0;
  for (int step = 0; step < 3'000; ++step) {
    for (int i = below(4); i > 0; --i) {
      statuses.Set(below(kNodes),
                   below(3) > 0 ? Code::kUnschedulable : Code::kUnschedulableAndUnresolvable);
    }
    if (below(3) == 0) table.RefreshRow(below(kNodes));
    if (below(40) == 0) {
      std::shuffle(order.begin(), order.end(), random);
      table.Rearrange(order);
    }
    statuses.is_kept = below(20) > 0;
    outlook.Refresh(table);
    bounds.Refresh(table, outlook, nominator);
    runs.Refresh(table, nominator, 0, -1, {}, gauges);
    const bool asks_for_bounds = below(10) > 0;
    standings.Follow(statuses, runs, asks_for_bounds ? &bounds : nullptr);
    for (int i = below(below(30) == 0 ? 120 : 8); i > 0; --i) {
      const NodeRow row = below(kNodes);
      const RememberedRuns::Terms terms{
          {}, below(2) == 0 ? absl::InfiniteFuture() : absl::FromUnixSeconds(below(5))};
      const int outcome = below(4);
      if (outcome == 0) {
        runs.SetCandidate(row, std::make_shared<WeighedCandidate>(), terms);
      } else if (outcome == 1) {
        runs.SetNoVictims(row, terms);
      } else {
        runs.SetFailures({&row, 1}, Status::Unschedulable(absl::StrCat("for ", below(3))), terms);
      }
    }
    standings.FollowRuns(runs);

    std::vector<int> failures(runs.failures().size(), 0);
    int without_victims = 0;
    absl::Time helps_from = absl::InfiniteFuture();
    for (NodeRow row = 0; row < kNodes; ++row) {
      const bool unschedulable = statuses.code(row) == Code::kUnschedulable;
      const bool failed = unschedulable && runs.IsFailure(row);
      const bool has_no_victims = failed && runs.failure(row) == RememberedRuns::kNoVictims;
      if (asks_for_bounds) {
        EXPECT_EQ(standings.prospects().is_in_play(row), unschedulable && !failed) << row;
        in_play += unschedulable && !failed;
      }
      EXPECT_EQ(standings.is_without_victims(row), has_no_victims) << row;
      without_victims += has_no_victims;
      if (failed && !has_no_victims) ++failures[runs.failure(row)];
      if (failed) helps_from = std::min(helps_from, runs.helps_from(row));
      counted += failed;
    }
    EXPECT_EQ(standings.without_victims(), without_victims);
    for (int i = 0; i < static_cast<int>(failures.size()); ++i) {
      EXPECT_EQ(standings.CountOf(i), failures[i]) << i;
    }
    EXPECT_EQ(standings.helps_from(), helps_from);
    ASSERT_FALSE(HasFailure()) << step;
  }
  EXPECT_GT(counted, 1000);
  EXPECT_GT(in_play, 1000);
}

}  // namespace
}  // namespace berth::testing
