// SPDX-License-Identifier: Apache-2.0
// PreScore, Score and NormalizeScores: totals, skips, failures.
#include <limits>
#include <stdexcept>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;

class ScoreRunnerTest : public RunnerTest {
 protected:
  Status Run(const Framework& framework, absl::Span<const NodeRow> rows) {
    totals_.assign(rows.size(), -1);
    return framework.scores().RunScore(state_, *pod_, nodes_.table(), rows, absl::MakeSpan(totals_),
                                       &by_plugin_);
  }
  std::string ByPlugin() const {
    return absl::StrJoin(by_plugin_, "; ", [](std::string* out, const PluginScores& scores) {
      absl::StrAppend(out, scores.plugin.view(), " ", absl::StrJoin(scores.weighted, ","));
    });
  }
  // 10, 20, 30 for n0, n1, n2.
  static absl::StatusOr<int64_t> Tens(const NodeInfo& node) {
    return 10 * (node.name().view()[1] - '0' + 1);
  }

  std::vector<int64_t> totals_;
  std::vector<PluginScores> by_plugin_;
};

TEST_F(ScoreRunnerTest, WeightedTotals) {
  Add<FakeScore>("A").score = Tens;
  Add<FakeScore>("B").score = [](auto&) { return 7; };
  Add<FakeNormalizedScore>("Half").score = [](const NodeInfo& node) { return *Tens(node) * 1000; };
  script("Half").normalize = [](absl::Span<int64_t> scores) {
    for (int64_t& score : scores) score /= 2000;
    return absl::OkStatus();
  };
  const auto framework = Build("multiPoint: A:2 B Half:10");
  EXPECT_TRUE(Run(*framework, {2, 0}).ok());
  EXPECT_EQ(ByPlugin(), "A 60,20; B 7,7; Half 150,50");
  EXPECT_THAT(totals_, ElementsAre(217, 77));
  EXPECT_TRUE(
      framework->scores()
          .RunScore(state_, *pod_, nodes_.table(), {1}, absl::MakeSpan(totals_).first(1), nullptr)
          .ok());
  EXPECT_EQ(totals_[0], 2 * 20 + 7 + 10 * 10);
  EXPECT_TRUE(Run(*framework, {}).ok());
  EXPECT_EQ(ByPlugin(), "");
}

// Totals are kept in the finest resolution; a weight means the same at any.
TEST_F(ScoreRunnerTest, FineScores) {
  Add<FakeScore>("Whole").score = Tens;
  Add<FakeScore>("Fine").score = [](auto&) { return 7123; };
  script("Fine").score_resolution = 1000;
  Add<FakeScore>("Tenths").score = [](auto&) { return 1000; };
  script("Tenths").score_resolution = 10;
  const auto framework = Build("multiPoint: Whole:2 Fine Tenths:3");
  EXPECT_EQ(framework->plugins().score_resolution, 1000);
  EXPECT_TRUE(Run(*framework, {2, 0}).ok());
  EXPECT_EQ(ByPlugin(), "Whole 60000,20000; Fine 7123,7123; Tenths 300000,300000");
  EXPECT_THAT(totals_, ElementsAre(367123, 327123));
  script("Tenths").score = [](auto&) { return 1001; };
  EXPECT_THAT(Run(*framework, {2, 0}).message(),
              ::testing::HasSubstr("plugin \"Tenths\" returns an invalid score 1001, it should in "
                                   "the range of [0, 1000] after normalizing"));
}

TEST_F(ScoreRunnerTest, PreScoreSkip) {
  Add<FakePreScore, FakeScore>("A").score = Tens;
  Add<FakePreScore, FakeScore>("B").score = [](auto&) { return 1; };
  const auto framework = Build("multiPoint: A B");
  script("A").pre_score = [] { return Status::Skip(); };
  EXPECT_TRUE(framework->scores().RunPreScore(state_, *pod_, nodes_.table(), {0, 1}).ok());
  EXPECT_TRUE(Run(*framework, {0, 1}).ok());
  EXPECT_EQ(ByPlugin(), "B 1,1");
  script("A").pre_score = nullptr;
  EXPECT_TRUE(framework->scores().RunPreScore(state_, *pod_, nodes_.table(), {0, 1}).ok());
  EXPECT_TRUE(Run(*framework, {0, 1}).ok());
  EXPECT_EQ(ByPlugin(), "A 10,20; B 1,1");
}

TEST_F(ScoreRunnerTest, PreScoreFailures) {
  Add<FakePreScore>("A");
  Add<FakePreScore>("B");
  const auto framework = Build("multiPoint: A B");
  script("A").pre_score = [] { return Status::Error("broken"); };
  EXPECT_EQ(framework->scores().RunPreScore(state_, *pod_, nodes_.table(), {0}).ToString(),
            "Error by A: running PreScore plugin \"A\": broken");
  EXPECT_EQ(framework->fault_log().faults(), 0);
  script("A").pre_score = [] { return Status::Unschedulable("too late"); };
  EXPECT_EQ(framework->scores().RunPreScore(state_, *pod_, nodes_.table(), {0}).ToString(),
            "Error by A: running PreScore plugin \"A\": returned \"Unschedulable\", which is "
            "unsupported. It is supposed to return Success, Skip, or Error status");
  EXPECT_EQ(framework->fault_log().faults(), 1);
  EXPECT_THAT(log_, ElementsAre("A.PreScore", "A.PreScore"));
}

TEST_F(ScoreRunnerTest, Failures) {
  const auto score = [](int64_t value) {
    return [value](const NodeInfo&) -> absl::StatusOr<int64_t> { return value; };
  };
  const auto out_of_range = [](absl::string_view value) {
    return absl::StrCat(
        "Error by A: applying score defaultWeights on Score plugins: plugin \"A\" returns an "
        "invalid score ",
        value, ", it should in the range of [0, 100] after normalizing");
  };
  const struct {
    absl::string_view what;
    std::function<absl::StatusOr<int64_t>(const NodeInfo&)> score;
    std::function<absl::Status(absl::Span<int64_t>)> normalize;
    std::string want;
    int faults;
  } cases[] = {
      {"lowest", score(0), nullptr, "Success", 0},
      {"highest", score(100), nullptr, "Success", 0},
      {"too high", score(101), nullptr, out_of_range("101"), 1},
      {"too low", score(-1), nullptr, out_of_range("-1"), 1},
      {"far too high", score(std::numeric_limits<int64_t>::max()), nullptr,
       out_of_range("9223372036854775807"), 1},
      {"too high before normalising only", score(5000),
       [](absl::Span<int64_t> scores) {
         DefaultNormalizeScores(ScoreDirection::kHigherIsBetter, scores);
         return absl::OkStatus();
       },
       "Success", 0},
      {"Score fails", [](auto&) { return absl::InternalError("broken"); }, nullptr,
       "Error by A: running Score plugins: plugin \"A\" failed with: broken", 0},
      {"NormalizeScores fails", score(1),
       [](absl::Span<int64_t>) { return absl::InternalError("broken"); },
       "Error by A: running Normalize on Score plugins: plugin \"A\" failed with: broken", 0},
      {"Score throws", [](auto&) -> absl::StatusOr<int64_t> { throw std::runtime_error("boom"); },
       nullptr, "Error by A: plugin \"A\" threw in Score: boom", 1},
      {"NormalizeScores throws", score(1), [](absl::Span<int64_t>) -> absl::Status { throw 3; },
       "Error by A: plugin \"A\" threw in NormalizeScores: not a std::exception", 1},
  };
  Add<FakeNormalizedScore>("A");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto framework = Build("multiPoint: A:2147483647");
    script("A").score = c.score;
    script("A").normalize = c.normalize;
    EXPECT_EQ(Run(*framework, {0, 1, 2}).ToString(), c.want);
    EXPECT_EQ(framework->fault_log().faults(), c.faults);
  }
}

}  // namespace
}  // namespace berth::testing
