// SPDX-License-Identifier: Apache-2.0
// Coscheduling on its own, after the tables of scheduler-plugins.
#include "plugins/coscheduling/coscheduling.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "group/group_index.h"
#include "plugins/coscheduling/min_resources.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr absl::string_view kGroup = "default/g";

PodPtr Member(const std::string& name) {
  return MakePod().Name(name).Namespace("default").Label(Coscheduling::kPodGroupLabel, "g").Obj();
}

api::PodGroup MakeGroup(int min_member) {
  api::PodGroup group;
  group.mutable_metadata()->set_name("g");
  group.mutable_metadata()->set_namespace_("default");
  group.mutable_spec()->set_min_member(min_member);
  return group;
}

Object AsObject(const api::PodGroup& group) {
  return Object::Of(std::make_shared<api::PodGroup>(group));
}

class NoNodes final : public NodeStatuses {
 public:
  Code code(NodeRow) const override { return Code::kUnschedulable; }
  Status status(NodeRow) const override { return Status::Unschedulable("no room"); }
  std::vector<NodeRow> RowsWith(Code) const override { return {}; }
};

class CoschedulingTest : public ::testing::Test {
 protected:
  void SetUp() override { plugin_ = MakePlugin<Coscheduling, CoschedulingArgs>(handle_); }

  Status PreFilter(const PodInfo& pod) {
    CycleState state;
    PreFilterResult result;
    return plugin_->PreFilter(state, pod, handle_.nodes(), result);
  }
  Status Permit(const PodInfo& pod, absl::Duration& timeout) {
    CycleState state;
    return plugin_->Permit(state, pod, "n0", timeout);
  }

  FakeHandle handle_;
  std::unique_ptr<Coscheduling> plugin_;
};

TEST_F(CoschedulingTest, GroupOfIsTheLabelInThePodsNamespace) {
  EXPECT_EQ(plugin_->GroupOf(*Member("p")), "default/g");
  EXPECT_EQ(plugin_->GroupOf(*MakePod().Name("q").Obj()), std::nullopt);
}

TEST_F(CoschedulingTest, LessOrdersByPriorityThenTimeThenGroup) {
  const auto queued = [](int priority, int seconds, const std::string& group) {
    QueuedPodInfo info;
    info.pod = MakePod().Name("p").Priority(priority).Obj();
    info.group = group;
    info.group_timestamp = absl::FromUnixSeconds(seconds);
    return info;
  };
  EXPECT_TRUE(plugin_->Less(queued(2, 9, "b"), queued(1, 1, "a")));
  EXPECT_TRUE(plugin_->Less(queued(1, 1, "b"), queued(1, 2, "a")));
  EXPECT_TRUE(plugin_->Less(queued(1, 1, "a"), queued(1, 1, "b")));
  EXPECT_FALSE(plugin_->Less(queued(1, 1, "a"), queued(1, 1, "a")));
}

TEST_F(CoschedulingTest, PreFilterWantsEnoughSiblings) {
  EXPECT_TRUE(PreFilter(*MakePod().Name("single").Obj()).ok());
  EXPECT_TRUE(PreFilter(*Member("a")).ok()) << "no PodGroup, no rule";
  handle_.object_store().Set(AsObject(MakeGroup(3)));
  handle_.fake_groups().Set(kGroup, {{Member("a"), ""}, {Member("b"), ""}});
  EXPECT_EQ(PreFilter(*Member("a")),
            Status::UnschedulableAndUnresolvable(
                "pre-filter pod a cannot find enough sibling pods, current pods number: 2, "
                "minMember of group: 3"));
  const PodPtr gated = MakePod()
                           .Name("c")
                           .Namespace("default")
                           .Label(Coscheduling::kPodGroupLabel, "g")
                           .SchedulingGate("hold")
                           .Obj();
  handle_.fake_groups().Set(kGroup, {{Member("a"), ""}, {Member("b"), ""}, {gated, ""}});
  EXPECT_EQ(PreFilter(*Member("a")),
            Status::UnschedulableAndUnresolvable(
                "pre-filter pod a cannot proceed due to gated pods in the same PodGroup"));
  handle_.fake_groups().Set(kGroup, {{Member("a"), ""}, {Member("b"), ""}, {Member("c"), "n0"}});
  EXPECT_TRUE(PreFilter(*Member("a")).ok());
}

TEST_F(CoschedulingTest, PostFilterSaysNothingOfAPodWithoutAGroup) {
  const auto post_filter = [this](const PodInfo& pod) {
    CycleState state;
    PostFilterResult result;
    const NoNodes statuses;
    return plugin_->PostFilter(state, pod, statuses, result);
  };
  EXPECT_EQ(post_filter(*MakePod().Name("single").Obj()), Status::Make(Code::kUnschedulable, {}));
  EXPECT_EQ(post_filter(*Member("a")), Status::Unschedulable("can not find pod group"));
}

TEST_F(CoschedulingTest, PermitWaitsForTheQuorumAndThenLetsTheSiblingsGo) {
  absl::Duration timeout;
  EXPECT_TRUE(Permit(*MakePod().Name("single").Obj(), timeout).ok());
  EXPECT_EQ(Permit(*Member("a"), timeout), Status::Unschedulable("PodGroup not found"));

  handle_.object_store().Set(AsObject(MakeGroup(2)));
  handle_.fake_groups().Set(kGroup, {{Member("a"), "n0"}, {Member("b"), ""}});
  EXPECT_TRUE(Permit(*Member("a"), timeout).IsWait());
  EXPECT_EQ(timeout, absl::Seconds(60));
  FakeWaitingPod& waiting =
      handle_.AddWaitingPod(Member("a"), "n0", {std::string(Coscheduling::kName)});

  handle_.fake_groups().Set(kGroup, {{Member("a"), "n0"}, {Member("b"), "n1"}});
  EXPECT_TRUE(Permit(*Member("b"), timeout).ok());
  EXPECT_TRUE(waiting.allowed());
}

TEST_F(CoschedulingTest, TheGroupsOwnTimeoutCounts) {
  api::PodGroup group = MakeGroup(2);
  group.mutable_spec()->set_schedule_timeout_seconds(7);
  handle_.object_store().Set(AsObject(group));
  absl::Duration timeout;
  EXPECT_TRUE(Permit(*Member("a"), timeout).IsWait());
  EXPECT_EQ(timeout, absl::Seconds(7));
}

TEST_F(CoschedulingTest, UnreserveTakesTheWaitingSiblingsAlongOnlyWhenTheGroupNeedsThePod) {
  handle_.object_store().Set(AsObject(MakeGroup(2)));
  FakeWaitingPod& waiting =
      handle_.AddWaitingPod(Member("a"), "n0", {std::string(Coscheduling::kName)});
  CycleState state;
  handle_.fake_groups().Set(kGroup,
                            {{Member("a"), "n0"}, {Member("b"), "n0"}, {Member("c"), "n0"}});
  plugin_->Unreserve(state, *Member("c"), "n0");
  EXPECT_FALSE(waiting.rejected()) << "two are left, and two are enough";
  handle_.fake_groups().Set(kGroup, {{Member("a"), "n0"}, {Member("b"), "n0"}});
  plugin_->Unreserve(state, *Member("b"), "n0");
  EXPECT_TRUE(waiting.rejected());
  EXPECT_EQ(waiting.message(), "rejection in Unreserve");
}

TEST_F(CoschedulingTest, ReadyWhenEnoughMembersAreThere) {
  handle_.fake_groups().Set(kGroup, {{Member("a"), ""}, {Member("b"), ""}});
  const GroupMembers& members = *handle_.groups().Find(kGroup);
  EXPECT_EQ(plugin_->ReadyToSchedule(members),
            Status::Unschedulable("PodGroup default/g not found"));
  handle_.object_store().Set(AsObject(MakeGroup(3)));
  EXPECT_EQ(plugin_->ReadyToSchedule(members).message(),
            "waiting for pods of PodGroup default/g: 2 of 3 are there");
  handle_.object_store().Set(AsObject(MakeGroup(2)));
  EXPECT_TRUE(plugin_->ReadyToSchedule(members).ok());
}

// Go prints the value and scale of what is missing.
TEST(MinResources, SaysWhatTheClusterLacks) {
  FakeHandle handle(
      {MakeNode().Name("n0").Allocatable("cpu", "4").Allocatable("memory", "8Gi").Info(),
       MakeNode().Name("n1").Allocatable("cpu", "2500m").Allocatable("memory", "8Gi").Info()});
  api::PodGroup group = MakeGroup(1);
  auto& needs = *group.mutable_spec()->mutable_min_resources();
  needs["cpu"].set_string("6");
  EXPECT_EQ(MinResourcesGap(group, nullptr, handle.nodes()), "");
  needs["cpu"].set_string("10");
  needs["memory"].set_string("17Gi");
  EXPECT_EQ(MinResourcesGap(group, nullptr, handle.nodes()),
            "map[cpu:{{3500 -3} {<nil>}  DecimalSI} memory:{{1073741824 0} {<nil>}  BinarySI}]");
}

TEST(CoschedulingArgs, AreChecked) {
  EXPECT_EQ(ArgsError<CoschedulingArgs>("{permitWaitingTimeSeconds: 5}"), "");
  EXPECT_NE(ArgsError<CoschedulingArgs>("{podGroupRejectPercentage: 101}"), "");
  EXPECT_NE(ArgsError<CoschedulingArgs>("{podGroupBackoffSeconds: -1}"), "");
}

// --- Definitions by kinds of members
// ---------------------------------------------------------------

// What is remembered of a group and counted by kinds, against a plugin that never saw it before and
// is told of each member apart.
void DefineInTwoWays(uint64_t seed) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  FakeHandle handle;
  const std::unique_ptr<Coscheduling> plugin = MakePlugin<Coscheduling, CoschedulingArgs>(handle);
  GroupIndex index(
      [&](const PodInfo& pod) { return plugin->GroupOf(pod); }, nullptr,
      [&](const PodInfo& pod, std::string& text) { plugin->AppendDeclaration(pod, text); });
  constexpr absl::string_view kPrefix = "gang.scheduling.koordinator.sh/";
  const auto member = [&](int i) {
    PodBuilder pod = MakePod().Name(absl::StrCat("p", i)).Namespace("default");
    pod.Annotation(absl::StrCat(kPrefix, "name"), "g");
    if (below(3) > 0) {
      pod.Annotation(absl::StrCat(kPrefix, "min-available"), absl::StrCat(below(4)));
    }
    if (below(6) == 0) pod.Annotation(absl::StrCat(kPrefix, "total-number"), "5");
    if (below(6) == 0) pod.Annotation(absl::StrCat(kPrefix, "mode"), below(2) ? "Strict" : "Loose");
    if (below(6) == 0) {
      pod.Annotation(absl::StrCat(kPrefix, "match-policy"),
                     below(2) ? "only-waiting" : "once-satisfied");
    }
    if (below(5) == 0) pod.Label("pod-group.scheduling.sigs.k8s.io/min-available", "2");
    if (below(8) == 0) pod.SchedulingGate("hold");
    if (below(3) == 0) pod.NodeName("n");
    if (below(8) == 0) pod.Deleted();
    pod.Created(absl::FromUnixSeconds(1000 + below(3)));
    return pod.Obj();
  };
  for (int step = 0; step < 60; ++step) {
    const uint32_t what = below(10);
    if (what == 0) {
      handle.object_store().Set(AsObject(MakeGroup(1 + static_cast<int>(below(4)))));
    } else if (what == 1) {
      handle.object_store().Remove(Kind::kPodGroup, "default/g");
    } else if (what == 2) {
      index.RemovePod(absl::StrCat("default/p", below(8)));
    } else {
      index.SetPod(member(static_cast<int>(below(8))));
    }
    const GroupMembers* const group = index.Find(kGroup);
    if (group == nullptr) continue;
    const auto members = group->members();
    handle.fake_groups().Set(kGroup, {members.begin(), members.end()});
    const GroupMembers& apart = *handle.groups().Find(kGroup);
    const std::unique_ptr<Coscheduling> fresh = MakePlugin<Coscheduling, CoschedulingArgs>(handle);
    ASSERT_EQ(plugin->ReadyToSchedule(*group), fresh->ReadyToSchedule(apart)) << "step " << step;
    const Status cause = Status::Unschedulable("cause");
    ASSERT_EQ(plugin->GroupUnschedulable(*group, 1, cause),
              fresh->GroupUnschedulable(apart, 1, cause));
    for (const GroupMember& one : members) {
      CycleState state;
      PreFilterResult result;
      absl::Duration timeout, of_fresh;
      ASSERT_EQ(plugin->PreFilter(state, *one.pod, handle.nodes(), result),
                fresh->PreFilter(state, *one.pod, handle.nodes(), result));
      ASSERT_EQ(plugin->Permit(state, *one.pod, "n", timeout),
                fresh->Permit(state, *one.pod, "n", of_fresh));
      ASSERT_EQ(timeout, of_fresh);
    }
  }
}

TEST(CoschedulingDefinitions, AreTheSameByKindsOfMembers) {
  for (uint64_t seed = 1; seed <= 30 && !::testing::Test::HasFatalFailure(); ++seed) {
    DefineInTwoWays(seed);
  }
}

}  // namespace
}  // namespace berth::testing
