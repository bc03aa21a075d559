// SPDX-License-Identifier: Apache-2.0
// The points around the search for a node: when they stop, what is remembered, who is blamed.
#include <limits>
#include <stdexcept>
#include <thread>

#include "absl/strings/str_join.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FrameworkRunTest : public FrameworkTest {
 protected:
  static std::vector<NodeInfo> MakeNodes(int count) {
    std::vector<NodeInfo> nodes;
    for (int i = 0; i < count; ++i) nodes.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
    return nodes;
  }

  CycleState state_;
  const std::shared_ptr<const PodInfo> pod_ = MakePod().Name("p").Obj();
  const TestNodes nodes_{MakeNodes(3)};
};

// --- PreEnqueue ---

TEST_F(FrameworkRunTest, PreEnqueueStopsAtTheFirstGate) {
  for (const char* name : {"A", "B", "C"}) Add<FakePreEnqueue>(name);
  const auto framework = Build("multiPoint: A B C");
  EXPECT_TRUE(framework->RunPreEnqueue(*pod_).ok());
  EXPECT_THAT(log_, ElementsAre("A.PreEnqueue", "B.PreEnqueue", "C.PreEnqueue"));

  log_.clear();
  script("C").pre_enqueue = [](auto&) { return Status::UnschedulableAndUnresolvable("gated"); };
  EXPECT_EQ(framework->RunPreEnqueue(*pod_, Symbol::Intern("B")).ToString(),
            "UnschedulableAndUnresolvable by C: gated");
  EXPECT_THAT(log_, ElementsAre("B.PreEnqueue", "A.PreEnqueue", "C.PreEnqueue"));
  log_.clear();
  EXPECT_FALSE(framework->RunPreEnqueue(*pod_, Symbol::Intern("C")).ok());
  EXPECT_THAT(log_, ElementsAre("C.PreEnqueue"));
}

// --- PostFilter ---

TEST_F(FrameworkRunTest, PostFilter) {
  struct Answer {
    Status status;
    std::optional<std::string> nominated;
  };
  const Status ok, no_a = Status::Unschedulable("no a"), no_b = Status::Unschedulable("no b");
  const struct {
    absl::string_view what;
    Answer a, b;
    std::string status;
    std::optional<std::string> nominated;
    int ran;
  } cases[] = {
      {"the first success ends it", {ok, "n1"}, {ok, "n2"}, "Success", "n1", 1},
      {"a success that nominates nothing", {ok}, {ok, "n2"}, "Success", {}, 1},
      {"the next one is tried after Unschedulable", {no_a}, {ok, "n2"}, "Success", "n2", 2},
      {"a success replaces what another one said", {no_a, ""}, {ok}, "Success", {}, 2},
      {"nobody can help: all reasons, the first is blamed",
       {no_a},
       {no_b},
       "Unschedulable by A: no a, no b",
       {},
       2},
      {"of results that say something the last one stands",
       {no_a, "n1"},
       {no_b, ""},
       "Unschedulable by A: no a, no b",
       "",
       2},
      {"a result that says nothing does not count",
       {no_a, ""},
       {no_b},
       "Unschedulable by A: no a, no b",
       "",
       2},
      {"UnschedulableAndUnresolvable ends it",
       {Status::UnschedulableAndUnresolvable("never"), ""},
       {ok, "n2"},
       "UnschedulableAndUnresolvable by A: never",
       "",
       1},
      {"an error ends it without a result",
       {no_a, "n1"},
       {Status::Error("broken"), "n2"},
       "Error by B: broken",
       {},
       2},
      {"Pending counts as a rejection",
       {Status::Pending("later")},
       {no_b},
       "Unschedulable by A: later, no b",
       {},
       2},
      {"Skip is an error",
       {Status::Skip()},
       {ok, "n2"},
       "Error by A: running PostFilter plugin \"A\": returned \"Skip\", which is unsupported. It "
       "is "
       "supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Pending, or Error "
       "status",
       {},
       1},
  };
  struct NoStatuses final : NodeStatuses {
    Code code(NodeRow) const override { return Code::kUnschedulable; }
    Status status(NodeRow) const override { return Status::Unschedulable(""); }
    std::vector<NodeRow> RowsWith(Code) const override { return {}; }
  } statuses;
  Add<FakePostFilter>("A");
  Add<FakePostFilter>("B");
  const auto framework = Build("multiPoint: A B");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    log_.clear();
    for (const auto& [name, answer] : {std::pair("A", &c.a), std::pair("B", &c.b)}) {
      script(name).post_filter = [answer = answer](PostFilterResult& result) {
        EXPECT_FALSE(result.nominated_node.has_value());
        result.nominated_node = answer->nominated;
        return answer->status;
      };
    }
    PostFilterResult result;
    result.nominated_node = "left over";
    EXPECT_EQ(framework->RunPostFilter(state_, *pod_, statuses, result).ToString(), c.status);
    EXPECT_EQ(result.nominated_node, c.nominated);
    EXPECT_EQ(log_.size(), static_cast<size_t>(c.ran));
  }
  PostFilterResult result;
  EXPECT_EQ(Build("")->RunPostFilter(state_, *pod_, statuses, result).ToString(), "Unschedulable");
}

// --- Scores ---

class FrameworkScoreTest : public FrameworkRunTest {
 protected:
  Status Run(const Framework& framework, absl::Span<const NodeRow> rows) {
    totals_.assign(rows.size(), -1);
    return framework.RunScore(state_, *pod_, nodes_.table(), rows, absl::MakeSpan(totals_),
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

TEST_F(FrameworkScoreTest, WeightedTotals) {
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
      framework
          ->RunScore(state_, *pod_, nodes_.table(), {1}, absl::MakeSpan(totals_).first(1), nullptr)
          .ok());
  EXPECT_EQ(totals_[0], 2 * 20 + 7 + 10 * 10);
  EXPECT_TRUE(Run(*framework, {}).ok());
  EXPECT_EQ(ByPlugin(), "");
}

// Totals are kept in the finest resolution; a weight means the same at any.
TEST_F(FrameworkScoreTest, FineScores) {
  Add<FakeScore>("Whole").score = Tens;
  Add<FakeScore>("Fine").score = [](auto&) { return 7123; };
  script("Fine").score_resolution = 1000;
  Add<FakeScore>("Tenths").score = [](auto&) { return 1000; };
  script("Tenths").score_resolution = 10;
  const auto framework = Build("multiPoint: Whole:2 Fine Tenths:3");
  EXPECT_EQ(framework->score_resolution(), 1000);
  EXPECT_TRUE(Run(*framework, {2, 0}).ok());
  EXPECT_EQ(ByPlugin(), "Whole 60000,20000; Fine 7123,7123; Tenths 300000,300000");
  EXPECT_THAT(totals_, ElementsAre(367123, 327123));
  script("Tenths").score = [](auto&) { return 1001; };
  EXPECT_THAT(Run(*framework, {2, 0}).message(),
              ::testing::HasSubstr("plugin \"Tenths\" returns an invalid score 1001, it should in "
                                   "the range of [0, 1000] after normalizing"));
}

TEST_F(FrameworkScoreTest, PreScoreSkip) {
  Add<FakePreScore, FakeScore>("A").score = Tens;
  Add<FakePreScore, FakeScore>("B").score = [](auto&) { return 1; };
  const auto framework = Build("multiPoint: A B");
  script("A").pre_score = [] { return Status::Skip(); };
  EXPECT_TRUE(framework->RunPreScore(state_, *pod_, nodes_.table(), {0, 1}).ok());
  EXPECT_TRUE(Run(*framework, {0, 1}).ok());
  EXPECT_EQ(ByPlugin(), "B 1,1");
  script("A").pre_score = nullptr;
  EXPECT_TRUE(framework->RunPreScore(state_, *pod_, nodes_.table(), {0, 1}).ok());
  EXPECT_TRUE(Run(*framework, {0, 1}).ok());
  EXPECT_EQ(ByPlugin(), "A 10,20; B 1,1");
}

TEST_F(FrameworkScoreTest, PreScoreFailures) {
  Add<FakePreScore>("A");
  Add<FakePreScore>("B");
  const auto framework = Build("multiPoint: A B");
  script("A").pre_score = [] { return Status::Error("broken"); };
  EXPECT_EQ(framework->RunPreScore(state_, *pod_, nodes_.table(), {0}).ToString(),
            "Error by A: running PreScore plugin \"A\": broken");
  EXPECT_EQ(framework->plugin_faults(), 0);
  script("A").pre_score = [] { return Status::Unschedulable("too late"); };
  EXPECT_EQ(framework->RunPreScore(state_, *pod_, nodes_.table(), {0}).ToString(),
            "Error by A: running PreScore plugin \"A\": returned \"Unschedulable\", which is "
            "unsupported. It is supposed to return Success, Skip, or Error status");
  EXPECT_EQ(framework->plugin_faults(), 1);
  EXPECT_THAT(log_, ElementsAre("A.PreScore", "A.PreScore"));
}

TEST_F(FrameworkScoreTest, Failures) {
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
    EXPECT_EQ(framework->plugin_faults(), c.faults);
  }
}

// --- Reserve and Permit ---

TEST_F(FrameworkRunTest, ReserveStopsAtTheFirstFailureAndUnreserveRunsBackwards) {
  for (const char* name : {"A", "B", "C"}) Add<FakeReserve>(name);
  const auto framework = Build("multiPoint: A B C");
  EXPECT_TRUE(framework->RunReserve(state_, *pod_, "n0").ok());
  script("B").reserve = [] { return Status::Unschedulable("taken"); };
  log_.clear();
  EXPECT_EQ(framework->RunReserve(state_, *pod_, "n0").ToString(), "Unschedulable by B: taken");
  script("B").unreserve = [] { throw std::runtime_error("boom"); };
  framework->RunUnreserve(state_, *pod_, "n0");
  EXPECT_THAT(log_,
              ElementsAre("A.Reserve", "B.Reserve", "C.Unreserve", "B.Unreserve", "A.Unreserve"));
  EXPECT_EQ(framework->plugin_faults(), 1);

  const struct {
    Status answer;
    absl::string_view want;
  } cases[] = {
      {Status::Error("broken"), "Error by B: running Reserve plugin \"B\": broken"},
      {Status::Pending("later"), "Pending by B: later"},
      {Status::Skip(),
       "Error by B: running Reserve plugin \"B\": returned \"Skip\", which is unsupported. It is "
       "supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Pending, or Error "
       "status"},
  };
  for (const auto& c : cases) {
    script("B").reserve = [&c] { return c.answer; };
    EXPECT_EQ(framework->RunReserve(state_, *pod_, "n0").ToString(), c.want);
  }
  EXPECT_EQ(framework->plugin_faults(), 2);
}

TEST_F(FrameworkRunTest, Permit) {
  const Status ok, wait = Status::Wait();
  const absl::Duration minute = absl::Minutes(1);
  const struct {
    absl::string_view what;
    Status a, b;
    absl::Duration a_timeout, b_timeout;
    std::string status, waits;
    int ran;
  } cases[] = {
      {"allowed", ok, ok, minute, minute, "Success", "", 2},
      {"one waits", wait, ok, minute, minute,
       "Wait: one or more plugins asked to wait and no plugin rejected pod \"p\"", "A 1m", 2},
      {"both wait", wait, wait, minute, 2 * minute,
       "Wait: one or more plugins asked to wait and no plugin rejected pod \"p\"", "A 1m,B 2m", 2},
      {"waits are capped", wait, wait, absl::Minutes(16), absl::InfiniteDuration(),
       "Wait: one or more plugins asked to wait and no plugin rejected pod \"p\"", "A 15m,B 15m",
       2},
      {"a rejection returns at once", Status::Unschedulable("no"), wait, minute, minute,
       "Unschedulable by A: no", "", 1},
      {"a rejection after a wait", wait, Status::UnschedulableAndUnresolvable("no"), minute, minute,
       "UnschedulableAndUnresolvable by B: no", "", 2},
      {"an error returns at once", Status::Error("broken"), ok, minute, minute,
       "Error by A: running Permit plugin \"A\": broken", "", 1},
      {"Skip is an error", Status::Skip(), ok, minute, minute,
       "Error by A: running Permit plugin \"A\": returned \"Skip\", which is unsupported. It is "
       "supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Wait, Pending, or "
       "Error status",
       "", 1},
      {"a wait without a timeout is an error", ok, wait, minute, absl::ZeroDuration(),
       "Error by B: running Permit plugin \"B\": returned \"Wait\" with a timeout of 0s; it must "
       "be "
       "positive",
       "", 2},
      {"and so is one of less", wait, ok, -minute, minute,
       "Error by A: running Permit plugin \"A\": returned \"Wait\" with a timeout of -1m0s; it "
       "must "
       "be positive",
       "", 1},
  };
  Add<FakePermit>("A");
  Add<FakePermit>("B");
  const auto framework = Build("multiPoint: A B");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    log_.clear();
    script("A").permit = [&c] { return c.a; };
    script("A").permit_timeout = c.a_timeout;
    script("B").permit = [&c] { return c.b; };
    script("B").permit_timeout = c.b_timeout;
    const PermitOutcome got = framework->RunPermit(state_, *pod_, "n0");
    EXPECT_EQ(got.status.ToString(), c.status);
    EXPECT_EQ(absl::StrJoin(got.waits, ",",
                            [](std::string* out, const PermitOutcome::Wait& wait) {
                              absl::StrAppend(out, wait.plugin.view(), " ",
                                              absl::FormatDuration(wait.timeout));
                            }),
              c.waits);
    EXPECT_EQ(log_.size(), static_cast<size_t>(c.ran));
  }
}

// --- Binding ---

TEST_F(FrameworkRunTest, PreBindPreFlight) {
  const Status ok, skip = Status::Skip();
  const struct {
    absl::string_view what;
    Status a, b;
    std::string status, pre_bind;
  } cases[] = {
      {"all work", ok, ok, "Success", "A.PreBind,B.PreBind"},
      {"one skips", skip, ok, "Success", "B.PreBind"},
      {"the other skips", ok, skip, "Success", "A.PreBind"},
      {"all skip", skip, skip, "Skip", ""},
  };
  Add<FakePreBind>("A");
  Add<FakePreBind>("B");
  const auto framework = Build("multiPoint: A B");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    script("A").pre_bind_pre_flight = [&c] { return c.a; };
    script("B").pre_bind_pre_flight = [&c] { return c.b; };
    EXPECT_EQ(framework->RunPreBindPreFlight(state_, *pod_, "n0").ToString(), c.status);
    log_.clear();
    EXPECT_TRUE(framework->RunPreBind(state_, *pod_, "n0").ok());
    EXPECT_EQ(absl::StrJoin(log_, ","), c.pre_bind);
  }
  script("A").pre_bind_pre_flight = [] { return Status::Error("broken"); };
  EXPECT_EQ(framework->RunPreBindPreFlight(state_, *pod_, "n0").ToString(),
            "Error by A: running PreBindPreFlight \"A\": broken");
  script("A").pre_bind_pre_flight = [] { return Status::Unschedulable("no"); };
  EXPECT_EQ(
      framework->RunPreBindPreFlight(state_, *pod_, "n0").ToString(),
      "Error by A: PreBindPreFlight A returned \"Unschedulable\", which is unsupported. It is "
      "supposed to return Success, Skip, or Error status");
  EXPECT_EQ(Build("")->RunPreBindPreFlight(state_, *pod_, "n0").ToString(), "Skip");
}

TEST_F(FrameworkRunTest, PreBindStopsAtTheFirstFailure) {
  Add<FakePreBind>("A");
  Add<FakePreBind>("B");
  const auto framework = Build("multiPoint: A B");
  script("A").pre_bind = [] { return Status::Unschedulable("no volume"); };
  EXPECT_EQ(framework->RunPreBind(state_, *pod_, "n0").ToString(), "Unschedulable by A: no volume");
  script("A").pre_bind = [] { return Status::Error("broken"); };
  EXPECT_EQ(framework->RunPreBind(state_, *pod_, "n0").ToString(),
            "Error by A: running PreBind plugin \"A\": broken");
  script("A").pre_bind = []() -> Status { throw std::runtime_error("boom"); };
  EXPECT_EQ(framework->RunPreBind(state_, *pod_, "n0").ToString(),
            "Error by A: plugin \"A\" threw in PreBind: boom");
  EXPECT_THAT(log_, ElementsAre("A.PreBind", "A.PreBind", "A.PreBind"));
}

TEST_F(FrameworkRunTest, BindUntilOneDoesNotSkip) {
  const Status ok, skip = Status::Skip();
  const struct {
    absl::string_view what;
    Status a, b;
    std::string status;
    int ran;
  } cases[] = {
      {"the first binds", ok, ok, "Success", 1},
      {"the first skips", skip, ok, "Success", 2},
      {"all skip", skip, skip, "Error: all Bind plugins skip pod \"default/p\"", 2},
      {"a rejection", Status::Unschedulable("no"), ok, "Unschedulable by A: no", 1},
      {"an error", Status::Error("conflict"), ok, "Error by A: running Bind plugin \"A\": conflict",
       1},
      {"skip, then an error", skip, Status::Error("conflict"),
       "Error by B: running Bind plugin \"B\": conflict", 2},
      {"Wait", Status::Wait(), ok,
       "Error by A: running Bind plugin \"A\": returned \"Wait\", which is unsupported. It is "
       "supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Skip, Pending, or "
       "Error status",
       1},
  };
  Add<FakeBind>("A");
  Add<FakeBind>("B");
  const auto framework = Build("bind: A B");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    log_.clear();
    script("A").bind = [&c] { return c.a; };
    script("B").bind = [&c] { return c.b; };
    EXPECT_EQ(framework->RunBind(state_, *pod_, "n0").ToString(), c.status);
    EXPECT_EQ(log_.size(), static_cast<size_t>(c.ran));
  }
}

TEST_F(FrameworkRunTest, PostBindRunsAll) {
  Add<FakePostBind>("A").post_bind = [] { throw std::runtime_error("boom"); };
  Add<FakePostBind>("B");
  const auto framework = Build("multiPoint: A B");
  framework->RunPostBind(state_, *pod_, "n0");
  EXPECT_THAT(log_, ElementsAre("A.PostBind", "B.PostBind"));
  EXPECT_EQ(framework->plugin_faults(), 1);
}

TEST_F(FrameworkRunTest, FaultsAreCountedFromManyThreads) {
  struct Throws final : Plugin, BindPlugin {
    absl::string_view Name() const override { return "Throws"; }
    Status Bind(CycleState&, const PodInfo&, absl::string_view) override {
      throw std::runtime_error("boom");
    }
  };
  Add({"Throws", [](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
         return std::make_unique<Throws>();
       }});
  const auto framework = Build("bind: Throws");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      CycleState state;
      for (int k = 0; k < 50; ++k) framework->RunBind(state, *pod_, "n0");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(framework->plugin_faults(), 200);
}

// --- Signatures ---

TEST_F(FrameworkRunTest, SignPod) {
  Add<FakeFilter, FakeScore, FakeSign>("A").sign = [](const PodInfo& pod, PodSignature& signature) {
    for (const auto& image : pod.images()) signature.Add(image.view());
    return Status::Success();
  };
  Add<FakeScore, FakeSign>("B").sign = [](const PodInfo& pod, PodSignature& signature) {
    for (const auto& gate : pod.scheduling_gates()) signature.Add(gate);
    return Status::Success();
  };
  Add<FakePreFilter, FakePermit>("OnlyPreFilter");
  Add<FakeFilter>("DoesNotSign");
  const auto framework = Build("multiPoint: A B OnlyPreFilter");
  const auto sign = [&](const std::shared_ptr<const PodInfo>& pod) {
    PodSignature signature;
    EXPECT_TRUE(framework->SignPod(*pod, signature).ok());
    return signature.bytes();
  };
  const auto x = MakePod().Container("x").Obj();
  EXPECT_EQ(sign(x), sign(MakePod().Container("x").Obj()));
  EXPECT_NE(sign(x), sign(MakePod().Container("y").Obj()));
  EXPECT_NE(sign(x), sign(MakePod().Container("x").SchedulingGate("g").Obj()));
  // The same values, but said by the other plugin.
  const std::string image(x->images()[0].view());
  EXPECT_NE(sign(x), sign(MakePod().SchedulingGate(image).Obj()));
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A.SignPod"), 8);

  PodSignature signature;
  EXPECT_EQ(Build("multiPoint: A DoesNotSign B")->SignPod(*x, signature).ToString(),
            "Unschedulable by DoesNotSign: plugin \"DoesNotSign\" does not sign pods");
  script("B").sign = [](auto&, auto&) { return Status::Unschedulable("spread"); };
  EXPECT_EQ(framework->SignPod(*x, signature).ToString(), "Unschedulable by B: spread");
  script("B").sign = [](auto&, auto&) -> Status { throw std::runtime_error("boom"); };
  EXPECT_EQ(framework->SignPod(*x, signature).ToString(),
            "Error by B: plugin \"B\" threw in SignPod: boom");
}

TEST(ExtensionPoint, Names) {
  EXPECT_EQ(ExtensionPointName(ExtensionPoint::kPreEnqueue), "PreEnqueue");
  EXPECT_EQ(ExtensionPointName(ExtensionPoint::kPostBind), "PostBind");
  for (int i = 0; i < kExtensionPointCount; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    std::string field(ExtensionPointName(point));
    field[0] = absl::ascii_tolower(field[0]);
    EXPECT_EQ(ExtensionPointField(point), field);
  }
}

}  // namespace
}  // namespace berth::testing
