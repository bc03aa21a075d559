// SPDX-License-Identifier: Apache-2.0
// What a scheduler makes of extenders' answers: kube-scheduler v1.35 schedule_one.go and
// preemption.go.
#include "berth/extensions/extender.h"

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/filter.h"
#include "berth/simulation.h"
#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"
#include "tests/extender/scripted_extender.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Result = SchedulerExtender::FilterResult;
using Victims = SchedulerExtender::Victims;

class ExtenderTest : public ::testing::Test {
 protected:
  ScriptedExtender& Add() {
    auto extender = std::make_shared<ScriptedExtender>();
    extenders_.push_back(extender);
    return *extender;
  }
  void Node(const std::string& name, const std::string& cpu = "8") {
    objects_.push_back(testing::MakeNode().Name(name).Allocatable("cpu", cpu).Pods(110).Object());
  }
  static testing::PodBuilder Pod(const std::string& name, const std::string& cpu = "1") {
    return testing::MakePod()
        .Name(name)
        .Namespace("default")
        .Uid(name + "-uid")
        .Request("cpu", cpu);
  }
  void Submit(testing::PodBuilder pod) { objects_.push_back(pod.Object()); }

  // Runs everything that is due now.
  Simulation& Run(bool incremental = true) {
    auto created = Simulation::Create({.configuration = DefaultConfiguration(Builtins()),
                                       .registry = &Builtins(),
                                       .objects = objects_,
                                       .extenders = extenders_,
                                       .incremental = incremental});
    EXPECT_TRUE(created.ok()) << created.status();
    simulation_ = *std::move(created);
    simulation_->RunUntilQuiet(absl::Seconds(30));
    return *simulation_;
  }
  // "" if it has none.
  std::string NodeOf(const std::string& pod) const {
    return std::string(simulation_->cluster().AssignedNode(*Identity(pod)).value_or("gone"));
  }
  UnboundPod Waiting() const {
    const std::vector<UnboundPod> unbound = simulation_->scheduler().Unbound();
    return unbound.size() == 1 ? unbound.front() : UnboundPod();
  }
  std::string Troubles() const {
    std::string text;
    for (const PluginTrouble& trouble : simulation_->scheduler().counters().troubles) {
      absl::StrAppend(&text, trouble.plugin, " ", trouble.point, ": ", trouble.first_fault, "\n");
    }
    return text;
  }

  IdentityPtr Identity(const std::string& pod) const {
    for (const Object& object : objects_) {
      if (object.kind() != Kind::kPod) continue;
      const auto info = PodInfo::Create(object.packed());
      if (info.ok() && (*info)->name() == pod) return (*info)->identity();
    }
    return nullptr;
  }

  std::vector<Object> objects_;
  ExtenderList extenders_;
  std::unique_ptr<Simulation> simulation_;
};

TEST_F(ExtenderTest, FiltersFollowEachOther) {
  for (const char* name : {"a", "b", "c"}) Node(name);
  ScriptedExtender& first = Add();
  ScriptedExtender& second = Add();
  first.filter = [](const PodInfo&, const NodeNames&) { return Result{.nodes = {"c", "b"}}; };
  second.filter = [](const PodInfo&, const NodeNames&) { return Result{.nodes = {"c"}}; };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(NodeOf("p"), "c");
  EXPECT_THAT(first.asked, ElementsAre("filter default/p a b c"));
  EXPECT_THAT(second.asked, ElementsAre("filter default/p b c"));
}

TEST_F(ExtenderTest, ReasonsAreThoseOfTheExtender) {
  for (const char* name : {"a", "b", "c", "d"}) Node(name);
  Node("small", "0");
  Add().filter = [](const PodInfo&, const NodeNames&) {
    return Result{.nodes = {},
                  .failed = {{"a", "given away"}, {"b", "given away"}},
                  .failed_and_unresolvable = {{"b", "no device"}, {"other", "is not there"}}};
  };
  Submit(Pod("p"));
  Run();
  const UnboundPod waiting = Waiting();
  EXPECT_EQ(waiting.message,
            "0/5 nodes are available: 1 Insufficient cpu, 1 given away, 1 no device. no new claims "
            "to deallocate, preemption: 0/5 nodes are available: 1 No preemption victims found for "
            "incoming pod, 4 Preemption is not helpful for scheduling.");
  // The other two are not explained by anybody.
  EXPECT_EQ(waiting.waiting.nodes_by_plugin.back().plugin, "Extender");
  EXPECT_EQ(waiting.waiting.nodes_by_plugin.back().nodes, 4);
}

TEST_F(ExtenderTest, AnyEventRequeuesWhatAnExtenderRejected) {
  Node("a");
  bool open = false;
  ScriptedExtender& extender = Add();
  extender.filter = [&](const PodInfo&, const NodeNames& nodes) {
    return Result{.nodes = open ? nodes : NodeNames()};
  };
  Submit(Pod("p"));
  Simulation& simulation = Run();
  EXPECT_EQ(NodeOf("p"), "");
  open = true;
  simulation.cluster().Set(Pod("other").SchedulerName("somebody").NodeName("a").Object());
  simulation.RunUntilQuiet(absl::Seconds(30));
  EXPECT_EQ(NodeOf("p"), "a");
}

TEST_F(ExtenderTest, ScoresCountTenfoldAndByWeight) {
  for (const char* name : {"a", "b", "c"}) Node(name);
  ScriptedExtender& light = Add();
  ScriptedExtender& heavy = Add();
  light.weight_of_scores = 1;
  heavy.weight_of_scores = 3;
  // a: 10*10 = 100, b: 4*3*10 = 120.
  light.prioritize = [](const PodInfo&, const NodeNames&) {
    return std::vector<SchedulerExtender::HostPriority>{{"a", 10}, {"nobody", 10}};
  };
  heavy.prioritize = [](const PodInfo&, const NodeNames&) {
    return std::vector<SchedulerExtender::HostPriority>{{"b", 4}};
  };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(NodeOf("p"), "b");
  EXPECT_THAT(light.asked, ElementsAre("prioritize default/p a b c"));
}

TEST_F(ExtenderTest, ScoresDoNotOverflow) {
  for (const char* name : {"a", "b"}) Node(name);
  for (int i = 0; i < 2; ++i) {
    ScriptedExtender& extender = Add();
    extender.weight_of_scores = std::numeric_limits<int64_t>::max();
    extender.prioritize = [](const PodInfo&, const NodeNames&) {
      return std::vector<SchedulerExtender::HostPriority>{
          {"a", std::numeric_limits<int64_t>::min()}, {"b", std::numeric_limits<int64_t>::max()}};
    };
  }
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(NodeOf("p"), "b");
}

TEST_F(ExtenderTest, ASingleFeasibleNodeIsNotScored) {
  Node("a");
  ScriptedExtender& extender = Add();
  extender.filter = [](const PodInfo&, const NodeNames& nodes) { return Result{.nodes = nodes}; };
  extender.prioritize = [](const PodInfo&, const NodeNames&) -> SchedulerExtender::Priorities {
    return absl::InternalError("not to be called");
  };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(NodeOf("p"), "a");
  EXPECT_THAT(extender.asked, ElementsAre("filter default/p a"));
}

TEST_F(ExtenderTest, WithoutFeasibleNodesNobodyIsAsked) {
  Node("a");
  ScriptedExtender& extender = Add();
  extender.filter = [](const PodInfo&, const NodeNames& nodes) { return Result{.nodes = nodes}; };
  Submit(Pod("p", "100"));
  Run();
  EXPECT_THAT(extender.asked, IsEmpty());
}

TEST_F(ExtenderTest, OtherPodsAreNotItsConcernAndUseTheCaches) {
  for (int i = 0; i < 20; ++i) Node(absl::StrCat("n", i), "64");
  ScriptedExtender& extender = Add();
  extender.interested = [](const PodInfo& pod) { return pod.labels().Find("device") != nullptr; };
  extender.filter = [](const PodInfo&, const NodeNames&) { return Result{.nodes = {"n7"}}; };
  for (int i = 0; i < 50; ++i) Submit(Pod(absl::StrCat("plain", i)));
  for (int i = 0; i < 3; ++i) Submit(Pod(absl::StrCat("device", i)).Label("device", "x"));
  const Simulation& simulation = Run();
  EXPECT_EQ(extender.asked.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(NodeOf(absl::StrCat("device", i)), "n7");
  EXPECT_GE(simulation.scheduler().counters().incremental_cycles, 45);
}

// Pods that nobody can tell apart, but the extender can.
TEST_F(ExtenderTest, NothingIsRememberedOfAnExtender) {
  for (const char* name : {"a", "b"}) Node(name, "64");
  int calls = 0;
  Add().filter = [&](const PodInfo&, const NodeNames&) {
    return Result{.nodes = {++calls % 2 == 0 ? "a" : "b"}};
  };
  for (int i = 0; i < 10; ++i) Submit(Pod(absl::StrCat("p", i)));
  Run();
  EXPECT_EQ(calls, 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(NodeOf(absl::StrCat("p", i)), i % 2 == 0 ? "b" : "a");
}

TEST_F(ExtenderTest, OneThatFailsEndsTheCycle) {
  for (const char* name : {"a", "b"}) Node(name);
  Add().filter = [](const PodInfo&, const NodeNames&) -> absl::StatusOr<Result> {
    return absl::UnavailableError("extender http://extender.test is on holiday");
  };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(NodeOf("p"), "");
  EXPECT_THAT(Waiting().message, HasSubstr("extender http://extender.test is on holiday"));
  EXPECT_EQ(Waiting().plugin, "Extender");
  EXPECT_THAT(Troubles(), HasSubstr("Extender http://extender.test Filter: extender "));
}

TEST_F(ExtenderTest, OneThatThrowsOrInventsNodesEndsTheCycle) {
  Node("a");
  ScriptedExtender& extender = Add();
  extender.filter = [](const PodInfo&, const NodeNames&) -> absl::StatusOr<Result> {
    throw std::runtime_error("boom");
  };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(Waiting().message, "extender \"http://extender.test\" threw: boom");
  extender.filter = [](const PodInfo&, const NodeNames&) { return Result{.nodes = {"a", "z"}}; };
  Run();
  EXPECT_EQ(Waiting().message,
            "extender \"http://extender.test\" claims a filtered node \"z\" which is not found in "
            "the input node list");
}

TEST_F(ExtenderTest, AnIgnorableOneIsPassedOver) {
  for (const char* name : {"a", "b"}) Node(name);
  ScriptedExtender& extender = Add();
  extender.ignorable = true;
  extender.filter = [](const PodInfo&, const NodeNames&) -> absl::StatusOr<Result> {
    return absl::UnavailableError("away");
  };
  extender.bind = [](const PodInfo&, absl::string_view) { return absl::UnavailableError("away"); };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(NodeOf("p"), "a");  // bound by the plugin
  EXPECT_THAT(Troubles(), AllOf(HasSubstr("Filter: away"), HasSubstr("Bind: away")));
}

TEST_F(ExtenderTest, WhoDoesNotPrioritizeGivesNoScores) {
  for (const char* name : {"a", "b"}) Node(name);
  ScriptedExtender& extender = Add();
  extender.prioritize = [](const PodInfo&, const NodeNames&) -> SchedulerExtender::Priorities {
    return absl::UnavailableError("away");
  };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(NodeOf("p"), "a");
  EXPECT_THAT(Troubles(), HasSubstr("Prioritize: away"));
}

TEST_F(ExtenderTest, ItBindsInPlaceOfThePlugins) {
  Node("a");
  ScriptedExtender& extender = Add();
  extender.bind = [](const PodInfo&, absl::string_view) { return absl::OkStatus(); };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(NodeOf("p"), "a");
  EXPECT_THAT(extender.asked, ElementsAre("bind default/p a"));
}

TEST_F(ExtenderTest, ABindingThatFailsIsUndone) {
  Node("a");
  ScriptedExtender& extender = Add();
  int calls = 0;
  extender.bind = [&](const PodInfo&, absl::string_view) -> absl::Status {
    return ++calls < 3 ? absl::UnavailableError("not now") : absl::OkStatus();
  };
  Submit(Pod("p"));
  Run();
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(NodeOf("p"), "a");
}

// --- Preemption ---

class ExtenderPreemptionTest : public ExtenderTest {
 protected:
  ExtenderPreemptionTest() {
    for (const char* name : {"a", "b"}) {
      Node(name);
      for (const char* part : {"1", "2"}) {
        objects_.push_back(
            Pod(absl::StrCat(name, part), "4").NodeName(name).Phase("Running").Object());
      }
    }
    Submit(Pod("p", "8").Priority(10));
  }
};

TEST_F(ExtenderPreemptionTest, ItChoosesAmongAllCandidates) {
  ScriptedExtender& extender = Add();
  std::map<std::string, NodeNames> seen;
  extender.preempt = [&](const PodInfo&, const std::map<std::string, NodeNames>& pods) {
    if (seen.empty()) seen = pods;
    return std::map<std::string, Victims>{{"b", {pods.at("b"), 0}}};
  };
  Run();
  EXPECT_THAT(seen, ::testing::SizeIs(2));
  EXPECT_EQ(NodeOf("p"), "b");
  EXPECT_EQ(NodeOf("a1"), "a");
}

TEST_F(ExtenderPreemptionTest, ItLeavesNone) {
  Add().preempt = [](const PodInfo&, const auto&) { return std::map<std::string, Victims>(); };
  Run();
  EXPECT_EQ(NodeOf("p"), "");
  EXPECT_THAT(Waiting().message, HasSubstr("no candidate node for preemption"));
  EXPECT_EQ(NodeOf("b2"), "b");
}

TEST_F(ExtenderPreemptionTest, NobodyGoesForNonsense) {
  ScriptedExtender& extender = Add();
  const std::vector<std::pair<std::map<std::string, Victims>, std::string>> cases = {
      {{{"z", {{"a1-uid"}, 0}}}, "names a node \"z\""},
      {{{"a", {{"b1-uid"}, 0}}}, "claims to preempt pod (UID: b1-uid) on node: a"},
      {{{"a", {{}, 0}}}, "expected at least one victim pod on node \"a\""},
  };
  for (const auto& [answer, want] : cases) {
    extender.preempt = [&answer = answer](const PodInfo&, const auto&) { return answer; };
    extender.ignorable = false;
    Run();
    EXPECT_EQ(NodeOf("p"), "");
    EXPECT_THAT(Waiting().message, HasSubstr(want));
    EXPECT_EQ(NodeOf("a1"), "a");
  }
}

TEST_F(ExtenderPreemptionTest, AnIgnorableOneIsPassedOver) {
  ScriptedExtender& extender = Add();
  extender.ignorable = true;
  extender.preempt = [](const PodInfo&,
                        const auto&) -> absl::StatusOr<std::map<std::string, Victims>> {
    return absl::UnavailableError("away");
  };
  Run();
  EXPECT_EQ(NodeOf("p"), "a");
}

// The nominated node is filtered by the extender, too.
TEST_F(ExtenderPreemptionTest, TheNominatedNodeMustPass) {
  ScriptedExtender& extender = Add();
  extender.filter = [](const PodInfo&, const NodeNames& nodes) {
    return Result{.nodes = {}, .failed_and_unresolvable = {{nodes.front(), "not that one"}}};
  };
  Run();
  EXPECT_EQ(NodeOf("p"), "");
  EXPECT_THAT(extender.asked, ::testing::Contains("filter default/p a"));
}

// Accepts node "a" in its batch form only.
class AcceptsTooManyRows final : public Plugin, public FilterPlugin {
 public:
  absl::string_view Name() const override { return "AcceptsTooManyRows"; }
  Status Filter(const CycleState&, const PodInfo&, const NodeInfo& node) const override {
    return node.name().view() == "a" ? Status::Unschedulable("not that one") : Status::Success();
  }
  Status FilterNodes(const CycleState&, const PodInfo&, const NodeTable&,
                     NodeVerdicts&) const override {
    return Status::Success();
  }
};

TEST_F(ExtenderTest, NodesThatFilterRejectsAfterFilterNodesAreCounted) {
  const Registry registry =
      BuiltinRegistry(
          {WithPlugin("AcceptsTooManyRows",
                      [](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
                        return std::make_unique<AcceptsTooManyRows>();
                      })})
          .value();
  const LoadedConfiguration loaded = ParseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {filter: {enabled: [{name: AcceptsTooManyRows}]}}}]
)",
                                                        "f", registry);
  ASSERT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  for (const char* name : {"a", "b"}) Node(name);
  ScriptedExtender& extender = Add();
  extender.filter = [](const PodInfo&, const NodeNames& nodes) { return Result{.nodes = nodes}; };
  extender.prioritize = [](const PodInfo&, const NodeNames&) {
    return std::vector<SchedulerExtender::HostPriority>{{"a", 10}};
  };
  Submit(Pod("p"));
  auto created = Simulation::Create({.configuration = loaded.configuration,
                                     .registry = &registry,
                                     .objects = objects_,
                                     .extenders = extenders_});
  ASSERT_TRUE(created.ok()) << created.status();
  simulation_ = *std::move(created);
  simulation_->RunUntilQuiet(absl::Seconds(30));
  EXPECT_EQ(NodeOf("p"), "b");
  EXPECT_EQ(simulation_->scheduler().counters().unconfirmed, 1);
}

TEST(ExtenderOptionsTest, AConfigurationWithExtendersNeedsThem) {
  KubeSchedulerConfiguration configuration = DefaultConfiguration(Builtins());
  configuration.extenders.push_back({.url_prefix = "http://x", .filter_verb = "filter"});
  const auto created =
      Simulation::Create({.configuration = configuration, .registry = &Builtins()});
  EXPECT_THAT(std::string(created.status().message()), HasSubstr("NewHttpExtenders"));
}

TEST(ExtenderOptionsTest, WhatAnExtenderManagesAloneIsNoResourceOfTheFilter) {
  const LoadedConfiguration loaded = ParseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {ignoredResources: [example.com/other]}
extenders:
- urlPrefix: http://x
  managedResources: [{name: example.com/device, ignoredByScheduler: true}, {name: example.com/b}]
)",
                                                        "f", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  EXPECT_THAT(loaded.configuration.profiles.front().args.at("NodeResourcesFit").ToString(),
              HasSubstr("ignoredResources: [example.com/device]"));
}

}  // namespace
}  // namespace berth
