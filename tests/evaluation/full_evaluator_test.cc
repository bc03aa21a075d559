// SPDX-License-Identifier: Apache-2.0
// Tests of src/evaluation/full_evaluator.h.
#include "evaluation/full_evaluator.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/evaluation/one_profile.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;

class FullEvaluatorTest : public ::testing::Test {
 protected:
  void AddNodes(int count, const std::string& cpu) {
    for (int i = 0; i < count; ++i) {
      const std::string name = absl::StrCat("node-", cpu, "-", 1000 + i);
      world_.Set(MakeNode().Name(name).Allocatable("cpu", cpu).Allocatable("pods", "9").Object());
    }
  }

  Evaluation Evaluate(CycleState& state, int percentage = 0) {
    return EvaluateOn({}, state, percentage);
  }
  // As if a PreFilter plugin had named these; all if none is named.
  Evaluation EvaluateOn(const std::vector<std::string>& names, CycleState& state, int percentage) {
    const EvaluationRequest request = {.framework = world_.framework(),
                                       .state = state,
                                       .pod = pod_,
                                       .nodes = world_.nodes(),
                                       .nominator = world_.cluster().nominations(),
                                       .percentage = percentage};
    PreFilterOutcome pre_filter =
        request.framework.filters().RunPreFilter(state, *pod_, request.nodes);
    EXPECT_TRUE(pre_filter.status.ok());
    if (!names.empty()) pre_filter.narrowed.node_names.emplace();
    for (const std::string& name : names) {
      pre_filter.narrowed.node_names->insert(Symbol::Intern(name));
    }
    return evaluator_.Evaluate(request, pre_filter);
  }

  OneProfile world_;
  const std::shared_ptr<const PodInfo> pod_ =
      world_.Set(MakePod().Name("p").Request("cpu", "2").Object());
  FullEvaluator evaluator_;
};

TEST_F(FullEvaluatorTest, ASingleFeasibleNodeIsNotScored) {
  AddNodes(3, "1");
  AddNodes(1, "4");
  CycleState state;
  const Evaluation evaluation = Evaluate(state);
  ASSERT_GE(evaluation.best, 0);
  EXPECT_EQ(world_.nodes().node(evaluation.best).name().view(), "node-4-1000");
  EXPECT_TRUE(evaluator_.scores_by_plugin().empty());
  EXPECT_EQ(evaluation.diagnosis, nullptr);
}

TEST_F(FullEvaluatorTest, AnExplanationHasItsScoresAndWhyNotTheOthers) {
  AddNodes(3, "1");
  AddNodes(1, "4");
  CycleState state;
  state.SetForExplanation();
  const Evaluation evaluation = Evaluate(state);
  ASSERT_GE(evaluation.best, 0);
  ASSERT_EQ(evaluator_.feasible().size(), 1u);
  ASSERT_FALSE(evaluator_.scores_by_plugin().empty());
  int64_t total = 0;
  for (const PluginScores& scores : evaluator_.scores_by_plugin()) total += scores.weighted[0];
  EXPECT_EQ(evaluator_.totals()[0], total);
  ASSERT_NE(evaluation.diagnosis, nullptr);
  const ReasonCounts reasons = evaluation.diagnosis->CountReasons();
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons.begin()->first, "Insufficient cpu");
  EXPECT_EQ(reasons.begin()->second.nodes, 3);
}

TEST_F(FullEvaluatorTest, WithoutAFeasibleNodeItTellsWhy) {
  AddNodes(3, "1");
  CycleState state;
  const Evaluation evaluation = Evaluate(state);
  EXPECT_EQ(evaluation.best, -1);
  EXPECT_TRUE(evaluation.status.ok());
  ASSERT_NE(evaluation.diagnosis, nullptr);
  EXPECT_EQ(evaluation.diagnosis->statuses().CountWith(Code::kUnschedulableAndUnresolvable), 3);
  const uint8_t fit = world_.framework().plugins().FilterIndex(Symbol::Intern("NodeResourcesFit"));
  EXPECT_TRUE(evaluation.diagnosis->HasRejected(fit));
  const FreeCapacity free = evaluation.diagnosis->MeasureFree({"cpu", fit, 2000});
  EXPECT_EQ(free.all_free, 3000);
  EXPECT_EQ(free.most_free, 1000);
}

TEST_F(FullEvaluatorTest, APartialSearchBeginsWhereTheLastOneEnded) {
  AddNodes(300, "4");
  for (const NodeRow first : {0, 120}) {
    CycleState state;
    Evaluate(state, 40);
    ASSERT_EQ(evaluator_.feasible().size(), 120u);
    EXPECT_EQ(evaluator_.feasible().front(), first);
  }
}

TEST_F(FullEvaluatorTest, NodesThatPreFilterNamedCountAmongAllForTheNextStart) {
  AddNodes(300, "4");
  CycleState of_three, of_one, state, next;
  EvaluateOn({"node-4-1200", "node-4-1201", "node-4-1202"}, of_three, 40);
  Evaluate(state, 40);
  EXPECT_EQ(evaluator_.feasible().front(), 3);
  EvaluateOn({"node-4-1007"}, of_one, 40);
  Evaluate(next, 40);
  EXPECT_EQ(evaluator_.feasible().front(), 3 + 120 + 1);
}

TEST_F(FullEvaluatorTest, AnExplanationLooksAtAllNodes) {
  AddNodes(300, "4");
  CycleState state;
  state.SetForExplanation();
  Evaluate(state, 40);
  EXPECT_EQ(evaluator_.feasible().size(), 300u);
}

}  // namespace
}  // namespace berth
