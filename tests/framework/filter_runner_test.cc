// SPDX-License-Identifier: Apache-2.0
// PreFilter and Filter: who is skipped, who is blamed, and that later plugins see only what is
// left.
#include <stdexcept>

#include "absl/container/btree_set.h"
#include "absl/strings/str_join.h"
#include "berth/columns/node_verdicts.h"
#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::btree_set<Symbol> Names(const Strings& names) {
  absl::btree_set<Symbol> set;
  for (const absl::string_view name : names) set.insert(Symbol::Intern(name));
  return set;
}

using FilterRunnerTest = RunnerTest;

TEST_F(FilterRunnerTest, PreFilterResults) {
  struct Answer {
    Status status;
    std::optional<Strings> nodes;
  };
  const Status ok, skip = Status::Skip(), unschedulable = Status::Unschedulable("no"),
                   unresolvable = Status::UnschedulableAndUnresolvable("never");
  const struct {
    absl::string_view what;
    Answer a, b, c;
    std::string status;
    std::optional<Strings> narrowed;
    std::string excluded, narrowing, ran;
  } cases[] = {
      {"nobody narrows", {ok}, {ok}, {ok}, "Success", {}, "Success", "", "ABC"},
      {"one narrows",
       {ok, Strings{"n1", "n0"}},
       {ok},
       {ok},
       "Success",
       Strings{"n0", "n1"},
       "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [A]",
       "A",
       "ABC"},
      {"two narrow; plugins are named in order of their names",
       {ok},
       {ok, Strings{"n0", "n1"}},
       {ok, Strings{"n1", "n2"}},
       "Success",
       Strings{"n1"},
       "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [B C]",
       "B,C",
       "ABC"},
      {"one leaves no node: the others do not run",
       {ok, Strings{}},
       {ok},
       {ok},
       "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin A",
       Strings{},
       "Success",
       "A",
       "A"},
      {"two leave no node",
       {ok, Strings{"n0"}},
       {ok, Strings{"n1"}},
       {ok},
       "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [A B] simultaneously",
       Strings{},
       "Success",
       "A,B",
       "AB"},
      {"a skipping plugin's nodes are ignored",
       {skip, Strings{}},
       {ok},
       {ok},
       "Success",
       {},
       "Success",
       "",
       "ABC"},
      {"Unschedulable is kept while the others run",
       {unschedulable},
       {ok},
       {ok, Strings{"n1"}},
       "Unschedulable by A: no",
       Strings{"n1"},
       "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [C]",
       "C",
       "ABC"},
      {"of two Unschedulable the last one stands",
       {unschedulable},
       {Status::Unschedulable("not at all")},
       {ok},
       "Unschedulable by B: not at all",
       {},
       "Success",
       "",
       "ABC"},
      {"UnschedulableAndUnresolvable returns at once",
       {ok, Strings{"n1"}},
       {unresolvable},
       {ok},
       "UnschedulableAndUnresolvable by B: never",
       {},
       "Success",
       "",
       "AB"},
      {"and outweighs a rejection before it",
       {unschedulable},
       {unresolvable},
       {ok},
       "UnschedulableAndUnresolvable by B: never",
       {},
       "Success",
       "",
       "AB"},
      {"no node left outweighs a rejection before it",
       {unschedulable},
       {ok, Strings{}},
       {ok},
       "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin B",
       Strings{},
       "Success",
       "B",
       "AB"},
      {"an error ends it",
       {unschedulable},
       {Status::Error("broken")},
       {ok},
       "Error by B: running PreFilter plugin \"B\": broken",
       {},
       "Success",
       "",
       "AB"},
  };
  for (const char* name : {"A", "B", "C"}) Add<FakePreFilter>(name);
  const auto framework = Build("multiPoint: A B C");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    log_.clear();
    const auto answer = [this](absl::string_view name, const Answer& answer) {
      script(name).pre_filter = [answer](CycleState&, PreFilterResult& result) {
        EXPECT_FALSE(result.node_names.has_value());
        if (answer.nodes.has_value()) result.node_names = Names(*answer.nodes);
        return answer.status;
      };
    };
    answer("A", c.a);
    answer("B", c.b);
    answer("C", c.c);
    const PreFilterOutcome got = framework->filters().RunPreFilter(state_, *pod_, nodes_.table());
    EXPECT_EQ(got.status.ToString(), c.status);
    EXPECT_EQ(got.excluded.ToString(), c.excluded);
    const auto narrowed = c.narrowed.has_value() ? std::optional(Names(*c.narrowed)) : std::nullopt;
    EXPECT_EQ(got.narrowed.node_names, narrowed);
    EXPECT_EQ(
        absl::StrJoin(got.narrowing_plugins, ",",
                      [](std::string* out, Symbol name) { absl::StrAppend(out, name.view()); }),
        c.narrowing);
    EXPECT_EQ(absl::StrJoin(log_, "",
                            [](std::string* out, const std::string& call) {
                              out->append(call.substr(0, 1));
                            }),
              c.ran);
  }
  EXPECT_EQ(framework->fault_log().faults(), 0);
}

TEST_F(FilterRunnerTest, SkipLeavesOutTheCoupledCallsForThisCycleOnly) {
  Add<FakePreFilter, FakePreFilterExtensions, FakeFilter>("A");
  Add<FakePreFilter, FakePreFilterExtensions, FakeFilter>("B");
  const auto framework = Build("multiPoint: A B");
  const auto other = MakePod().Name("other").Obj();
  const auto run = [&] {
    EXPECT_TRUE(framework->filters().RunPreFilter(state_, *pod_, nodes_.table()).status.ok());
    log_.clear();
    EXPECT_TRUE(
        framework->filters().RunPreFilterAddPod(state_, *pod_, *other, nodes_.node(0)).ok());
    EXPECT_TRUE(
        framework->filters().RunPreFilterRemovePod(state_, *pod_, *other, nodes_.node(0)).ok());
    EXPECT_TRUE(framework->filters().RunFilter(state_, *pod_, nodes_.node(0)).ok());
    NodeVerdicts verdicts;
    verdicts.Reset(3);
    EXPECT_TRUE(framework->nomination_filter()
                    .RunFilterNodesWithNominatedPods(state_, *pod_, nodes_.table(), {1}, verdicts)
                    .ok());
  };
  script("A").pre_filter = [](auto&, auto&) { return Status::Skip(); };
  run();
  EXPECT_THAT(log_, ElementsAre("B.AddPod", "B.RemovePod", "B.Filter", "B.Filter"));
  script("A").pre_filter = nullptr;
  run();
  EXPECT_THAT(log_, ElementsAre("A.AddPod", "B.AddPod", "A.RemovePod", "B.RemovePod", "A.Filter",
                                "B.Filter", "A.Filter", "B.Filter"));
}

TEST_F(FilterRunnerTest, ExtensionsBelongToPreFilter) {
  Add<FakePreFilter, FakePreFilterExtensions, FakeFilter>("A");
  const auto framework = Build("filter: A");
  EXPECT_TRUE(framework->filters().RunPreFilterAddPod(state_, *pod_, *pod_, nodes_.node(0)).ok());
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(FilterRunnerTest, AddPodAndRemovePodThatFail) {
  Add<FakePreFilter, FakePreFilterExtensions>("A");
  Add<FakePreFilter, FakePreFilterExtensions>("B");
  const auto framework = Build("multiPoint: A B");
  script("A").add_pod = [](auto&...) { return Status::Error("x"); };
  script("A").remove_pod = [](auto&...) { return Status::Unschedulable("x"); };
  EXPECT_EQ(
      framework->filters().RunPreFilterAddPod(state_, *pod_, *pod_, nodes_.node(0)).ToString(),
      "Error by A: running AddPod on PreFilter plugin \"A\": x");
  EXPECT_EQ(
      framework->filters().RunPreFilterRemovePod(state_, *pod_, *pod_, nodes_.node(0)).ToString(),
      "Error by A: running RemovePod on PreFilter plugin \"A\": returned \"Unschedulable\", "
      "which is unsupported. It is supposed to return Success or Error status");
  EXPECT_THAT(log_, ElementsAre("A.AddPod", "A.RemovePod"));
}

TEST_F(FilterRunnerTest, FirstFailureStops) {
  const struct {
    absl::string_view what;
    Status answer;
    std::string want;
    int faults;
  } cases[] = {
      {"success", Status::Success(), "Success", 0},
      {"unschedulable", Status::Unschedulable("full"), "Unschedulable by A: full", 0},
      {"unresolvable", Status::UnschedulableAndUnresolvable("tainted"),
       "UnschedulableAndUnresolvable by A: tainted", 0},
      {"pending", Status::Pending("wait"), "Pending by A: wait", 0},
      {"error", Status::Error("broken"), "Error by A: running \"A\" filter plugin: broken", 0},
      {"a code that Filter does not know", Status::Wait(),
       "Error by A: running \"A\" filter plugin: returned \"Wait\", which is unsupported. It is "
       "supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Pending, or Error "
       "status",
       1},
      {"a code that nobody knows", Status::Make(static_cast<Code>(77), {}),
       "Error by A: running \"A\" filter plugin: returned \"unknown code\", which is unsupported. "
       "It is supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Pending, or "
       "Error status",
       1},
  };
  Add<FakeFilter>("A");
  Add<FakeFilter>("B");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto framework = Build("multiPoint: A B");
    script("A").filter = [&c](auto&...) { return c.answer; };
    EXPECT_EQ(framework->filters().RunFilter(state_, *pod_, nodes_.node(0)).ToString(), c.want);
    EXPECT_EQ(log_.size(), c.answer.ok() ? 2u : 1u);
    EXPECT_EQ(framework->fault_log().faults(), c.faults);

    // The batch form on the same plugins.
    NodeVerdicts verdicts;
    verdicts.Reset(3);
    const Status batch = framework->nomination_filter().RunFilterNodesWithNominatedPods(
        state_, *pod_, nodes_.table(), {0}, verdicts);
    if (c.answer.ok() || c.answer.IsRejected()) {
      EXPECT_EQ(batch.ToString(), "Success");
      EXPECT_EQ(verdicts.code(0), c.answer.code());
      EXPECT_EQ(verdicts.rejector(0), c.answer.ok() ? NodeVerdicts::kNoRejector : 0);
    } else {
      EXPECT_EQ(batch.ToString(), c.want);
      EXPECT_EQ(framework->fault_log().faults(), 2 * c.faults);
    }
    EXPECT_EQ(verdicts.rejector(1), NodeVerdicts::kNotFiltered);
  }
}

TEST_F(FilterRunnerTest, FaultsOfBatchForms) {
  Add<FakeFilter>("A");
  Add<FakeFilter>("B");
  const auto framework = Build("multiPoint: A B");
  const auto run = [&] {
    NodeVerdicts verdicts;
    verdicts.Reset(3);
    return framework->nomination_filter()
        .RunFilterNodesWithNominatedPods(state_, *pod_, nodes_.table(), {0, 2}, verdicts)
        .ToString();
  };
  script("B").filter_nodes = [](auto&...) -> Status { throw std::runtime_error("boom"); };
  EXPECT_EQ(run(), "Error by B: plugin \"B\" threw in Filter: boom");
  script("B").filter_nodes = [](auto&...) -> Status { throw "text"; };
  EXPECT_EQ(run(), "Error by B: plugin \"B\" threw in Filter: not a std::exception");
  script("B").filter_nodes = [](auto&...) { return Status::Unschedulable("all of them"); };
  EXPECT_EQ(run(),
            "Error by B: running \"B\" filter plugin: returned \"Unschedulable\", which is "
            "unsupported. It is supposed to return Success or Error status");
  script("B").filter_nodes = [](auto&, auto&, auto&, NodeVerdicts& verdicts) {
    verdicts.Set(2, Code::kSkip);
    return Status::Success();
  };
  EXPECT_EQ(run(),
            "Error by B: running \"B\" filter plugin: returned \"Skip\", which is unsupported. It "
            "is supposed to return Success, Unschedulable, UnschedulableAndUnresolvable, Pending, "
            "or Error status");
  EXPECT_EQ(framework->fault_log().faults(), 4);
  script("B").filter_nodes = [](auto&...) { return Status::Error("told you"); };
  EXPECT_EQ(run(), "Error by B: running \"B\" filter plugin: told you");
  EXPECT_EQ(framework->fault_log().faults(), 4);
}

TEST_F(FilterRunnerTest, ThrowsOfPreFilter) {
  Add<FakePreFilter>("A").pre_filter = [](auto&...) -> Status { throw std::logic_error("oops"); };
  const auto framework = Build("multiPoint: A");
  EXPECT_EQ(framework->filters().RunPreFilter(state_, *pod_, nodes_.table()).status.ToString(),
            "Error by A: plugin \"A\" threw in PreFilter: oops");
  script("A").pre_filter = [](auto&...) { return Status::Pending("a"); };
  EXPECT_EQ(framework->filters().RunPreFilter(state_, *pod_, nodes_.table()).status.ToString(),
            "Error by A: running PreFilter plugin \"A\": returned \"Pending\", which is "
            "unsupported. It is supposed to return Success, Unschedulable, "
            "UnschedulableAndUnresolvable, Skip, or Error status");
  EXPECT_EQ(framework->fault_log().faults(), 2);
}

TEST_F(FilterRunnerTest, LaterPluginsSeeOnlyWhatIsLeft) {
  Add<FakeFilter>("A").filter = [](auto&, auto&, const NodeInfo& node) {
    return node.name().view() == "n1" ? Status::Unschedulable("A") : Status::Success();
  };
  Add<FakeFilter>("B").filter_nodes = [](auto&, auto&, auto&, NodeVerdicts& verdicts) {
    EXPECT_THAT(verdicts.candidates(), ElementsAre(2, 0));
    verdicts.Set(2, Code::kUnschedulableAndUnresolvable);
    return Status::Success();
  };
  const auto framework = Build("multiPoint: A B");
  NodeVerdicts verdicts;
  verdicts.Reset(3);
  const std::vector<NodeRow> rows = {2, 1, 0};
  EXPECT_TRUE(framework->nomination_filter()
                  .RunFilterNodesWithNominatedPods(state_, *pod_, nodes_.table(), rows, verdicts)
                  .ok());
  EXPECT_TRUE(verdicts.IsFeasible(0));
  EXPECT_EQ(verdicts.rejector(1), framework->plugins().FilterIndex(Symbol::Intern("A")));
  EXPECT_EQ(verdicts.rejector(2), framework->plugins().FilterIndex(Symbol::Intern("B")));
  EXPECT_EQ(verdicts.code(2), Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(framework->plugins().FilterIndex(Symbol::Intern("Sort")), NodeVerdicts::kNotFiltered);
}

}  // namespace
}  // namespace berth::testing
