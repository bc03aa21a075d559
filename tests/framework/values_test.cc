// SPDX-License-Identifier: Apache-2.0
// The small values and the default batch forms: Status, ClusterEvent, PodSignature, NodeVerdicts,
// FilterNodes, ScoreNodes, DefaultNormalizeScores.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "berth/columns/node_verdicts.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/bind.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/score.h"
#include "berth/framework/status.h"
#include "berth/incremental/sign.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::TestNodes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Status, SaysWhoAndWhy) {
  EXPECT_TRUE(Status::Success().ok());
  EXPECT_EQ(Status::Success().ToString(), "Success");
  Status status = Status::Unschedulable("Insufficient cpu").WithPlugin(Symbol::Intern("Fit"));
  status.AddReason("Too many pods");
  EXPECT_EQ(status.ToString(), "Unschedulable by Fit: Insufficient cpu, Too many pods");
  EXPECT_EQ(status.message(), "Insufficient cpu, Too many pods");
  EXPECT_THAT(status.reasons(), ElementsAre("Insufficient cpu", "Too many pods"));
  EXPECT_EQ(Status::Error(absl::InternalError("x")).ToString(), "Error: x");
}

TEST(Status, ACopyIsItsOwn) {
  Status status = Status::Unschedulable("Insufficient cpu").WithPlugin(Symbol::Intern("Fit"));
  Status copy = status;
  EXPECT_EQ(copy, status);
  copy.AddReason("Too many pods");
  EXPECT_EQ(status.message(), "Insufficient cpu");
  copy = status;
  EXPECT_EQ(copy, status);
  copy = *&copy;
  EXPECT_EQ(copy, status);
  status = Status::Success();
  EXPECT_THAT(status.reasons(), IsEmpty());
  EXPECT_EQ(copy.message(), "Insufficient cpu");
}

TEST(Status, MovedFromKeepsCodeAndPlugin) {
  Status status = Status::Error("broken").WithPlugin(Symbol::Intern("Fit"));
  const Status moved = std::move(status);
  EXPECT_EQ(moved.ToString(), "Error by Fit: broken");
  EXPECT_EQ(status.ToString(), "Error by Fit");  // NOLINT(bugprone-use-after-move)
  status.AddReason("again");
  EXPECT_EQ(status.message(), "again");
}

TEST(Status, WithoutReasonsAreEqual) {
  EXPECT_EQ(Status::Make(Code::kSkip, {}), Status::Skip());
  EXPECT_NE(Status::Skip(), Status::Success());
  EXPECT_NE(Status::Make(Code::kError, {}), Status::Error("x"));
}

TEST(Status, Rejections) {
  for (const Code code :
       {Code::kUnschedulable, Code::kUnschedulableAndUnresolvable, Code::kPending}) {
    EXPECT_TRUE(Status::Make(code, {}).IsRejected()) << CodeName(code);
  }
  for (const Code code : {Code::kSuccess, Code::kError, Code::kWait, Code::kSkip}) {
    EXPECT_FALSE(Status::Make(code, {}).IsRejected()) << CodeName(code);
  }
  EXPECT_TRUE(Status::Skip().IsSkip());
  EXPECT_TRUE(Status::Wait().IsWait());
  EXPECT_TRUE(Status::Pending("x").IsRejected());
  EXPECT_EQ(CodeName(Code::kUnschedulableAndUnresolvable), "UnschedulableAndUnresolvable");
  EXPECT_EQ(CodeName(static_cast<Code>(99)), "unknown code");
}

TEST(WaitingFor, ARejectionWithoutAReasonSaysThat) {
  WaitingFor waiting;
  waiting.reason = WaitingReason::kRejected;
  waiting.nodes = waiting.rejecting_nodes = 2;
  EXPECT_EQ(waiting.ToString(), "rejected without a reason on 2 of 2 nodes");
  waiting.plugin = "Picky";
  EXPECT_EQ(waiting.ToString(), "rejected by Picky without a reason on 2 of 2 nodes");
  waiting.alone = "of its mark";
  EXPECT_EQ(waiting.ToString(),
            "rejected by Picky without a reason on 2 of 2 nodes; placed on its own: of its mark");
}

TEST(ClusterEvent, MatchesWhatIsTheSameOrMoreSpecific) {
  using R = EventResource;
  const struct {
    ClusterEvent registered, incoming;
    bool matches;
  } cases[] = {
      {{R::Node(), action::kAdd}, {R::Node(), action::kAdd}, true},
      {{R::Node(), action::kAdd | action::kUpdateNodeLabel},
       {R::Node(), action::kUpdateNodeLabel},
       true},
      {{R::Node(), action::kUpdate}, {R::Node(), action::kUpdateNodeTaint}, true},
      {{R::Node(), action::kUpdate}, {R::Node(), action::kUpdateOther}, true},
      {{R::Node(), action::kUpdateNodeLabel}, {R::Node(), action::kUpdateOther}, false},
      {{R::Node(), action::kUpdateNodeLabel}, {R::Node(), action::kUpdateNodeTaint}, false},
      {{R::Node(), action::kAdd}, {R::Node(), action::kDelete}, false},
      {{R::Node(), action::kAll}, {R::Pod(), action::kAdd}, false},
      {{R::Pod(), action::kDelete}, {R::AssignedPod(), action::kDelete}, true},
      {{R::Pod(), action::kDelete}, {R::UnscheduledPod(), action::kDelete}, true},
      {{R::AssignedPod(), action::kAll}, {R::UnscheduledPod(), action::kAdd}, false},
      {{R::Of(Kind::kPodGroup), action::kAdd}, {R::Of(Kind::kPodGroup), action::kAdd}, true},
      {{R::Of(Kind::kPodGroup), action::kAdd}, {R::Of(Kind::kElasticQuota), action::kAdd}, false},
      {{R::Wildcard(), action::kAll}, {R::Node(), action::kDelete}, true},
      {{R::Wildcard(), action::kAll}, {R::Wildcard(), action::kAll}, true},
      {{R::Wildcard(), action::kAdd}, {R::Node(), action::kDelete}, false},
      {{R::Node(), action::kAll}, {R::Wildcard(), action::kAll}, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.registered.Matches(c.incoming), c.matches)
        << static_cast<int>(c.registered.resource.type) << "/" << c.registered.action << " and "
        << static_cast<int>(c.incoming.resource.type) << "/" << c.incoming.action;
  }
}

TEST(PodSignature, NeighbouringValuesCannotRunTogether) {
  const auto bytes = [](const std::vector<std::string>& values) {
    PodSignature signature;
    for (const std::string& value : values) signature.Add(value);
    return signature.bytes();
  };
  EXPECT_EQ(bytes({"ab", "c"}), bytes({"ab", "c"}));
  EXPECT_NE(bytes({"ab", "c"}), bytes({"a", "bc"}));
  EXPECT_NE(bytes({"a", ""}), bytes({"a"}));
  PodSignature number, text;
  number.Add(int64_t{0});
  text.Add("");
  EXPECT_NE(number.bytes(), text.bytes());
  text.clear();
  EXPECT_THAT(text.bytes(), IsEmpty());
}

TEST(NodeVerdicts, KeepsTheFirstRejector) {
  NodeVerdicts verdicts;
  verdicts.Reset(4);
  verdicts.BeginBlock({3, 1, 0});
  EXPECT_THAT(verdicts.candidates(), ElementsAre(3, 1, 0));
  verdicts.Set(1, Code::kUnschedulable);
  verdicts.EndPlugin(0);
  EXPECT_THAT(verdicts.candidates(), ElementsAre(3, 0));
  verdicts.Set(3, Code::kUnschedulableAndUnresolvable);
  verdicts.EndPlugin(1);

  EXPECT_EQ(verdicts.code(0), Code::kSuccess);
  EXPECT_TRUE(verdicts.IsFeasible(0));
  EXPECT_EQ(verdicts.code(1), Code::kUnschedulable);
  EXPECT_EQ(verdicts.rejector(1), 0);
  EXPECT_EQ(verdicts.code(2), Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(verdicts.rejector(2), NodeVerdicts::kNotFiltered);
  EXPECT_EQ(verdicts.code(3), Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(verdicts.rejector(3), 1);

  verdicts.BeginBlock({2});  // the next block leaves the rows of the first alone
  EXPECT_TRUE(verdicts.IsFeasible(2));
  EXPECT_EQ(verdicts.rejector(1), 0);
  verdicts.Reset(1);
  EXPECT_EQ(verdicts.rows(), 1);
  EXPECT_EQ(verdicts.rejector(0), NodeVerdicts::kNotFiltered);
}

TEST(NodeVerdicts, ReasonIdsMeanTheSameInAllBlocks) {
  NodeVerdicts verdicts;
  verdicts.Reset(20);
  const auto set = [&](NodeRow row, const std::string& reason) {
    verdicts.BeginBlock({row});
    verdicts.Set(row, Status::Unschedulable(reason));
    verdicts.EndPlugin(0);
    return verdicts.reason_id(row);
  };
  const uint8_t full = set(0, "full"), old = set(1, "old");
  EXPECT_NE(full, NodeVerdicts::kNoReasonId);
  EXPECT_NE(old, NodeVerdicts::kNoReasonId);
  EXPECT_NE(full, old);
  EXPECT_EQ(set(2, "old"), old);
  for (NodeRow row = 3; row < 9; ++row) set(row, absl::StrCat("row ", row));
  EXPECT_EQ(set(9, "one too many"), NodeVerdicts::kNoReasonId);
  EXPECT_EQ(set(10, "full"), full);
  verdicts.ClearReasonIds();
  EXPECT_EQ(set(11, "one too many"), full);  // the first number again
}

// Gives each node the status that its label "status" names, and scores it by its number of pods.
class ByLabel final : public FilterPlugin, public ScorePlugin {
 public:
  Status Filter(const CycleState&, const PodInfo&, const NodeInfo& node) const override {
    const Symbol* wanted = node.labels().Find("status");
    if (wanted == nullptr) return Status::Success();
    for (const Code code :
         {Code::kError, Code::kUnschedulable, Code::kUnschedulableAndUnresolvable, Code::kSkip}) {
      if (wanted->view() == CodeName(code)) return Status::Make(code, {"because"});
    }
    return Status::Success();
  }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&,
                                const NodeInfo& node) const override {
    if (node.unschedulable()) return absl::InternalError("no score");
    return static_cast<int64_t>(node.pods().size());
  }
};

NodeInfo Node(Code code) { return MakeNode().Label("status", CodeName(code)).Info(); }

TEST(FilterPlugin, BatchFormAsksFilterRowByRow) {
  const TestNodes nodes({MakeNode().Info(), Node(Code::kUnschedulable),
                         Node(Code::kUnschedulableAndUnresolvable), Node(Code::kError),
                         Node(Code::kSkip)});
  const auto pod = MakePod().Obj();
  NodeVerdicts verdicts;
  verdicts.Reset(nodes.size());
  verdicts.BeginBlock({0, 1, 2});
  EXPECT_TRUE(ByLabel().FilterNodes({}, *pod, nodes.table(), verdicts).ok());
  EXPECT_EQ(verdicts.code(0), Code::kSuccess);
  EXPECT_EQ(verdicts.code(1), Code::kUnschedulable);
  EXPECT_EQ(verdicts.code(2), Code::kUnschedulableAndUnresolvable);

  verdicts.BeginBlock({3});
  EXPECT_EQ(ByLabel().FilterNodes({}, *pod, nodes.table(), verdicts).ToString(), "Error: because");
  verdicts.BeginBlock({4});
  EXPECT_TRUE(ByLabel().FilterNodes({}, *pod, nodes.table(), verdicts).IsSkip());  // as it is
}

TEST(ScorePlugin, BatchFormAsksScoreRowByRow) {
  const TestNodes nodes(
      {MakeNode().Info(), MakeNode().Info({MakePod().Obj()}), MakeNode().Unschedulable().Info()});
  const auto pod = MakePod().Obj();
  std::vector<int64_t> scores(2, -1);
  EXPECT_TRUE(ByLabel().ScoreNodes({}, *pod, nodes.table(), {1, 0}, absl::MakeSpan(scores)).ok());
  EXPECT_THAT(scores, ElementsAre(1, 0));
  EXPECT_EQ(ByLabel().ScoreNodes({}, *pod, nodes.table(), {0, 2}, absl::MakeSpan(scores)).message(),
            "no score");
}

TEST(DefaultNormalizeScores, MapsTheHighestToOneHundred) {
  constexpr auto kHigh = ScoreDirection::kHigherIsBetter;
  constexpr auto kLow = ScoreDirection::kLowerIsBetter;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const struct {
    ScoreDirection direction;
    std::vector<int64_t> scores, want;
  } cases[] = {
      {kHigh, {}, {}},
      {kHigh, {1, 2, 3, 4}, {25, 50, 75, 100}},
      {kLow, {1, 2, 3, 4}, {75, 50, 25, 0}},
      {kHigh, {1, 3}, {33, 100}},  // truncated
      {kLow, {1, 3}, {67, 0}},     // 100 minus the truncated share
      {kHigh, {0, 0}, {0, 0}},
      {kLow, {0, 0}, {100, 100}},
      {kHigh, {1000, 10, 20, 30}, {100, 1, 2, 3}},
      {kHigh, {kMax, kMax / 2, 0}, {100, 49, 0}},  // where upstream's arithmetic overflows
  };
  for (const auto& c : cases) {
    std::vector<int64_t> scores = c.scores;
    DefaultNormalizeScores(c.direction, absl::MakeSpan(scores));
    EXPECT_EQ(scores, c.want);
  }
}

struct Number final : StateData {
  explicit Number(int value) : value(value) {}
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<Number>(*this); }
  int value;
};
constexpr StateKey<Number> kNumber{"MyPlugin number"};

TEST(CycleState, ReadIsNeverNull) {
  CycleState state;
  EXPECT_EQ(state.Find(kNumber), nullptr);
  for (const absl::Status& missing :
       {state.Read(kNumber).status(), state.ReadMutable(kNumber).status()}) {
    EXPECT_EQ(missing.message(),
              "nothing is stored under the state key \"MyPlugin number\": is the extension point "
              "that writes it (PreFilter, PreScore) enabled too?");
  }
  state.Write(kNumber, std::make_unique<Number>(7));
  ASSERT_TRUE(state.Read(kNumber).ok());
  EXPECT_EQ((*state.Read(kNumber))->value, 7);
  (*state.ReadMutable(kNumber))->value = 8;
  EXPECT_EQ((*state.Read(kNumber))->value, 8);
  state.Delete(kNumber);
  EXPECT_FALSE(state.Read(kNumber).ok());
}

class NothingSpecial final : public PreBindPlugin {
 public:
  Status PreBind(CycleState&, const PodInfo&, absl::string_view) override {
    return Status::Success();
  }
};

TEST(PreBindPlugin, RunsUnlessItSaysOtherwise) {
  CycleState state;
  EXPECT_TRUE(NothingSpecial().PreBindPreFlight(state, *MakePod().Obj(), "n").ok());
}

}  // namespace
}  // namespace berth
