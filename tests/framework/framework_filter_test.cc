// SPDX-License-Identifier: Apache-2.0
// PreFilter and Filter: who is skipped, who is blamed, what nominated pods change, and that the
// batch form judges every row as the per-node form does.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "berth/columns/node_verdicts.h"
#include "berth/testing/objects.h"
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

class FrameworkFilterTest : public FrameworkTest {
 protected:
  // n0, n1 … without any resources.
  static std::vector<NodeInfo> MakeNodes(int count) {
    std::vector<NodeInfo> nodes;
    for (int i = 0; i < count; ++i) nodes.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
    return nodes;
  }

  CycleState state_;
  const std::shared_ptr<const PodInfo> pod_ = MakePod().Name("p").Priority(10).Obj();
  const TestNodes nodes_{MakeNodes(3)};
};

// --- PreFilter ---

TEST_F(FrameworkFilterTest, PreFilterResults) {
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
    std::string left_out, narrowing, ran;
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
      {"Unschedulable is remembered while the others run",
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
      {"and outweighs a remembered rejection",
       {unschedulable},
       {unresolvable},
       {ok},
       "UnschedulableAndUnresolvable by B: never",
       {},
       "Success",
       "",
       "AB"},
      {"no node left outweighs a remembered rejection",
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
    const PreFilterOutcome got = framework->RunPreFilter(state_, *pod_, nodes_.table());
    EXPECT_EQ(got.status.ToString(), c.status);
    EXPECT_EQ(got.left_out.ToString(), c.left_out);
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
  EXPECT_EQ(framework->plugin_faults(), 0);
}

TEST_F(FrameworkFilterTest, SkipLeavesOutTheCoupledCallsForThisCycleOnly) {
  Add<FakePreFilter, FakePreFilterExtensions, FakeFilter>("A");
  Add<FakePreFilter, FakePreFilterExtensions, FakeFilter>("B");
  const auto framework = Build("multiPoint: A B");
  const auto other = MakePod().Name("other").Obj();
  const auto run = [&] {
    EXPECT_TRUE(framework->RunPreFilter(state_, *pod_, nodes_.table()).status.ok());
    log_.clear();
    EXPECT_TRUE(framework->RunPreFilterAddPod(state_, *pod_, *other, nodes_.node(0)).ok());
    EXPECT_TRUE(framework->RunPreFilterRemovePod(state_, *pod_, *other, nodes_.node(0)).ok());
    EXPECT_TRUE(framework->RunFilter(state_, *pod_, nodes_.node(0)).ok());
    NodeVerdicts verdicts;
    verdicts.Reset(3);
    EXPECT_TRUE(framework->RunFilterNodes(state_, *pod_, nodes_.table(), {1}, verdicts).ok());
  };
  script("A").pre_filter = [](auto&, auto&) { return Status::Skip(); };
  run();
  EXPECT_THAT(log_, ElementsAre("B.AddPod", "B.RemovePod", "B.Filter", "B.Filter"));
  script("A").pre_filter = nullptr;
  run();
  EXPECT_THAT(log_, ElementsAre("A.AddPod", "B.AddPod", "A.RemovePod", "B.RemovePod", "A.Filter",
                                "B.Filter", "A.Filter", "B.Filter"));
}

TEST_F(FrameworkFilterTest, ExtensionsBelongToPreFilter) {
  Add<FakePreFilter, FakePreFilterExtensions, FakeFilter>("A");
  const auto framework = Build("filter: A");
  EXPECT_TRUE(framework->RunPreFilterAddPod(state_, *pod_, *pod_, nodes_.node(0)).ok());
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(FrameworkFilterTest, AddPodAndRemovePodThatFail) {
  Add<FakePreFilter, FakePreFilterExtensions>("A");
  Add<FakePreFilter, FakePreFilterExtensions>("B");
  const auto framework = Build("multiPoint: A B");
  script("A").add_pod = [](auto&...) { return Status::Error("x"); };
  script("A").remove_pod = [](auto&...) { return Status::Unschedulable("x"); };
  EXPECT_EQ(framework->RunPreFilterAddPod(state_, *pod_, *pod_, nodes_.node(0)).ToString(),
            "Error by A: running AddPod on PreFilter plugin \"A\": x");
  EXPECT_EQ(framework->RunPreFilterRemovePod(state_, *pod_, *pod_, nodes_.node(0)).ToString(),
            "Error by A: running RemovePod on PreFilter plugin \"A\": returned \"Unschedulable\", "
            "which is unsupported. It is supposed to return Success or Error status");
  EXPECT_THAT(log_, ElementsAre("A.AddPod", "A.RemovePod"));
}

// --- Filter ---

TEST_F(FrameworkFilterTest, FirstFailureStops) {
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
    EXPECT_EQ(framework->RunFilter(state_, *pod_, nodes_.node(0)).ToString(), c.want);
    EXPECT_EQ(log_.size(), c.answer.ok() ? 2u : 1u);
    EXPECT_EQ(framework->plugin_faults(), c.faults);

    // The batch form on the same plugins.
    NodeVerdicts verdicts;
    verdicts.Reset(3);
    const Status batch = framework->RunFilterNodes(state_, *pod_, nodes_.table(), {0}, verdicts);
    if (c.answer.ok() || c.answer.IsRejected()) {
      EXPECT_EQ(batch.ToString(), "Success");
      EXPECT_EQ(verdicts.code(0), c.answer.code());
      EXPECT_EQ(verdicts.rejector(0), c.answer.ok() ? NodeVerdicts::kNone : 0);
    } else {
      EXPECT_EQ(batch.ToString(), c.want);
      EXPECT_EQ(framework->plugin_faults(), 2 * c.faults);
    }
    EXPECT_EQ(verdicts.rejector(1), NodeVerdicts::kNotJudged);
  }
}

TEST_F(FrameworkFilterTest, FaultsOfBatchForms) {
  Add<FakeFilter>("A");
  Add<FakeFilter>("B");
  const auto framework = Build("multiPoint: A B");
  const auto run = [&] {
    NodeVerdicts verdicts;
    verdicts.Reset(3);
    return framework->RunFilterNodes(state_, *pod_, nodes_.table(), {0, 2}, verdicts).ToString();
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
  EXPECT_EQ(framework->plugin_faults(), 4);
  script("B").filter_nodes = [](auto&...) { return Status::Error("told you"); };
  EXPECT_EQ(run(), "Error by B: running \"B\" filter plugin: told you");
  EXPECT_EQ(framework->plugin_faults(), 4);
}

TEST_F(FrameworkFilterTest, ThrowsOfPreFilter) {
  Add<FakePreFilter>("A").pre_filter = [](auto&...) -> Status { throw std::logic_error("oops"); };
  const auto framework = Build("multiPoint: A");
  EXPECT_EQ(framework->RunPreFilter(state_, *pod_, nodes_.table()).status.ToString(),
            "Error by A: plugin \"A\" threw in PreFilter: oops");
  script("A").pre_filter = [](auto&...) { return Status::Pending("a"); };
  EXPECT_EQ(framework->RunPreFilter(state_, *pod_, nodes_.table()).status.ToString(),
            "Error by A: running PreFilter plugin \"A\": returned \"Pending\", which is "
            "unsupported. It is supposed to return Success, Unschedulable, "
            "UnschedulableAndUnresolvable, Skip, or Error status");
  EXPECT_EQ(framework->plugin_faults(), 2);
}

TEST_F(FrameworkFilterTest, LaterPluginsSeeOnlyWhatIsLeft) {
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
  EXPECT_TRUE(framework->RunFilterNodes(state_, *pod_, nodes_.table(), rows, verdicts).ok());
  EXPECT_EQ(verdicts.rejector(0), NodeVerdicts::kNone);
  EXPECT_EQ(verdicts.rejector(1), framework->FilterIndex(Symbol::Intern("A")));
  EXPECT_EQ(verdicts.rejector(2), framework->FilterIndex(Symbol::Intern("B")));
  EXPECT_EQ(verdicts.code(2), Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(framework->FilterIndex(Symbol::Intern("Sort")), NodeVerdicts::kNotJudged);
}

// --- What a node must have left ---

TEST_F(FrameworkFilterTest, NeededRoomIsWhatTheFirstSays) {
  const auto one_cpu = [] { return NeededResources{{{kCpu, 1000}}}; };
  const auto two_cpus = [] { return NeededResources{{{kCpu, 2000}}}; };
  Add<FakeFilter, FakeRoom>("One").room = one_cpu;
  Add<FakeFilter, FakeRoom>("Two").room = two_cpus;
  Add<FakeFilter, FakeRoom>("Thrower").room = []() -> NeededResources {
    throw std::runtime_error("boom");
  };
  Add<FakeFilter>("Unsigned");
  Add<FakeFilter, FakeSign>("OfNode").depends_on = Aspect::kNodeTaints | Aspect::kNodePorts;
  Add<FakeFilter, FakeSign>("OfPods").depends_on = Aspect::kNodePods;
  const struct {
    absl::string_view filters, skipped, plugin;
    int64_t cpu;
    bool others_allow_removal;
  } cases[] = {
      {"Two One", "", "Two", 2000, true},
      {"Two One", "Two", "One", 1000, true},
      {"OfNode One Unsigned", "", "One", 1000, true},
      {"Unsigned One", "", "One", 1000, false},
      {"OfNode OfPods One", "", "One", 1000, false},
      {"OfNode OfPods One", "OfPods", "One", 1000, true},
      {"Unsigned", "", "", 0, false},
      {"Thrower One", "", "", 0, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.filters, " without ", c.skipped));
    const auto framework = Build(absl::StrCat("filter: ", c.filters));
    CycleState state;
    for (const Hook<FilterPlugin>& hook : framework->filter()) {
      if (hook.name.view() == c.skipped) state.skips().filter |= uint64_t{1} << hook.index;
    }
    const std::optional<ResourceNeed> room = framework->FindNeededResources(state, *pod_);
    ASSERT_EQ(room.has_value(), !c.plugin.empty());
    if (!room.has_value()) continue;
    EXPECT_EQ(room->plugin.view(), c.plugin);
    EXPECT_EQ(room->needed, (NeededResources{{{kCpu, c.cpu}}}));
    EXPECT_EQ(room->others_allow_removal, c.others_allow_removal);
  }
}

// --- Nominated pods ---

struct AddedPods : StateData {
  std::vector<std::string> names;
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<AddedPods>(*this); }
};
constexpr StateKey<AddedPods> kAddedPods{"test"};

class NominatedPodsTest : public FrameworkFilterTest {
 protected:
  // A plugin whose state follows AddPod, and whose Filter answers with what it sees: the pods on
  // the node and the pods added.
  NominatedPodsTest() {
    Script& s = Add<FakePreFilter, FakePreFilterExtensions, FakeFilter>("A");
    s.pre_filter = [](CycleState& state, auto&) {
      state.Write(kAddedPods, std::make_unique<AddedPods>());
      return Status::Success();
    };
    s.add_pod = [](CycleState& state, const PodInfo& added, const NodeInfo& node) {
      EXPECT_EQ(node.pods().back()->name(), added.name());
      state.FindMutable(kAddedPods)->names.emplace_back(added.name());
      return Status::Success();
    };
    s.filter = [this](const CycleState& state, auto&, const NodeInfo& node) {
      seen_.push_back(
          absl::StrCat(node.pods().size(), ":", absl::StrJoin(state.Find(kAddedPods)->names, ",")));
      return filter_(seen_.back());
    };
    framework_ = Build("multiPoint: A");
    EXPECT_TRUE(framework_->RunPreFilter(state_, *pod_, nodes_.table()).status.ok());
  }

  void Nominate(absl::string_view name, int priority, absl::string_view node = "n0") {
    handle_.fake_nominator().Nominate(MakePod().Name(name).Priority(priority).Obj(), node);
  }
  Status Judge(NodeRow row = 0) {
    seen_.clear();
    return framework_->RunFilterWithNominatedPods(state_, *pod_, nodes_.node(row));
  }

  std::unique_ptr<Framework> framework_;
  std::vector<std::string> seen_;
  std::function<Status(absl::string_view)> filter_ = [](auto) { return Status::Success(); };
};

TEST_F(NominatedPodsTest, TwoPassesOnlyWherePodsWereAdded) {
  EXPECT_TRUE(Judge().ok());
  EXPECT_THAT(seen_, ElementsAre("0:"));
  Nominate("lower", 9);
  Nominate("p", 10);  // the pod itself
  EXPECT_TRUE(Judge().ok());
  EXPECT_THAT(seen_, ElementsAre("0:"));
  Nominate("equal", 10);
  Nominate("higher", 11);
  EXPECT_TRUE(Judge().ok());
  EXPECT_THAT(seen_, ::testing::AnyOf(ElementsAre("2:equal,higher", "0:"),
                                      ElementsAre("2:higher,equal", "0:")));
  EXPECT_TRUE(Judge(1).ok());
  EXPECT_THAT(seen_, ElementsAre("0:"));
  EXPECT_THAT(state_.Find(kAddedPods)->names, IsEmpty());  // only the copy changed
  EXPECT_THAT(nodes_.node(0).pods(), IsEmpty());
}

TEST_F(NominatedPodsTest, EitherPassCanReject) {
  Nominate("higher", 11);
  filter_ = [](absl::string_view seen) {
    return seen == "0:" ? Status::Success() : Status::Unschedulable("no room left");
  };
  EXPECT_EQ(Judge().ToString(), "Unschedulable by A: no room left");
  EXPECT_THAT(seen_, ElementsAre("1:higher"));
  filter_ = [](absl::string_view seen) {
    return seen != "0:" ? Status::Success() : Status::UnschedulableAndUnresolvable("alone");
  };
  EXPECT_EQ(Judge().ToString(), "UnschedulableAndUnresolvable by A: alone");
  EXPECT_THAT(seen_, ElementsAre("1:higher", "0:"));
}

TEST_F(NominatedPodsTest, FailingAddPodIsAnError) {
  Nominate("higher", 11);
  script("A").add_pod = [](auto&...) { return Status::Error("x"); };
  EXPECT_EQ(Judge().ToString(), "Error by A: running AddPod on PreFilter plugin \"A\": x");
  NodeVerdicts verdicts;
  verdicts.Reset(3);
  EXPECT_EQ(framework_->RunFilterNodes(state_, *pod_, nodes_.table(), {0, 1}, verdicts).ToString(),
            "Error by A: running AddPod on PreFilter plugin \"A\": x");
}

// Plugins that compare the pod with what is on the node; each looks at something else, so that
// nominated pods change some verdicts of each.
class Crowd : public FrameworkFilterTest {
 protected:
  Crowd() {
    Add<FakeFilter>("Parity").filter = [](auto&, auto&, const NodeInfo& node) {
      return node.pods().size() % 3 == 2 ? Status::UnschedulableAndUnresolvable("parity")
                                         : Status::Success();
    };
    Add<FakeFilter>("Priorities").filter = [](auto&, const PodInfo& pod, const NodeInfo& node) {
      int64_t sum = 0;
      for (const auto& other : node.pods()) sum += other->priority();
      return sum > 2 * pod.priority() ? Status::Unschedulable("priorities") : Status::Success();
    };
    Add<FakeFilter>("Company").filter = [](auto&, const PodInfo& pod, const NodeInfo& node) {
      if (pod.priority() % 2 == 0 || !node.pods().empty()) return Status::Success();
      return Status::Pending("nobody there");
    };
  }
};

TEST_F(Crowd, BatchFormJudgesEveryRowAsThePerNodeForm) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  int nominated_rejections = 0;
  for (int round = 0; round < 60; ++round) {
    FakeHandle handle;
    const auto random_pod = [&] { return MakePod().Priority(draw(6)).Obj(); };
    std::vector<NodeInfo> infos = MakeNodes(1 + draw(20));
    for (NodeInfo& info : infos) {
      for (int i = draw(4); i > 0; --i) info.AddPod(random_pod());
    }
    const TestNodes nodes(infos);
    std::vector<std::shared_ptr<const PodInfo>> pending;
    for (int i = 0; i < 8; ++i) {
      pending.push_back(random_pod());
      if (draw(2) == 0) {
        handle.fake_nominator().Nominate(pending.back(), absl::StrCat("n", draw(nodes.size() + 2)));
      }
    }
    Problems problems;
    const auto framework =
        TryBuild(MakeProfile("multiPoint: Parity Priorities Company"), handle, problems);
    ASSERT_NE(framework, nullptr) << problems.ToString();
    std::vector<NodeRow> rows;
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (draw(8) != 0) rows.push_back(row);
    }
    std::shuffle(rows.begin(), rows.end(), random);
    for (const auto& pod : pending) {
      CycleState state;
      state.skips().filter = draw(3) == 0 ? uint64_t{1} << draw(3) : 0;
      NodeVerdicts verdicts;
      verdicts.Reset(nodes.size());
      ASSERT_TRUE(framework->RunFilterNodes(state, *pod, nodes.table(), rows, verdicts).ok());
      for (const NodeRow row : rows) {
        const Status alone = framework->RunFilterWithNominatedPods(state, *pod, nodes.node(row));
        ASSERT_EQ(verdicts.code(row), alone.code()) << "round " << round << " row " << row;
        const uint8_t rejector = verdicts.rejector(row);
        ASSERT_EQ(rejector,
                  alone.ok() ? NodeVerdicts::kNone : framework->FilterIndex(alone.plugin_symbol()))
            << "round " << round << " row " << row;
        if (!alone.ok() && framework->RunFilter(state, *pod, nodes.node(row)).ok()) {
          ++nominated_rejections;
        }
      }
      for (NodeRow row = 0; row < nodes.size(); ++row) {
        if (absl::c_linear_search(rows, row)) continue;
        ASSERT_EQ(verdicts.rejector(row), NodeVerdicts::kNotJudged);
      }
    }
  }
  EXPECT_GT(nominated_rejections, 10);  // or the data does not test what it should
}

// Of nodes that lack the same beside their nominated pods one is asked, and speaks for all.
TEST_F(FrameworkFilterTest, RoomThatNominatedPodsTakeIsCountedInColumns) {
  constexpr absl::string_view kResources[] = {"cpu", "memory", "example.com/card"};
  int asked = 0;
  std::shared_ptr<const PodInfo> pod;
  Add<FakeFilter, FakeSign>("OfNode").depends_on = Aspect::kNodeLabels;
  script("OfNode").filter = [](auto&, auto&, const NodeInfo& node) {
    return node.labels().empty() ? Status::Success() : Status::Unschedulable("labels");
  };
  Add<FakeFilter, FakeRoom>("Room").room = [&pod] {
    NeededResources room;
    pod->requests().ForEach([&](ResourceId id, int64_t n) { room.requests.emplace_back(id, n); });
    return room;
  };
  script("Room").filter = [&asked](auto&, const PodInfo& pod, const NodeInfo& node) {
    ++asked;
    std::vector<std::string> reasons;
    Code code = Code::kUnschedulable;
    if (static_cast<int64_t>(node.pods().size()) >= node.allowed_pods()) reasons = {"places"};
    if (node.allowed_pods() == 0) code = Code::kUnschedulableAndUnresolvable;
    pod.requests().ForEach([&](ResourceId id, int64_t n) {
      if (n <= node.allocatable().Get(id) - node.requested().Get(id)) return;
      reasons.emplace_back(ResourceName(id));
      if (n > node.allocatable().Get(id)) code = Code::kUnschedulableAndUnresolvable;
    });
    return reasons.empty() ? Status::Success() : Status::Make(code, reasons);
  };
  Add<FakeFilter>("Company").filter = [](auto&, auto&, const NodeInfo& node) {
    return node.pods().size() == 1 ? Status::Unschedulable("alone") : Status::Success();
  };
  std::mt19937 random(27);
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  int lacking = 0, shared = 0;
  for (int round = 0; round < 100; ++round) {
    FakeHandle handle;
    const auto random_pod = [&](absl::string_view name) {
      PodBuilder made = MakePod().Name(name).Priority(draw(3));
      for (const absl::string_view resource : kResources) {
        if (draw(2) == 0) made.Request(resource, absl::StrCat(draw(4)));
      }
      return made.Obj();
    };
    std::vector<NodeInfo> infos;
    for (int i = 0; i < 30; ++i) {
      NodeBuilder node = MakeNode().Name(absl::StrCat("n", i)).Pods(draw(6));
      for (const absl::string_view resource : kResources) {
        node.Capacity(resource, absl::StrCat(1 + draw(6)));
      }
      if (draw(6) == 0) node.Label("keep", "off");
      infos.push_back(node.Info());
      for (int j = draw(3); j > 0; --j) infos.back().AddPod(random_pod(absl::StrCat(i, "-", j)));
    }
    const TestNodes nodes(infos);
    for (int i = 0; i < 40; ++i) {
      handle.fake_nominator().Nominate(random_pod(absl::StrCat("nominated-", i)),
                                       absl::StrCat("n", draw(30)));
    }
    pod = random_pod("nominated-0");  // nominated itself, perhaps
    Problems problems;
    const auto framework = TryBuild(MakeProfile("filter: OfNode Room Company"), handle, problems);
    ASSERT_NE(framework, nullptr) << problems.ToString();
    std::vector<NodeRow> rows(nodes.size());
    std::iota(rows.begin(), rows.end(), 0);
    NodeVerdicts verdicts;
    verdicts.Reset(nodes.size());
    const CycleState state;
    asked = 0;
    ASSERT_TRUE(framework->RunFilterNodes(state, *pod, nodes.table(), rows, verdicts).ok());
    const int asked_at_once = asked;
    asked = 0;
    std::map<std::tuple<uint8_t, Code, uint8_t>, Status> said;
    for (const NodeRow row : rows) {
      const Status alone = framework->RunFilterWithNominatedPods(state, *pod, nodes.node(row));
      ASSERT_EQ(verdicts.code(row), alone.code()) << "round " << round << " row " << row;
      const uint8_t rejector = verdicts.rejector(row);
      ASSERT_EQ(rejector,
                alone.ok() ? NodeVerdicts::kNone : framework->FilterIndex(alone.plugin_symbol()));
      if (alone.ok() || verdicts.reason_id(row) == NodeVerdicts::kNoReasonId) continue;
      const auto [first, is_new] =
          said.try_emplace({rejector, verdicts.code(row), verdicts.reason_id(row)}, alone);
      ASSERT_EQ(first->second.ToString(), alone.ToString()) << "round " << round << " row " << row;
      shared += !is_new;
    }
    lacking += asked - asked_at_once;
  }
  EXPECT_GT(lacking, 100) << "one is asked for all";
  EXPECT_GT(shared, 100);
}

}  // namespace
}  // namespace berth::testing
