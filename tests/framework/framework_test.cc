// SPDX-License-Identifier: Apache-2.0
// PreEnqueue and PostFilter: when they stop, who is blamed.
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using PointsTest = RunnerTest;

TEST_F(PointsTest, PreEnqueueStopsAtTheFirstGate) {
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

TEST_F(PointsTest, PostFilter) {
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
