// SPDX-License-Identifier: Apache-2.0
// The queue of groups: how members come together, and what a group waits for.
#include "gmock/gmock.h"
#include "tests/queue/queue_fixture.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using enum QueueState;

PodBuilder Member(absl::string_view name, absl::string_view group = "g") {
  return Pod(name).Label("group", group);
}

TEST_F(QueueTest, AGroupWaitsForItsMembers) {
  SetMinMember("default/g", 3);
  Add(Member("a"));
  Add(Member("b"));
  EXPECT_EQ(StateOf("a"), kGated);
  EXPECT_EQ(queue().Pending().front().status.ToString(), "Unschedulable by Groups: 2 of 3 members");
  Add(Member("c"));
  EXPECT_EQ(Pop(), "a");
  EXPECT_TRUE(popped_->is_group);
  EXPECT_EQ(popped_->name, "default/g");
  EXPECT_THAT(Members("a"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(Pop(), "");
}

TEST_F(QueueTest, AGroupWaitsForItsDefinition) {
  Add(Member("a"));
  EXPECT_EQ(StateOf("a"), kGated);
  SetMinMember("default/g", 1);
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(StateOf("a"), kGated);
  queue().MoveAllOnEvent({EventResource::Of(Kind::kPodGroup), action::kAdd, "PodGroupAdd"}, {});
  EXPECT_EQ(StateOf("a"), kActive);
}

TEST_F(QueueTest, AMemberThatGoesMayMakeItWaitAgain) {
  SetMinMember("default/g", 2);
  Add(Member("a"));
  Add(Member("b"));
  EXPECT_EQ(StateOf("a"), kActive);
  Delete("b");
  EXPECT_EQ(StateOf("a"), kGated);
  Add(Member("b"));
  EXPECT_EQ(StateOf("a"), kActive);
}

TEST_F(QueueTest, GroupsAreOrderedByTheirCreation) {
  SetMinMember("default/young", 1, absl::FromUnixSeconds(20));
  SetMinMember("default/old", 1, absl::FromUnixSeconds(10));
  Add(Member("a", "young"));
  Add(Member("b", "old"));
  EXPECT_EQ(Pop(), "b");
  EXPECT_EQ(Pop(), "a");
}

TEST_F(QueueTest, TheFirstMemberInOrderOfCreationLeads) {
  SetMinMember("default/g", 3);
  Add(Member("young").Created(absl::FromUnixSeconds(30)));
  Add(Member("old").Created(absl::FromUnixSeconds(10)));
  Add(Member("middle").Created(absl::FromUnixSeconds(20)));
  EXPECT_EQ(Pop(), "old");
  EXPECT_THAT(Members("old"), ElementsAre("young", "old", "middle"));
}

TEST_F(QueueTest, TheLeadStaysWhileTheGroupIsQueued) {
  SetMinMember("default/g", 1);
  Add(Member("a").Created(absl::FromUnixSeconds(30)).Priority(1));
  Add(Member("b").Created(absl::FromUnixSeconds(10)).Priority(9));
  Add(Pod("single", 5));
  EXPECT_EQ(Pop(), "single");
  EXPECT_EQ(Pop(), "a");
  FailWithError();
  clock_.Advance(absl::Minutes(1));
  queue().Tick(clock_.Now());
  EXPECT_EQ(Pop(), "b") << "chosen again when it is put back";
}

TEST_F(QueueTest, WhenTheLeadGoesAnotherMemberTakesItsPlace) {
  SetMinMember("default/g", 1);
  Add(Member("a").Priority(9));
  Add(Member("b").Priority(1));
  Add(Pod("single", 5));
  Delete("a");
  EXPECT_EQ(Pop(), "single");
  EXPECT_EQ(Pop(), "b");
}

TEST_F(QueueTest, MembersThatCameInFlightAreQueuedWhenItEnds) {
  SetMinMember("default/g", 2);
  Add(Member("a"));
  Add(Member("b"));
  Pop();
  Add(Member("late"));
  EXPECT_EQ(StateOf("late"), kInFlight);
  queue().Placed(popped_, Uid("a"));
  queue().Placed(popped_, Uid("b"));
  queue().Done(popped_);
  EXPECT_EQ(StateOf("late"), kActive);
  EXPECT_FALSE(StateOf("a").has_value());
  EXPECT_EQ(Pop(), "late");
  EXPECT_EQ(popped_->history.attempts, 1) << "it had no attempt yet";
}

TEST_F(QueueTest, AMemberThatCameInFlightIsReasonToTryAgain) {
  SetMinMember("default/g", 1);
  Add(Member("a"));
  Pop();
  Add(Member("late"));
  Reject({"Stranger"});
  EXPECT_EQ(StateOf("a"), kBackoff);
  EXPECT_THAT(Members("a"), ElementsAre("a", "late"));
}

TEST_F(QueueTest, ANewMemberRequeuesAWaitingGroup) {
  SetMinMember("default/g", 1);
  AddRejected(Member("a"), "Stranger");
  EXPECT_EQ(StateOf("a"), kUnschedulable);
  Add(Member("late"));
  EXPECT_EQ(StateOf("a"), kActive);
  EXPECT_THAT(Members("a"), ElementsAre("a", "late"));
}

TEST_F(QueueTest, WhatIsLeftOfAGroupWaits) {
  Register("Fit", EventResource::Node(), action::kAdd);
  SetMinMember("default/g", 2);
  for (const char* name : {"a", "b", "c"}) Add(Member(name));
  Pop();
  queue().Placed(popped_, Uid("a"));
  queue().Placed(popped_, Uid("b"));
  Reject({"Fit"});
  EXPECT_EQ(StateOf("c"), kUnschedulable);
  EXPECT_EQ(queue().size(), 1);
  clock_.Advance(absl::Seconds(5));
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(Pop(), "c");
}

TEST_F(QueueTest, AFailureWithoutMembersLeavesNothing) {
  SetMinMember("default/g", 1);
  Add(Member("a"));
  Pop();
  Delete("a");
  Reject({"Fit"});
  EXPECT_EQ(queue().Find(key_), nullptr);
  EXPECT_EQ(queue().in_flight_size(), 0);
}

TEST_F(QueueTest, AGatedMemberWaitsWhileTheOthersGo) {
  SetMinMember("default/g", 2);
  Add(Member("a"));
  Add(Member("gated").SchedulingGate("g"));
  Add(Member("b"));
  EXPECT_THAT(Members("a"), ElementsAre("a", "b"));
  for (const PendingReport& report : queue().Pending()) {
    EXPECT_EQ(report.state, report.pod->name() == "gated" ? kGated : kActive);
  }
  Update(Member("gated"));
  EXPECT_THAT(Members("a"), ElementsAre("a", "gated", "b")) << "by arrival";
}

TEST_F(QueueTest, AGroupOfGatedMembersIsGated) {
  SetMinMember("default/g", 1);
  Add(Member("a").SchedulingGate("g"));
  Add(Member("b").SchedulingGate("g"));
  EXPECT_EQ(StateOf("a"), kGated);
  Update(Member("b"));
  EXPECT_EQ(Pop(), "b");
  Update(Member("a"));
  EXPECT_THAT(Members("a"), ElementsAre("b")) << "what is being tried stays as it is";
  queue().Placed(popped_, Uid("b"));
  queue().Done(popped_);
  EXPECT_EQ(Pop(), "a");
}

TEST_F(QueueTest, ALabelMovesAPodToAnotherGroup) {
  SetMinMember("default/g", 1);
  SetMinMember("default/h", 1);
  Add(Member("a"));
  Add(Member("b"));
  Update(Member("b", "h"));
  EXPECT_THAT(Members("a"), ElementsAre("a"));
  EXPECT_THAT(Members("b"), ElementsAre("b"));
  Update(Pod("b"));
  EXPECT_FALSE(queue().FindByPod(Uid("b"))->is_group);
  EXPECT_EQ(queue().active_size(), 2);
}

TEST_F(QueueTest, InFlightALabelMovesThePodAfterwards) {
  SetMinMember("default/g", 1);
  SetMinMember("default/h", 1);
  Add(Member("a"));
  Add(Member("b"));
  Pop();
  Update(Member("b", "h"));
  EXPECT_THAT(Members("a"), ElementsAre("a", "b"));
  Reject({"Fit"});
  EXPECT_EQ(StateOf("a"), kUnschedulable);
  EXPECT_THAT(Members("a"), ElementsAre("a"));
  EXPECT_EQ(StateOf("b"), kActive);
  EXPECT_EQ(queue().FindByPod(Uid("b"))->name, "default/h");
}

TEST_F(QueueTest, ProfilesKeepTheirPodsOfAGroupApart) {
  SetMinMember("default/g", 2);
  Add(Member("a"));
  Add(Member("b").SchedulerName("other"));
  EXPECT_THAT(Members("a"), ElementsAre("a"));
  EXPECT_THAT(Members("b"), ElementsAre("b"));
}

TEST_F(QueueTest, HintsAreAskedAboutRejectedMembersOnly) {
  std::vector<std::string> asked;
  Register("Fit", EventResource::Node(), action::kAdd,
           [&](const PodInfo& pod, const ObjectChange&) {
             asked.emplace_back(pod.name());
             return QueueingHint::kSkip;
           });
  SetMinMember("default/g", 3);
  for (const char* name : {"a", "b", "c"}) Add(Member(name));
  Pop();
  Rejection rejection;
  rejection.unschedulable_plugins = {Symbol::Intern("Fit")};
  rejection.pods = {{Uid("a"), Status::Unschedulable("with the group"), false},
                    {Uid("b"), Status::Unschedulable("no room"), true}};
  queue().AddUnschedulable(popped_, rejection);
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_THAT(asked, ElementsAre("b"));
  EXPECT_EQ(StateOf("a"), kUnschedulable);
}

TEST_F(QueueTest, ActivatingAMemberActivatesItsGroup) {
  SetMinMember("default/g", 2);
  Add(Member("a"));
  const auto b = Add(Member("b"));
  Pop();
  Reject({"Stranger"});
  queue().Activate({b});
  EXPECT_EQ(StateOf("a"), kActive);
}

TEST_F(QueueTest, AGroupBacksOffAsLongAsItsPluginAsks) {
  Register("Fit", EventResource::Node(), action::kAdd);
  SetMinMember("default/g", 1, absl::FromUnixSeconds(1), absl::Seconds(60));
  Add(Member("a"));
  Pop();
  Reject({"Fit"});
  clock_.Advance(absl::Seconds(30));
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(StateOf("a"), kErrorBackoff);
  EXPECT_EQ(Pop(), "") << "not even when nothing else is active";
  EXPECT_EQ(queue().NextDue(), absl::FromUnixSeconds(1061));
  clock_.AdvanceTo(queue().NextDue());
  queue().Tick(clock_.Now());
  EXPECT_EQ(Pop(), "a");
}

TEST_F(QueueTest, AGroupIsRetriedWhoeverOfItIsThere) {
  SetMinMember("default/g", 1);
  Add(Member("a"));
  Add(Member("b"));
  Pop();
  Reject({"Stranger"});
  clock_.Advance(absl::Seconds(30));
  Delete("a");
  EXPECT_EQ(StateOf("b"), kUnschedulable);
  queue().RetryGroup("default/other", SchedulingQueue::RetryBackoff::kUnlessIdle);
  EXPECT_EQ(StateOf("b"), kUnschedulable);
  queue().RetryGroup("default/g", SchedulingQueue::RetryBackoff::kUnlessIdle);
  EXPECT_EQ(StateOf("b"), kActive);
}

TEST_F(QueueTest, AGroupBacksOffWithAMemberWhosePermitFailed) {
  for (const bool sibling_is_active : {false, true}) {
    SCOPED_TRACE(sibling_is_active);
    SetMinMember("default/g", 1);
    const auto a = Add(Member("a"));
    Add(Member("b"));
    Pop();
    const AttemptHistory history = popped_->history;
    queue().Placed(popped_, Uid("a"));
    Reject({"Stranger"});
    EXPECT_EQ(StateOf("b"), kUnschedulable);
    if (sibling_is_active) Add(Member("late"));
    Rejection rejection;
    rejection.unschedulable_plugins = {Symbol::Intern("Permits")};
    rejection.requires_backoff = true;
    queue().Return(a, "default/g", history, rejection);
    EXPECT_EQ(StateOf("a"), kErrorBackoff);
    EXPECT_EQ(Pop(), "") << "not even when nothing else is active";
    clock_.AdvanceTo(queue().NextDue());
    queue().Tick(clock_.Now());
    EXPECT_THAT(Members("a"), ::testing::Contains("b"));
    EXPECT_NE(Pop(), "");
    queue().Done(popped_);
    for (const char* name : {"a", "b", "late"}) queue().Delete(Uid(name));
  }
}

// They were tried again at once, and refused again, without end.
TEST_F(QueueTest, MembersWhoseBindingFailedRestWithASiblingThatHadNoRoom) {
  SetMinMember("default/g", 2);
  const auto a = Add(Member("a"));
  const auto b = Add(Member("b"));
  Add(Member("surplus"));
  for (int64_t seconds : {1, 2, 4, 8, 10, 10}) {
    SCOPED_TRACE(seconds);
    EXPECT_NE(Pop(), "");
    const AttemptHistory history = popped_->history;
    queue().Placed(popped_, Uid("a"));
    queue().Placed(popped_, Uid("b"));
    Reject({"Stranger"});
    queue().Return(a, "default/g", history, {});
    queue().Return(b, "default/g", history, {});
    EXPECT_EQ(StateOf("surplus"), kErrorBackoff);
    EXPECT_EQ(Pop(), "") << "not even when nothing else is active";
    EXPECT_GE(queue().NextDue(), clock_.Now() + absl::Seconds(seconds));
    clock_.AdvanceTo(queue().NextDue());
    queue().Tick(clock_.Now());
  }
}

TEST_F(QueueTest, MembersWhoseBindingFailedComeTogetherAgain) {
  SetMinMember("default/g", 2);
  const auto a = Add(Member("a"));
  const auto b = Add(Member("b"));
  Pop();
  const AttemptHistory history = popped_->history;
  queue().Placed(popped_, Uid("a"));
  queue().Placed(popped_, Uid("b"));
  queue().Done(popped_);
  queue().Return(a, "default/g", history, {});
  queue().Return(b, "default/g", history, {});
  EXPECT_EQ(queue().backoff_size(), 1);
  EXPECT_THAT(Members("a"), ElementsAre("a", "b"));
  EXPECT_EQ(queue().FindByPod(Uid("a"))->history.consecutive_errors, 1);
}

}  // namespace
}  // namespace berth::testing
