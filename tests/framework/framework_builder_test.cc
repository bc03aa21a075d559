// SPDX-License-Identifier: Apache-2.0
// How a profile becomes plugins at extension points: order, weights, and everything that can be
// wrong with it.
#include <stdexcept>

#include "absl/strings/str_join.h"
#include "berth/extensions/state_use.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FrameworkBuildTest : public FrameworkTest {};

TEST_F(FrameworkBuildTest, Order) {
  for (const char* name : {"A", "B", "C", "D"}) Add<FakeFilter, FakeScore>(name);
  Add<FakeFilter>("OnlyFilter");
  const struct {
    absl::string_view what, profile, filter, score;
  } cases[] = {
      {"multiPoint goes to every point that a plugin implements", "multiPoint: A OnlyFilter B",
       "A,OnlyFilter,B", "A,B"},
      {"the point's own list alone", "filter: C A", "C,A", ""},
      {"overridden plugins come first, in the order of the point's own list",
       "multiPoint: A B C D; score: D B", "A,B,C,D", "D,B,A,C"},
      {"others of the point's own list come last", "multiPoint: A B; score: C B D", "A,B",
       "B,A,C,D"},
      {"a plugin disabled at the point", "multiPoint: A B C; score: -B", "A,B,C", "A,C"},
      {"everything disabled at the point", "multiPoint: A B C; score: -*", "A,B,C", ""},
      {"own list after everything is disabled", "multiPoint: A B C; score: -* C A", "A,B,C", "C,A"},
      {"disabled and enabled at the point: it moves to the end", "multiPoint: A B C; score: -A A",
       "A,B,C", "B,C,A"},
      {"the same between overrides and others", "multiPoint: A B C; score: -A A B D", "A,B,C",
       "B,C,A,D"},
      {"a disabled plugin that multiPoint does not have", "multiPoint: A; score: -C", "A", "A"},
      {"a duplicate in multiPoint counts once where the point overrides it",
       "multiPoint: A B B; filter: B; score: B", "B,A", "B,A"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto framework = Build(c.profile);
    EXPECT_EQ(absl::StrJoin(framework->plugins().Names(ExtensionPoint::kFilter), ","), c.filter);
    EXPECT_EQ(absl::StrJoin(framework->plugins().Names(ExtensionPoint::kScore), ","), c.score);
  }
}

TEST_F(FrameworkBuildTest, EveryPointExpands) {
  Add<FakePreEnqueue, FakeQueueSort, FakePreFilter, FakeFilter, FakePostFilter, FakePreScore,
      FakeScore, FakeReserve, FakePermit, FakePreBind, FakeBind, FakePostBind,
      FakePlacementGenerate, FakePlacementFeasible, FakePlacementScore>("All");
  const auto framework = Build("multiPoint: All; queueSort:; bind:");
  for (int i = 0; i < kExtensionPointCount; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    EXPECT_THAT(framework->plugins().Names(point), ElementsAre("All")) << ExtensionPointName(point);
  }
  EXPECT_EQ(framework->plugins().queue_sort_name().view(), "All");
}

TEST_F(FrameworkBuildTest, Weights) {
  Add<FakeScore>("A");
  const struct {
    absl::string_view what, profile;
    int64_t weight;
  } cases[] = {
      {"not given", "multiPoint: A", 1},
      {"at multiPoint", "multiPoint: A:5", 5},
      {"at score", "score: A:3", 3},
      {"at both: score wins", "multiPoint: A:5; score: A:3", 3},
      {"0 at score is 1, whatever multiPoint says", "multiPoint: A:5; score: A", 1},
      {"moved to the end with a weight", "multiPoint: A:5; score: -A A:7", 7},
      {"the largest there is", "score: A:2147483647", 2147483647},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto framework = Build(c.profile);
    ASSERT_EQ(framework->plugins().score.size(), 1u);
    EXPECT_EQ(framework->plugins().score[0].weight, c.weight);
  }
}

// A plugin that does not normalize has nothing to say about it.
TEST_F(FrameworkBuildTest, ScoresAreNormalizedByThoseThatDo) {
  Add<FakeScore>("Plain");
  Add<FakeNormalizedScore>("Normalized");
  const auto framework = Build("multiPoint: Plain Normalized");
  ASSERT_EQ(framework->plugins().score.size(), 2u);
  EXPECT_EQ(framework->plugins().score[0].extensions, nullptr);
  EXPECT_NE(framework->plugins().score[1].extensions, nullptr);
}

TEST_F(FrameworkBuildTest, ProblemsTable) {
  Add<FakeFilter, FakeScore>("Alpha");
  Add<FakeFilter>("Beta");
  Add<FakeQueueSort>("OtherSort");
  Add<FakeQueueSort, FakeFilter>("SortAndFilter");
  const struct {
    absl::string_view what, profile;
    std::vector<std::string> want;
  } cases[] = {
      {"nothing wrong", "multiPoint: Alpha Beta", {}},
      {"unknown at a point, and a name that is near",
       "filter: Alpha Betta",
       {"2: plugins.filter.enabled: FilterPlugin \"Betta\" does not exist; did you mean "
        "\"Beta\"?"}},
      {"unknown at multiPoint",
       "multiPoint: Xyzzy",
       {"1: plugins.multiPoint.enabled: plugin \"Xyzzy\" does not exist"}},
      {"unknown under disabled",
       "multiPoint: Alpha -Xyzzy; score: -Plugh -*",
       {"2: plugins.multiPoint.disabled: plugin \"Xyzzy\" does not exist",
        "3: plugins.score.disabled: ScorePlugin \"Plugh\" does not exist"}},
      {"a point that the plugin does not implement",
       "score: Alpha Beta",
       {"2: plugins.score.enabled: plugin \"Beta\" does not extend ScorePlugin plugin"}},
      {"twice at a point",
       "filter: Alpha Beta Alpha",
       {"3: plugins.filter.enabled: plugin \"Alpha\" already registered as \"FilterPlugin\""}},
      {"twice at multiPoint: said once",
       "multiPoint: Alpha Beta Alpha",
       {"3: plugins.multiPoint.enabled: plugin \"Alpha\" already registered as "
        "\"FilterPlugin\""}},
      {"no queue sort",
       "queueSort:",
       {"0: plugins.queueSort: only one queue sort plugin required for profile with scheduler name "
        "\"default-scheduler\", but got 0"}},
      {"two queue sorts",
       "multiPoint: OtherSort",
       {"2: plugins.queueSort: only one queue sort plugin required for profile with scheduler name "
        "\"default-scheduler\", but got 2 (OtherSort, Sort); disable all but one at queueSort"}},
      {"two queue sorts, one disabled at the point",
       "multiPoint: OtherSort; queueSort: Sort -OtherSort",
       {}},
      {"no bind plugin",
       "bind:",
       {"0: plugins.bind: at least one bind plugin is needed for profile with scheduler name "
        "\"default-scheduler\""}},
      {"an unknown plugin is not also missed",
       "bind: Bindr",
       {"1: plugins.bind.enabled: BindPlugin \"Bindr\" does not exist; did you mean \"Binder\"?"}},
      {"all problems at once",
       "multiPoint: Alpha Alpha; score: Beta; filter: Nope; queueSort:Sort OtherSort",
       {"4: plugins.filter.enabled: FilterPlugin \"Nope\" does not exist",
        "6: plugins.queueSort: only one queue sort plugin required for profile with scheduler name "
        "\"default-scheduler\", but got 2 (Sort, OtherSort); disable all but one at queueSort",
        "2: plugins.multiPoint.enabled: plugin \"Alpha\" already registered as \"FilterPlugin\"",
        "3: plugins.score.enabled: plugin \"Beta\" does not extend ScorePlugin plugin"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_THAT(ProblemsOf(c.profile), ::testing::UnorderedElementsAreArray(c.want));
  }
}

TEST_F(FrameworkBuildTest, ProblemsNameTheProfile) {
  Problems problems;
  Profile profile = MakeProfile("filter: Nope");
  profile.scheduler_name = "gpu";
  EXPECT_EQ(TryBuild(profile, problems), nullptr);
  EXPECT_EQ(problems.ToString(),
            "p.yaml:1:1: error: profile gpu: plugins.filter.enabled: FilterPlugin \"Nope\" does "
            "not exist\n");
}

TEST_F(FrameworkBuildTest, WhatFactoriesDoWrong) {
  using Made = absl::StatusOr<std::unique_ptr<Plugin>>;
  Add({"Refuses", [](const PluginArgs&, Handle&) -> Made {
         return absl::InvalidArgumentError("mode: is nonsense");
       }});
  Add({"Throws",
       [](const PluginArgs&, Handle&) -> Made { throw std::runtime_error("out of luck"); }});
  Add({"ThrowsInt", [](const PluginArgs&, Handle&) -> Made { throw 5; }});
  Add({"Null", [](const PluginArgs&, Handle&) -> Made { return nullptr; }});
  Add({"Renamed", [](const PluginArgs&, Handle&) -> Made {
         auto plugin = std::make_unique<Fake<FakeFilter>>();
         plugin->name = "Name";
         return plugin;
       }});
  EXPECT_THAT(
      ProblemsOf("multiPoint: Refuses Throws ThrowsInt Null Renamed"),
      ElementsAre("1: plugins: initializing plugin \"Refuses\": mode: is nonsense",
                  "2: plugins: initializing plugin \"Throws\": its factory threw: out of luck",
                  "3: plugins: initializing plugin \"ThrowsInt\": its factory threw something that "
                  "is not a std::exception",
                  "4: plugins: initializing plugin \"Null\": its factory returned null",
                  "5: plugins: initializing plugin \"Renamed\": its Name() is \"Name\""));
}

TEST_F(FrameworkBuildTest, OneInstanceForAllPoints) {
  Add<FakeFilter, FakeScore, FakeReserve>("A");
  Add<FakeFilter>("Unused");
  Problems problems;
  ASSERT_NE(TryBuild(MakeProfile("multiPoint: A; filter: A; score: A"), problems), nullptr);
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A.Create"), 1);
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "Unused.Create"), 0);
}

struct TestArgs {
  int64_t seconds = 60;
  static const FieldTable& Fields() {
    static const FieldTable& table =
        *new FieldTable(DescribeFields<TestArgs>("TestArgs", "For this test.")
                            .Field("seconds", &TestArgs::seconds, "How long."));
    return table;
  }
};

TEST_F(FrameworkBuildTest, ArgumentsAreGivenOrDefault) {
  std::vector<int64_t> seen;
  for (const char* name : {"Given", "Default"}) {
    Add({name,
         [&seen, name](const PluginArgs& args, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
           seen.push_back(args.As<TestArgs>().seconds);
           auto plugin = std::make_unique<Fake<FakeFilter>>();
           plugin->name = name;
           return plugin;
         },
         &TestArgs::Fields()});
  }
  Profile profile = MakeProfile("filter: Given Default");
  profile.args["Given"] = *PluginArgs::Parse("seconds: 5", TestArgs::Fields());
  Problems problems;
  const auto framework = TryBuild(profile, problems);
  ASSERT_NE(framework, nullptr) << problems.ToString();
  EXPECT_THAT(seen, ElementsAre(5, 60));
  EXPECT_EQ(framework->plugins().args("Given").As<TestArgs>().seconds, 5);
  EXPECT_EQ(framework->plugins().args("Default").As<TestArgs>().seconds, 60);
  EXPECT_EQ(framework->plugins().args("Sort").table(), nullptr);
  EXPECT_EQ(framework->plugins().args("NotThere").table(), nullptr);
}

TEST_F(FrameworkBuildTest, ArgumentsThatWereRegisteredWithAnotherTableOrNone) {
  struct OtherArgs {
    static const FieldTable& Fields() {
      static const FieldTable& table =
          *new FieldTable(DescribeFields<OtherArgs>("OtherArgs", "For this test."));
      return table;
    }
  };
  const auto factory = [](const char* name) {
    return [name](const PluginArgs& args, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
      EXPECT_EQ(args.As<TestArgs>().seconds, 60);
      auto plugin = std::make_unique<Fake<FakeFilter>>();
      plugin->name = name;
      return plugin;
    };
  };
  Add({"None", factory("None")});
  Add({"Other", factory("Other"), &OtherArgs::Fields()});
  EXPECT_THAT(ProblemsOf("filter: None Other"),
              ElementsAre("1: plugins: initializing plugin \"None\": it reads TestArgs, but was "
                          "registered with no table of arguments; give WithPlugin() or "
                          "Registry::Builder::Add() TestArgs::Fields()",
                          "2: plugins: initializing plugin \"Other\": it reads TestArgs, but was "
                          "registered with OtherArgs; give WithPlugin() or "
                          "Registry::Builder::Add() TestArgs::Fields()"));
}

TEST_F(FrameworkBuildTest, StateThatNoPluginWritesIsAWarning) {
  Add<FakePreFilter, FakeFilter, FakePreScore, FakeScore>("A");
  Add<FakeFilter, FakeScore>("Stateless");
  const auto warning = [](int line, absl::string_view where) {
    return absl::StrCat(line, ": plugins: plugin \"A\" is enabled ", where,
                        "; if it reads what it writes there, every pod fails: enable it at both");
  };
  const struct {
    absl::string_view profile;
    std::vector<std::string> want;
  } cases[] = {
      {"multiPoint: A", {}},
      {"preFilter: A; filter: A", {}},
      {"preFilter: A", {}},
      {"filter: Stateless; score: Stateless", {}},
      {"filter: A", {warning(1, "at filter but not at preFilter")}},
      {"multiPoint: A; preFilter: -A", {warning(2, "at filter but not at preFilter")}},
      {"score: A", {warning(1, "at score but not at preScore")}},
      {"filter: A; score: A",
       {warning(1, "at filter but not at preFilter, at score but not at preScore")}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.profile);
    Problems problems;
    EXPECT_NE(TryBuild(MakeProfile(c.profile), problems), nullptr);
    EXPECT_THAT(ProblemsOf(c.profile), ::testing::ElementsAreArray(c.want));
  }
}

// Says at which points it reads what its PreFilter writes; not at Filter.
struct FakeStateUse : StateUsePlugin {
  absl::Span<const StateUse> StateUses() const override {
    static constexpr StateUse kUses[] = {{ExtensionPoint::kScore, ExtensionPoint::kPreFilter},
                                         {ExtensionPoint::kReserve, ExtensionPoint::kPreFilter}};
    return kUses;
  }
};

TEST_F(FrameworkBuildTest, StateThatAPluginSaysItReads) {
  Add<FakePreFilter, FakeFilter, FakePreScore, FakeScore, FakeReserve, FakeStateUse>("A");
  const auto warning = [](int line, absl::string_view readers) {
    return absl::StrCat(line, ": plugins: plugin \"A\" is enabled at ", readers,
                        " but not at preFilter; it reads what it writes there, and finds nothing: "
                        "enable it at both");
  };
  EXPECT_THAT(ProblemsOf("multiPoint: A"), ElementsAre());
  EXPECT_THAT(ProblemsOf("filter: A"), ElementsAre());
  EXPECT_THAT(ProblemsOf("preFilter: A; score: A; reserve: A"), ElementsAre());
  EXPECT_THAT(ProblemsOf("score: A"), ElementsAre(warning(1, "score")));
  EXPECT_THAT(ProblemsOf("reserve: A"), ElementsAre(warning(1, "reserve")));
  EXPECT_THAT(ProblemsOf("multiPoint: A; preFilter: -A"),
              ElementsAre(warning(2, "score and reserve")));
}

struct NeedyArgs {
  std::string url;
  static const FieldTable& Fields() {
    static const FieldTable& table =
        *new FieldTable(DescribeFields<NeedyArgs>("NeedyArgs", "For this test.")
                            .Field("url", &NeedyArgs::url, "Where to ask.")
                            .Check([](const NeedyArgs& args, FieldProblems& problems) {
                              if (args.url.empty()) problems.Required("url", "where to ask");
                            }));
    return table;
  }
};

TEST_F(FrameworkBuildTest, DefaultArgumentsMayLackSomething) {
  Add({"Needy",
       [](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
         auto plugin = std::make_unique<Fake<FakeFilter>>();
         plugin->name = "Needy";
         return plugin;
       },
       &NeedyArgs::Fields()});
  Profile profile = MakeProfile("filter: Needy");
  Problems problems;
  EXPECT_EQ(TryBuild(profile, problems), nullptr);
  EXPECT_THAT(problems.ToString(),
              ::testing::HasSubstr(
                  "plugins: Needy has no arguments: args.url: Required value: where to ask"));
  profile.args["Needy"] = *PluginArgs::Parse("url: here", NeedyArgs::Fields());
  Problems none;
  EXPECT_NE(TryBuild(profile, none), nullptr) << none.ToString();
}

TEST_F(FrameworkBuildTest, ProfilesWithoutANameAreCalledByTheirPlace) {
  Profile profile = MakeProfile("filter: NoSuch");
  profile.scheduler_name = "";
  profile.number = 2;
  Problems problems;
  EXPECT_EQ(TryBuild(profile, problems), nullptr);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems.list().front().subject, "profile 2");
}

TEST_F(FrameworkBuildTest, AtMost64Plugins) {
  std::string profile = "filter:";
  for (int i = 0; i < 63; ++i) {
    const std::string name = absl::StrCat("P", i);
    Add<FakeFilter>(name);
    if (i < 62) absl::StrAppend(&profile, " ", name);
  }
  EXPECT_THAT(ProblemsOf(profile), IsEmpty());  // Sort and Binder are two more
  EXPECT_THAT(ProblemsOf(profile + " P62"),
              ElementsAre("0: plugins: enables 65 plugins; a profile can have 64"));
}

// --- Groups ---

TEST_F(FrameworkBuildTest, GroupPluginMustBeEnabledWhereItIsNeeded) {
  Add<FakeGroup, FakeQueueSort, FakePreFilter, FakePostFilter, FakePermit, FakeReserve>("Gangs");
  Add<FakeGroup, FakeQueueSort, FakePreFilter, FakePostFilter, FakePermit, FakeReserve>("Gangs2");
  Add<FakeGroup>("Pure");
  const std::string must =
      "1: plugins: Gangs defines pod groups and must be enabled at multiPoint, or at all of "
      "preFilter, postFilter, reserve and permit; missing: ";
  const struct {
    absl::string_view what, profile;
    bool defines_groups;
    std::vector<std::string> want;
  } cases[] = {
      {"everywhere", "multiPoint: Gangs; queueSort: -Sort", true, {}},
      {"at each point",
       "preFilter: Gangs; postFilter: Gangs; permit: Gangs; reserve: Gangs",
       true,
       {}},
      {"not to sort", "multiPoint: Gangs; queueSort: -Gangs Sort", true, {}},
      {"only to sort: this profile has no groups", "queueSort: Gangs", false, {}},
      {"only to sort, by multiPoint",
       "multiPoint: Gangs; queueSort: -Sort; preFilter: -*; postFilter: -*; permit: -*; reserve: "
       "-*",
       false,
       {}},
      {"permit alone", "permit: Gangs", true, {must + "preFilter, postFilter, reserve"}},
      {"multiPoint but one",
       "multiPoint: Gangs; reserve: -Gangs; queueSort: -Sort",
       true,
       {must + "reserve"}},
      {"no points at all", "multiPoint: Pure", true, {}},
      {"two that define groups",
       "multiPoint: Gangs Pure; queueSort: -Sort",
       true,
       {"2: plugins: Pure defines pod groups, and so does Gangs; a profile can have one such "
        "plugin"}},
      {"two, one of which only sorts", "queueSort: Gangs; multiPoint: Pure", true, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_THAT(ProblemsOf(c.profile), ::testing::ElementsAreArray(c.want));
    if (!c.want.empty()) continue;
    EXPECT_EQ(Build(c.profile)->plugins().group != nullptr, c.defines_groups);
  }
}

// --- What else plugins offer ---

TEST_F(FrameworkBuildTest, EventsOfPluginsThatCanReject) {
  const ClusterEvent node_add{EventResource::Node(), action::kAdd, "NodeAdd"};
  Add<FakeFilter, FakeEvents>("Registers").events = [=] {
    return std::vector<ClusterEventWithHint>{{node_add, nullptr}};
  };
  Add<FakePermit>("Silent");
  Add<FakeReserve, FakeEvents>("Nothing");
  Add<FakeScore, FakeEvents>("CannotReject");
  Add<FakeGroup, FakeEvents>("Group");
  // Disabled where it could reject, but it is a plugin that can.
  Add<FakeFilter, FakeScore>("OnlyScores");
  const auto framework = Build(
      "multiPoint: Registers Silent Nothing CannotReject Group OnlyScores; filter: -OnlyScores");
  std::vector<std::string> got;
  for (const PluginEvents& events : framework->plugins().events) {
    got.push_back(absl::StrCat(events.plugin.view(), " ", events.events.size()));
  }
  EXPECT_THAT(got, ElementsAre("Registers 1", "Silent 1", "Nothing 0", "Group 0", "OnlyScores 1"));
  EXPECT_EQ(framework->plugins().events[0].events[0].event.label, "NodeAdd");
  EXPECT_EQ(framework->plugins().events[0].events[0].hint, nullptr);
  EXPECT_TRUE(framework->plugins().events[1].events[0].event.Matches(node_add));
}

TEST_F(FrameworkBuildTest, EventsToRegisterThatThrows) {
  Add<FakeFilter, FakeEvents>("A").events = []() -> std::vector<ClusterEventWithHint> {
    throw std::runtime_error("boom");
  };
  EXPECT_THAT(ProblemsOf("filter: A"),
              ElementsAre("1: plugins: plugin \"A\" threw in EventsToRegister: boom"));
}

TEST_F(FrameworkBuildTest, GuardsCatchAndCount) {
  Add<FakeGroup, FakeObserver, FakeFilter, FakeEvents>("Bad");
  script("Bad").group_ready = []() -> Status { throw std::runtime_error("boom"); };
  script("Bad").assigned = [] { throw 7; };
  script("Bad").events = [] {
    const QueueingHintFn hint = [](const PodInfo&,
                                   const ObjectChange&) -> absl::StatusOr<QueueingHint> {
      throw std::runtime_error("hint");
    };
    const EventFilterFn filter = [](const ObjectChange&) -> bool { throw 8; };
    return std::vector<ClusterEventWithHint>{
        {.event = {EventResource::Node(), action::kAll, ""}, .hint = hint, .filter = filter}};
  };
  script("Sort").less = [](const auto&, const auto&) -> bool { throw std::runtime_error("less"); };
  const auto framework = Build("multiPoint: Bad");
  const auto pod = MakePod().Name("p").Obj();
  struct NoMembers final : GroupMembers {
    absl::string_view name() const override { return "default/g"; }
    absl::Span<const GroupMember> members() const override { return {}; }
    const MemberCounts& counts() const override { return none; }
    absl::Span<const MemberKind> kinds() const override { return {}; }
    uint64_t kinds_version() const override { return 0; }
    MemberCounts none;
  } members;

  EXPECT_FALSE(framework->plugins().queue_sort.front().plugin->Less({}, {}));
  EXPECT_EQ(framework->fault_log().faults(), 1);
  EXPECT_EQ(framework->plugins().group->GroupOf(*pod), std::nullopt);
  EXPECT_EQ(framework->plugins().group->ReadyToSchedule(members).ToString(),
            "Error by Bad: plugin \"Bad\" threw in ReadyToSchedule: boom");
  EXPECT_EQ(framework->fault_log().faults(), 3);
  script("Bad").group_ready = [] { return Status::Wait(); };
  EXPECT_EQ(framework->plugins().group->ReadyToSchedule(members).ToString(),
            "Error by Bad: group plugin \"Bad\" returned \"Wait\", which is unsupported");
  script("Bad").group_ready = [] { return Status::Unschedulable("not yet"); };
  EXPECT_EQ(framework->plugins().group->ReadyToSchedule(members).ToString(),
            "Unschedulable by Bad: not yet");
  EXPECT_EQ(framework->fault_log().faults(), 4);
  ASSERT_EQ(framework->plugins().observers.size(), 1u);
  framework->plugins().observers[0]->OnPodAssigned(*pod, MakeNode().Info());
  EXPECT_EQ(framework->fault_log().faults(), 5);
  EXPECT_THAT(framework->plugins().events[0].events[0].hint(*pod, {}).status().message(),
              "plugin \"Bad\" threw in QueueingHint: hint");
  EXPECT_EQ(framework->fault_log().faults(), 6);
  EXPECT_TRUE(framework->plugins().events[0].events[0].filter({})) << "the hint is asked";
  const FaultLog::ByPlugin faults = framework->fault_log().by_plugin();
  EXPECT_EQ(faults.at({"Sort", "Less"}).first_fault, "threw: less");
  EXPECT_EQ(faults.at({"Bad", "OnPodAssigned"}).first_fault, "threw: not a std::exception");
  EXPECT_EQ(faults.at({"Bad", "EventFilter"}).first_fault, "threw: not a std::exception");
  EXPECT_EQ(faults.at({"Bad", "ReadyToSchedule"}).first_fault, "threw: boom");
}

}  // namespace
}  // namespace berth::testing
