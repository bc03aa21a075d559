// SPDX-License-Identifier: Apache-2.0
// What becomes of a pod whose remote plugin fails at a point: failurePolicy decides, and the
// failure is counted as a fault of the plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "absl/strings/str_replace.h"
#include "berth/framework/bind.h"
#include "berth/framework/filter.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// At the point that a pod is named after it throws. Prefers the node that is called best, where the
// scores are those that the test sets; rejects the node that is called bad.
class Failing final : public Plugin,
                      public PreFilterPlugin,
                      public FilterPlugin,
                      public PostFilterPlugin,
                      public ScorePlugin,
                      public ReservePlugin,
                      public PermitPlugin,
                      public PreBindPlugin,
                      public BindPlugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs&, Handle&) {
    return std::make_unique<Failing>();
  }
  absl::string_view Name() const override { return "Failing"; }
  Status PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) override {
    return At("prefilter", pod);
  }
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const override {
    if (node.name().view() == "bad") return Status::Unschedulable("node(s) were bad");
    return node.name().view() == "best" ? At("filter", pod) : Status::Success();
  }
  Status PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses&,
                    PostFilterResult&) override {
    At("postfilter", pod);
    return Status::Unschedulable("");
  }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo& pod,
                                const NodeInfo& node) const override {
    if (node.name().view() == "bad") return score_of_bad;
    if (node.name().view() == "best") At("score", pod);
    return node.name().view() == "best" ? score_of_best : 0;
  }
  Status Reserve(CycleState&, const PodInfo& pod, absl::string_view) override {
    return At("reserve", pod);
  }
  void Unreserve(CycleState&, const PodInfo& pod, absl::string_view) override {
    At("reserve", pod);
  }
  Status Permit(CycleState&, const PodInfo& pod, absl::string_view, absl::Duration&) override {
    return At("permit", pod);
  }
  Status PreBind(CycleState&, const PodInfo& pod, absl::string_view) override {
    return At("prebind", pod);
  }
  Status Bind(CycleState&, const PodInfo& pod, absl::string_view) override {
    At("bind", pod);
    return Status::Skip();
  }

  static inline int64_t score_of_best = 100, score_of_bad = 0;

 private:
  static Status At(absl::string_view point, const PodInfo& pod) {
    if (pod.name() == point) throw std::runtime_error(absl::StrCat("boom at ", point));
    return Status::Success();
  }
};

struct FailingStage {
  explicit FailingStage(const std::string& policy, ServedPlugin served = {})
      : address(FreshAddress()) {
    Failing::score_of_best = 100;
    Failing::score_of_bad = 0;
    served.registration = WithPlugin("Failing", &Failing::Create);
    auto started = PluginServer::Start(std::move(served), {.address = address});
    BERTH_CHECK(started.ok()) << started.status().ToString();
    server = *std::move(started);
    std::vector<Object> nodes;
    for (const absl::string_view name : {"bad", "plain", "best"}) {
      nodes.push_back(MakeNode().Name(name).Capacity("cpu", "8").Pods(20).Object());
    }
    // Before DefaultBinder, so that it is asked at Bind.
    auto made = Simulate(
        absl::StrReplaceAll(
            RemoteProfile(address, absl::StrCat("deadline: 20s, failurePolicy: ", policy, ", "),
                          "{name: DefaultBinder}"),
            {{"weight: 3}]", "weight: 3}, {name: DefaultBinder}]"}}),
        std::move(nodes));
    BERTH_CHECK(made.ok()) << made.status().ToString();
    simulation = *std::move(made);
  }

  // The node that the pod gets, or why it gets none.
  std::string Add(const std::string& name, const std::string& cpu = "1") {
    simulation->cluster().Set(MakePod().Name(name).Request("cpu", cpu).Object());
    simulation->RunUntilIdle();
    for (const auto& [pod, node] : simulation->cluster().Bindings()) {
      if (pod == "default/" + name) return node;
    }
    for (const UnboundPod& unbound : simulation->scheduler().Unbound()) {
      if (unbound.pod == "default/" + name) return unbound.message;
    }
    return "";
  }
  int64_t FaultsAt(absl::string_view point, std::string* first = nullptr) const {
    for (const PluginTrouble& trouble : simulation->scheduler().counters().troubles) {
      if (trouble.plugin != "Remote" || trouble.point != point) continue;
      if (first != nullptr) *first = trouble.first_fault;
      return trouble.faults;
    }
    return 0;
  }

  const std::string address;
  std::unique_ptr<PluginServer> server;
  std::unique_ptr<Simulation> simulation;
};

struct FailingPoint {
  std::string pod;          // and so the point
  std::string point;        // as faults name it
  std::string with_ignore;  // where the pod goes then
};

class FailingPoints : public ::testing::TestWithParam<FailingPoint> {};

TEST_P(FailingPoints, OfAPluginThatFailsTheCycle) {
  FailingStage stage("Fail");
  EXPECT_EQ(stage.Add("other"), "best");
  const std::string message = stage.Add(GetParam().pod);
  EXPECT_THAT(message, HasSubstr("Remote"));
  EXPECT_THAT(message, HasSubstr("boom at " + GetParam().pod));
  std::string first;
  EXPECT_GT(stage.FaultsAt(GetParam().point, &first), 0);
  EXPECT_THAT(first, HasSubstr("boom at " + GetParam().pod));
  EXPECT_EQ(stage.Add("another"), "best");  // the session goes on
}

TEST_P(FailingPoints, OfAPluginThatMayBeIgnored) {
  FailingStage stage("Ignore");
  EXPECT_EQ(stage.Add(GetParam().pod), GetParam().with_ignore);
  EXPECT_GT(stage.FaultsAt(GetParam().point), 0);
  EXPECT_GT(stage.simulation->scheduler().PluginCounters()["Remote/failures"], 0);
  EXPECT_EQ(stage.Add("other"), "best");
}

// In the middle of a tie the first node that is there is taken: without the plugin "bad".
INSTANTIATE_TEST_SUITE_P(All, FailingPoints,
                         ::testing::Values(FailingPoint{"prefilter", "PreFilter", "bad"},
                                           FailingPoint{"filter", "PreFilter", "bad"},
                                           FailingPoint{"score", "Score", "plain"},
                                           FailingPoint{"reserve", "Reserve", "best"},
                                           FailingPoint{"permit", "Permit", "best"},
                                           FailingPoint{"prebind", "PreBind", "best"},
                                           FailingPoint{"bind", "Bind", "best"}));

TEST(FailurePolicy, OfPostFilter) {
  for (const char* const policy : {"Fail", "Ignore"}) {
    FailingStage stage(policy);
    EXPECT_THAT(stage.Add("postfilter", "100"), HasSubstr("nodes are available"));
    EXPECT_GT(stage.FaultsAt("PostFilter"), 0) << policy;
  }
}

// Scores that are out of range fail as Score does: verdicts hold.
TEST(FailurePolicy, OfScoresThatAreOutOfRange) {
  for (const int64_t score : {int64_t{101}, int64_t{-1}, int64_t{1} << 60}) {
    FailingStage fail("Fail");
    Failing::score_of_best = score;
    EXPECT_THAT(fail.Add("p"), HasSubstr(absl::StrCat("the score of node best is ", score)));
    EXPECT_THAT(fail.Add("p2"), HasSubstr("the remote plugin Remote at unix:"));
    EXPECT_GE(fail.FaultsAt("Score"), 2);
    Failing::score_of_best = 100;
    EXPECT_EQ(fail.Add("q"), "best");

    FailingStage ignore("Ignore");
    Failing::score_of_best = score;
    EXPECT_EQ(ignore.Add("p"), "plain");
    EXPECT_GT(ignore.FaultsAt("Score"), 0);
    Failing::score_of_best = 100;
    EXPECT_EQ(ignore.Add("q"), "best");
  }
}

TEST(FailurePolicy, ScoresOfNodesThatAreRejectedDoNotCount) {
  FailingStage stage("Fail");
  Failing::score_of_bad = 1'000'000;
  EXPECT_EQ(stage.Add("p"), "best");
  EXPECT_EQ(stage.simulation->scheduler().counters().plugin_faults, 0);
}

// Pods of one class share what was said; of scores that do not count nothing is shared.
TEST(FailurePolicy, NothingOfAFailureIsRemembered) {
  FailingStage stage("Ignore", {.is_signed = true, .depends_on = {"NodeLabels"}});
  Failing::score_of_best = 101;
  // Without its scores the other plugins spread them over the nodes that it does not reject.
  EXPECT_EQ(stage.Add("p0"), "plain");
  EXPECT_EQ(stage.Add("p1"), "best");
  EXPECT_EQ(stage.Add("p2"), "plain");
  EXPECT_GE(stage.FaultsAt("Score"), 3);
  Failing::score_of_best = 100;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.Add(absl::StrCat("q", i)), "best");
}

TEST(FailurePolicy, NormalizedScoresMayBeLargeAndNotNegative) {
  FailingStage stage("Fail", {.normalization = ScoreDirection::kHigherIsBetter});
  Failing::score_of_best = int64_t{1} << 50;
  EXPECT_EQ(stage.Add("p"), "best");
  Failing::score_of_best = -1;
  EXPECT_THAT(stage.Add("q"), HasSubstr("the score of node best is -1"));
}

}  // namespace
}  // namespace berth::testing
