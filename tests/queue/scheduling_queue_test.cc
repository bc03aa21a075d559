// SPDX-License-Identifier: Apache-2.0
// The queue of single pods, rule by rule. After the cases of kube-scheduler's queue tests.
#include "queue/scheduling_queue.h"

#include "gmock/gmock.h"
#include "tests/queue/queue_fixture.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using enum QueueState;

// --- Order ---

TEST_F(QueueTest, HighestPriorityFirstThenArrival) {
  Add(Pod("a", 1));
  Add(Pod("b", 5));
  Add(Pod("c", 1));
  Add(Pod("d", 5));
  EXPECT_EQ(Pop(), "b");
  EXPECT_EQ(Pop(), "d");
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(Pop(), "c");
  EXPECT_EQ(Pop(), "");
}

TEST_F(QueueTest, AnUpdatedPriorityMovesThePod) {
  Add(Pod("a", 1));
  Add(Pod("b", 2));
  Add(Pod("c", 3));
  Update(Pod("a", 9));
  Update(Pod("c", 0));
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped_->lead.pod->priority(), 9);
  EXPECT_EQ(Pop(), "b");
  EXPECT_EQ(Pop(), "c");
}

TEST_F(QueueTest, ADeletedPodIsGoneFromEveryPlace) {
  Register("Fit", EventResource::Node(), action::kAdd);
  Add(Pod("unschedulable"));
  Pop();
  Reject({"Fit"});
  Add(Pod("error"));
  Pop();
  FailWithError();
  Add(Pod("backoff"));
  Pop();
  queue().MoveAllOnEvent(kNodeAdd, {});
  Reject({"Fit"});
  Add(Pod("gated").SchedulingGate("g"));
  Add(Pod("active"));
  EXPECT_EQ(StateOf("unschedulable"), kBackoff);  // the event met it
  for (const char* name : {"unschedulable", "error", "backoff", "gated", "active"}) {
    ASSERT_TRUE(StateOf(name).has_value()) << name;
    Delete(name);
    Delete(name);
    EXPECT_FALSE(StateOf(name).has_value()) << name;
  }
  EXPECT_EQ(queue().size(), 0);
  EXPECT_EQ(Pop(), "");
}

TEST_F(QueueTest, APodAddedTwiceIsUpdated) {
  Add(Pod("a", 1));
  Add(Pod("a", 2));
  EXPECT_EQ(queue().size(), 1);
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped_->lead.pod->priority(), 2);
  EXPECT_EQ(Pop(), "");
}

TEST_F(QueueTest, AnUnknownPodUpdatedIsAdded) {
  Update(Pod("a"));
  EXPECT_EQ(StateOf("a"), kActive);
}

// --- Backoff ---

TEST_F(QueueTest, BackoffEndsWithItsSecond) {
  options_.initial_backoff = absl::Seconds(2);
  Add(Pod("a"));
  Pop();
  clock_.Advance(absl::Milliseconds(700));
  FailWithError();  // 1000.7 + 2 → the second 1002, over at 1003
  EXPECT_EQ(StateOf("a"), kErrorBackoff);
  EXPECT_EQ(queue().NextDue(), absl::FromUnixSeconds(1003));
  clock_.AdvanceTo(absl::FromUnixMillis(1'002'999));
  queue().Tick(clock_.Now());
  EXPECT_EQ(StateOf("a"), kErrorBackoff);
  clock_.AdvanceTo(absl::FromUnixSeconds(1003));
  queue().Tick(clock_.Now());
  EXPECT_EQ(StateOf("a"), kActive);
  EXPECT_EQ(queue().NextDue(), absl::InfiniteFuture());
}

TEST_F(QueueTest, WithinASecondTheOrderIsThatOfTheActiveQueue) {
  Register("Fit", EventResource::Node(), action::kAdd);
  for (const auto& [name, priority] : {std::pair("low", 1), {"high", 3}, {"later", 9}}) {
    Add(Pod(name, priority));
    Pop();
    queue().MoveAllOnEvent(kNodeAdd, {});  // so that it is put into backoff
    if (absl::string_view(name) == "later") clock_.Advance(absl::Seconds(1));
    Reject({"Fit"});
    clock_.Advance(absl::Milliseconds(100));
  }
  ASSERT_EQ(queue().backoff_size(), 3);
  EXPECT_EQ(Pop(), "high");
  EXPECT_EQ(Pop(), "low");
  EXPECT_EQ(Pop(), "later");
}

TEST_F(QueueTest, PopTakesFromBackoffOnlyWhenNothingIsActive) {
  Register("Fit", EventResource::Node(), action::kAdd);
  Add(Pod("rejected", 9));
  Pop();
  queue().MoveAllOnEvent(kNodeAdd, {});
  Reject({"Fit"});
  Add(Pod("fresh", 1));
  EXPECT_EQ(Pop(), "fresh");
  EXPECT_EQ(Pop(), "rejected");
  EXPECT_EQ(popped_->history.attempts, 2);
}

TEST_F(QueueTest, PopNeverTakesFromTheBackoffOfErrors) {
  Add(Pod("a"));
  Pop();
  FailWithError();
  EXPECT_FALSE(queue().CanPop());
  EXPECT_EQ(Pop(), "");
}

TEST_F(QueueTest, ErrorsAreCountedApartFromRejections) {
  Add(Pod("a"));
  struct Round {
    bool error;
    int unschedulable, errors;
    absl::Duration until_due;  // from the second of the failure on; zero: no backoff
  };
  const Round rounds[] = {
      {true, 0, 1, absl::Seconds(2)}, {true, 0, 2, absl::Seconds(3)},
      {true, 0, 3, absl::Seconds(5)}, {false, 1, 0, absl::ZeroDuration()},
      {true, 1, 1, absl::Seconds(2)}, {false, 2, 0, absl::ZeroDuration()},
      {true, 2, 1, absl::Seconds(2)},
  };
  for (const Round& round : rounds) {
    ASSERT_EQ(Pop(), "a");
    if (round.error) {
      FailWithError();
    } else {
      Reject({"Fit"});
    }
    const AttemptHistory& history = queue().FindByPod(Uid("a"))->history;
    EXPECT_EQ(history.unschedulable_count, round.unschedulable);
    EXPECT_EQ(history.consecutive_errors, round.errors);
    if (round.error) {
      EXPECT_EQ(queue().NextDue() - clock_.Now(), round.until_due);
      clock_.AdvanceTo(queue().NextDue());
      queue().Tick(clock_.Now());
    } else {
      queue().Activate({queue().FindByPod(Uid("a"))->lead.pod});
    }
  }
}

TEST_F(QueueTest, AMaximumOfZeroDisablesBackoff) {
  options_.max_backoff = absl::ZeroDuration();
  Add(Pod("a"));
  Pop();
  FailWithError();
  EXPECT_EQ(StateOf("a"), kActive);
}

TEST_F(QueueTest, WithoutBackoffAPodThatFailsGoesBehindItsEquals) {
  options_.max_backoff = absl::ZeroDuration();
  Add(Pod("a"));
  Add(Pod("b"));
  EXPECT_EQ(Pop(), "a");
  FailWithError();
  EXPECT_EQ(Pop(), "b");
}

TEST_F(QueueTest, TimestampsTellWhenItWasQueuedAndFirstTried) {
  Add(Pod("a"));
  Pop();
  EXPECT_EQ(popped_->lead.timestamp, absl::FromUnixSeconds(1000));
  clock_.Advance(absl::Seconds(5));
  FailWithError();
  clock_.Advance(absl::Seconds(5));
  queue().Tick(clock_.Now());
  Pop();
  EXPECT_EQ(popped_->lead.timestamp, absl::FromUnixSeconds(1005));
  EXPECT_EQ(popped_->lead.initial_attempt_timestamp, absl::FromUnixSeconds(1000));
  EXPECT_EQ(popped_->lead.attempts, 2);
}

// --- Events and hints ---

struct HintCase {
  absl::string_view name;
  std::vector<absl::string_view> plugins, pending_plugins;
  ClusterEvent event;
  bool backoff_over;
  QueueState want;
};

class HintTest : public QueueTest, public ::testing::WithParamInterface<HintCase> {
 protected:
  HintTest() {
    Register("Queues", EventResource::Node(), action::kAdd, Says(QueueingHint::kQueue));
    Register("Skips", EventResource::Node(), action::kAdd, Says(QueueingHint::kSkip));
    Register("Fails", EventResource::Node(), action::kAdd,
             [](const PodInfo&, const ObjectChange&) { return absl::InternalError("cannot say"); });
    Register("NoHint", EventResource::Node(), action::kAdd);
    Register("Deletions", EventResource::Pod(), action::kDelete);
    Register("Everything", EventResource::Wildcard(), action::kAll);
    Register("Nothing", EventResource::Node(), 0);
  }
};

const HintCase kHintCases[] = {
    {"a hint says queue", {"Queues"}, {}, kNodeAdd, true, kActive},
    {"queue, but in backoff", {"Queues"}, {}, kNodeAdd, false, kBackoff},
    {"a hint says skip", {"Skips"}, {}, kNodeAdd, true, kUnschedulable},
    {"one of several says queue", {"Skips", "Queues"}, {}, kNodeAdd, true, kActive},
    {"a hint fails", {"Fails"}, {}, kNodeAdd, true, kActive},
    {"registered without a hint", {"NoHint"}, {}, kNodeAdd, true, kActive},
    {"another event", {"Queues"}, {}, kPodDelete, true, kUnschedulable},
    {"Pod covers assigned pods", {"Deletions"}, {}, kPodDelete, true, kActive},
    {"registered for everything", {"Everything"}, {}, kPodDelete, true, kActive},
    {"registered for nothing", {"Nothing"}, {}, kNodeAdd, true, kUnschedulable},
    {"never heard of", {"Stranger"}, {}, kNodeAdd, true, kUnschedulable},
    {"a plugin that did not reject says queue", {"Skips"}, {}, kNodeAdd, true, kUnschedulable},
    {"the wildcard moves all", {"Skips"}, {}, kWildcard, true, kActive},
    {"the wildcard respects backoff", {"Skips"}, {}, kWildcard, false, kBackoff},
    {"pending skips the backoff", {}, {"Queues"}, kNodeAdd, false, kActive},
    {"pending that skips", {"Queues"}, {"Skips"}, kNodeAdd, false, kBackoff},
    {"pending wins over rejecting", {"Queues"}, {"NoHint"}, kNodeAdd, false, kActive},
    {"all skip", {"Skips"}, {"Skips"}, kNodeAdd, false, kUnschedulable},
};

TEST_P(HintTest, DecidesWhereAWaitingPodGoes) {
  const HintCase& c = GetParam();
  Add(Pod("a"));
  Pop();
  Reject(c.plugins, c.pending_plugins);
  ASSERT_EQ(StateOf("a"), kUnschedulable);
  if (c.backoff_over) clock_.Advance(absl::Seconds(2));
  queue().MoveAllOnEvent(c.event, {});
  EXPECT_EQ(StateOf("a"), c.want);
}

// What happens while a pod is in flight counts as much as what happens afterwards; only that its
// backoff has just begun.
TEST_P(HintTest, DecidesWhereAPodGoesThatComesBack) {
  const HintCase& c = GetParam();
  Add(Pod("a"));
  Pop();
  queue().MoveAllOnEvent(c.event, {});
  Reject(c.plugins, c.pending_plugins);
  EXPECT_EQ(StateOf("a"), c.want == kActive && c.pending_plugins.empty() ? kBackoff : c.want);
}

void PrintTo(const HintCase& c, std::ostream* out) { *out << c.name; }

INSTANTIATE_TEST_SUITE_P(Cases, HintTest, ::testing::ValuesIn(kHintCases));

TEST_F(QueueTest, EventsBeforePopDoNotCount) {
  Register("Fit", EventResource::Node(), action::kAdd);
  Add(Pod("other"));
  Pop();
  Add(Pod("a"));
  queue().MoveAllOnEvent(kNodeAdd, {});  // recorded for "other" alone
  Pop();
  Reject({"Fit"});
  EXPECT_EQ(StateOf("a"), kUnschedulable);
}

TEST_F(QueueTest, EventsAreKeptForTheOldestInFlight) {
  Register("Fit", EventResource::Node(), action::kAdd);
  Add(Pod("a", 3));
  Add(Pod("b", 2));
  Add(Pod("c", 1));
  Pop();
  const QueueEntry* const a = popped_;
  queue().MoveAllOnEvent(kNodeAdd, {});
  Pop();
  const QueueEntry* const b = popped_;
  Pop();
  queue().Done(b);
  queue().Done(b);  // once more does no harm
  Reject({"Fit"});
  EXPECT_EQ(StateOf("c"), kUnschedulable);
  popped_ = a;
  Reject({"Fit"});
  EXPECT_EQ(StateOf("a"), kBackoff);
  EXPECT_EQ(queue().in_flight_size(), 0);
}

TEST_F(QueueTest, HintsAreAskedOncePerClass) {
  int asked = 0;
  QueueingHint answer = QueueingHint::kSkip;
  RegisterForAlike("Fit", EventResource::Node(), action::kAdd,
                   [&](const PodInfo&, const ObjectChange&) {
                     ++asked;
                     return answer;
                   });
  Register("Other", EventResource::Node(), action::kAdd, Says(QueueingHint::kSkip));
  for (const char* name : {"a", "b", "c"}) AddRejected(Pod(name), "Fit");
  AddRejected(Pod("d", 7), "Fit");
  Add(Pod("e"));
  Pop();
  Reject({"Fit", "Other"});  // whom another plugin rejected too, which tells pods apart
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(asked, 3) << "about one of a to c, about d, about e";
  EXPECT_EQ(queue().unschedulable_size(), 5);
  Update(Pod("b", 7));
  answer = QueueingHint::kQueue;
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(asked, 6) << "b is like d now";
  EXPECT_EQ(queue().unschedulable_size(), 0);
  EXPECT_EQ(queue().FindByPod(Uid("c"))->requeued_by.view(), "NodeAdd");
}

// However many classes wait; and what it keeps out is no event of an attempt in flight either.
TEST_F(QueueTest, AFilterIsAskedOnceForAnEvent) {
  int hints = 0, filtered = 0;
  bool may_help = false;
  RegisterForAlike("Fit", EventResource::Node(), action::kAdd,
                   [&](const PodInfo&, const ObjectChange&) {
                     ++hints;
                     return QueueingHint::kQueue;
                   });
  FilterLast([&](const ObjectChange&) {
    ++filtered;
    return may_help;
  });
  for (int priority = 0; priority < 10; ++priority) {
    AddRejected(Pod(absl::StrCat("p", priority), priority), "Fit");
  }
  Add(Pod("in-flight"));
  Pop();
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(filtered, 1);
  EXPECT_EQ(hints, 0);
  Reject({"Fit"});
  EXPECT_EQ(queue().unschedulable_size(), 11);
  may_help = true;
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(hints, 10) << "the one in flight is like p0";
  EXPECT_EQ(queue().unschedulable_size(), 0);
}

// Another plugin that registered without one is asked.
TEST_F(QueueTest, AFilterSpeaksForItsPluginAlone) {
  Register("Fit", EventResource::Node(), action::kAdd);
  FilterLast([](const ObjectChange&) { return false; });
  Register("Other", EventResource::Node(), action::kAdd);
  AddRejected(Pod("a"), "Fit");
  AddRejected(Pod("b"), "Other");
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(StateOf("a"), kUnschedulable);
  EXPECT_NE(StateOf("b"), kUnschedulable);
}

TEST_F(QueueTest, ThePodThatChangesIsAskedApartFromItsClass) {
  RegisterForAlike("Own", EventResource::Pod(), action::kUpdateOther,
                   [](const PodInfo& pod, const ObjectChange& change) {
                     return change.new_pod->uid() == pod.uid() ? QueueingHint::kQueue
                                                               : QueueingHint::kSkip;
                   });
  const char* const names[] = {"a", "b", "c"};
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (const char* name : names) {
    pods.push_back(Add(Pod(name)));
    Pop();
    Reject({"Own"});
  }
  clock_.Advance(absl::Seconds(30));
  for (int own = 0; own < 3; ++own) {
    SCOPED_TRACE(names[own]);
    queue().MoveAllOnEvent({EventResource::UnscheduledPod(), action::kUpdateOther, "Update"},
                           {.old_pod = pods[own], .new_pod = pods[own]});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(StateOf(names[i]), i <= own ? kActive : kUnschedulable);
  }
}

TEST_F(QueueTest, ManyPodsAreRequeuedInStepsByPriority) {
  options_.max_moves_per_tick = 4;
  RegisterForAlike("Fit", EventResource::Node(), action::kAdd, Says(QueueingHint::kQueue));
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) AddRejected(Pod(name), "Fit");
  for (const char* name : {"u", "v", "w"}) AddRejected(Pod(name, 9), "Fit");
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(queue().active_size(), 4);
  for (const char* name : {"u", "v", "w", "a"}) EXPECT_EQ(StateOf(name), kActive) << name;
  // What happens to the others meanwhile.
  Delete("c");
  Update(Pod("d", 3));  // is not like them any more, and is woken all the same
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(queue().unschedulable_size(), 4);
  EXPECT_LE(queue().NextRetry(), clock_.Now());
  EXPECT_EQ(Pop(), "u");
  EXPECT_FALSE(queue().Tick(clock_.Now()));
  EXPECT_GT(queue().NextRetry(), clock_.Now());
  EXPECT_EQ(queue().unschedulable_size(), 0);
  EXPECT_EQ(queue().FindByPod(Uid("f"))->requeued_by.view(), "NodeAdd");
  for (const char* name : {"v", "w", "d", "a", "b", "e", "f", ""}) EXPECT_EQ(Pop(), name);
}

TEST_F(QueueTest, HigherPrioritiesAreRequeuedBeforeEarlierEvents) {
  options_.max_moves_per_tick = 2;
  RegisterForAlike("Fit", EventResource::Node(), action::kAdd, Says(QueueingHint::kQueue));
  RegisterForAlike("Other", EventResource::AssignedPod(), action::kDelete,
                   Says(QueueingHint::kQueue));
  for (const char* name : {"a", "b", "c", "d", "e"}) AddRejected(Pod(name), "Fit");
  for (const char* name : {"u", "v", "w"}) AddRejected(Pod(name, 9), "Other");
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(StateOf("c"), kUnschedulable);
  queue().MoveAllOnEvent(kPodDelete, {});
  EXPECT_EQ(StateOf("v"), kActive);
  EXPECT_TRUE(queue().Tick(clock_.Now()));
  EXPECT_EQ(StateOf("w"), kActive);
  EXPECT_EQ(StateOf("c"), kActive);
  EXPECT_EQ(StateOf("d"), kUnschedulable);
  while (queue().Tick(clock_.Now())) {
  }
  EXPECT_EQ(queue().unschedulable_size(), 0);
}

TEST_F(QueueTest, ManyBackoffsEndInSteps) {
  options_.max_moves_per_tick = 2;
  Register("Fit", EventResource::Node(), action::kAdd);
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    Add(Pod(name));
    Pop();
    Reject({"Fit"});
  }
  queue().MoveAllOnEvent(kNodeAdd, {});
  while (queue().Tick(clock_.Now())) {
  }
  EXPECT_EQ(queue().backoff_size(), 5);
  clock_.Advance(absl::Seconds(30));
  EXPECT_TRUE(queue().Tick(clock_.Now()));
  EXPECT_EQ(queue().active_size(), 2);
  EXPECT_TRUE(queue().Tick(clock_.Now()));
  EXPECT_FALSE(queue().Tick(clock_.Now()));
  EXPECT_EQ(queue().active_size(), 5);
}

// Pods that nobody is like, of which the hints are asked about two at once.
class AskedInSteps : public QueueTest {
 protected:
  AskedInSteps() {
    options_.max_hints_per_tick = 2;
    const QueueingHintFn note = [this](const PodInfo& pod, const ObjectChange&) {
      asked_.emplace_back(pod.name());
      return answer_;
    };
    Register("Fit", EventResource::Node(), action::kAdd, note);
    Register("Ports", EventResource::AssignedPod(), action::kDelete, note);
  }
  std::vector<std::string> TakeAsked() { return std::exchange(asked_, {}); }

  QueueingHint answer_ = QueueingHint::kSkip;
  std::vector<std::string> asked_;
};

// However many events come.
TEST_F(AskedInSteps, WhatIsDueDoesNotWaitForIt) {
  for (const char* name : {"a", "b", "c", "d", "e"}) AddRejected(Pod(name), "Fit");
  AddRejected(Pod("other"), "Ports");
  queue().MoveAllOnEvent(kPodDelete, {});
  clock_.Advance(absl::Minutes(6));  // so long nobody waits
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_TRUE(queue().Tick(clock_.Now()));
  EXPECT_TRUE(queue().has_pending_events());
  EXPECT_EQ(queue().unschedulable_size(), 0);
}

TEST_F(AskedInSteps, SoManyWithEachTick) {
  for (const char* name : {"a", "b", "c", "d", "e"}) AddRejected(Pod(name), "Fit");
  AddRejected(Pod("other"), "Ports");
  queue().MoveAllOnEvent(kNodeAdd, {});
  queue().MoveAllOnEvent(kPodDelete, {});
  EXPECT_THAT(TakeAsked(), ElementsAre("a", "b"));
  EXPECT_TRUE(queue().has_pending_events());
  EXPECT_LE(queue().NextRetry(), clock_.Now());
  const int64_t steps = queue().steps();
  EXPECT_TRUE(queue().Tick(clock_.Now()));
  EXPECT_THAT(TakeAsked(), ElementsAre("c", "d"));
  EXPECT_EQ(queue().steps() - steps, 2);
  EXPECT_FALSE(queue().Tick(clock_.Now()));
  EXPECT_THAT(TakeAsked(), ElementsAre("e", "other"));
  EXPECT_FALSE(queue().has_pending_events());
  EXPECT_GT(queue().NextRetry(), clock_.Now());
}

TEST_F(AskedInSteps, PodsThatFailAfterTheEventAreNotAsked) {
  for (const char* name : {"a", "b", "c", "d"}) AddRejected(Pod(name), "Fit");
  queue().MoveAllOnEvent(kNodeAdd, {});
  AddRejected(Pod("late"), "Fit");
  queue().MoveAllOnEvent(kNodeAdd, {});
  Delete("c");
  TakeAsked();
  EXPECT_TRUE(queue().Tick(clock_.Now()));
  EXPECT_THAT(TakeAsked(), ElementsAre("d")) << "and looked at the late one";
  answer_ = QueueingHint::kQueue;
  while (queue().Tick(clock_.Now())) {
  }
  EXPECT_THAT(TakeAsked(), ElementsAre("a", "b", "d", "late"));
}

class OfOneClassButLate : public AskedInSteps, public ::testing::WithParamInterface<size_t> {};

TEST_P(OfOneClassButLate, OnlyWaitingPodsAreRequeued) {
  options_.max_moves_per_tick = GetParam();
  RegisterForAlike("Colour", EventResource::Node(), action::kAdd, Says(QueueingHint::kQueue));
  for (const char* name : {"a", "b"}) AddRejected(Pod(name), "Fit");
  for (const char* name : {"c", "d"}) AddRejected(Pod(name), "Colour");
  queue().MoveAllOnEvent(kNodeAdd, {});
  AddRejected(Pod("late"), "Colour");
  AddRejected(Pod("later"), "Colour");
  while (queue().Tick(clock_.Now())) {
  }
  EXPECT_EQ(StateOf("c"), kActive);
  EXPECT_EQ(StateOf("d"), kActive);
  EXPECT_EQ(StateOf("late"), kUnschedulable);
  EXPECT_EQ(StateOf("later"), kUnschedulable);
  queue().MoveAllOnEvent(kNodeAdd, {});
  while (queue().Tick(clock_.Now())) {
  }
  EXPECT_EQ(StateOf("late"), kActive);
  EXPECT_EQ(StateOf("later"), kActive);
}

INSTANTIATE_TEST_SUITE_P(MovesAtOnce, OfOneClassButLate, ::testing::Values(1, 100));

TEST_F(AskedInSteps, WhatHappenedFirstActsFirst) {
  Register("Own", EventResource::UnscheduledPod(), action::kUpdatePodLabel);
  answer_ = QueueingHint::kQueue;
  for (const char* name : {"a", "b", "c", "d"}) {
    Add(Pod(name));
    Pop();
    Reject({"Fit", "Ports", "Own"});
  }
  queue().MoveAllOnEvent(kNodeAdd, {});
  queue().MoveAllOnEvent(kPodDelete, {});
  Update(Pod("d").Label("x", "y"));
  while (queue().Tick(clock_.Now())) {
  }
  for (const char* name : {"a", "b", "c", "d"}) {
    EXPECT_EQ(queue().FindByPod(Uid(name))->requeued_by.view(), "NodeAdd") << name;
  }
}

TEST_F(AskedInSteps, EventsDoNotPileUpWhenNobodyTicks) {
  for (const char* name : {"a", "b", "c", "d"}) AddRejected(Pod(name), "Fit");
  for (int i = 0; i < 1'000; ++i) {
    const Object node = MakeNode().Name("n").Object();
    queue().MoveAllOnEvent(kNodeAdd, {.new_object = &node});
  }
  EXPECT_GT(asked_.size(), 3'600u);
}

TEST_F(QueueTest, ManyGatedPodsMoveInSteps) {
  options_.max_moves_per_tick = 2;
  bool closed = true;
  profile_.pre_enqueue = [&](const PodInfo& pod, Symbol) {
    return closed || pod.name() == "d"
               ? Status::Unschedulable("").WithPlugin(Symbol::Intern("Door"))
               : Status::Success();
  };
  RegisterForAlike("Door", EventResource::Node(), action::kAdd, Says(QueueingHint::kQueue));
  for (const char* name : {"a", "b", "c", "d", "e"}) Add(Pod(name));
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_TRUE(queue().Tick(clock_.Now()));
  EXPECT_FALSE(queue().Tick(clock_.Now()));
  EXPECT_EQ(queue().gated_size(), 5);
  closed = false;
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(queue().active_size(), 2);
  Update(Pod("e").Label("x", "y"));
  EXPECT_TRUE(queue().Tick(clock_.Now()));
  EXPECT_FALSE(queue().Tick(clock_.Now()));
  EXPECT_EQ(queue().active_size(), 4);
  EXPECT_EQ(StateOf("d"), kGated);
}

TEST_F(QueueTest, ManyPodsOfAWildcardOrPendingMoveInSteps) {
  options_.max_moves_per_tick = 2;
  RegisterForAlike("Fit", EventResource::Node(), action::kAdd, Says(QueueingHint::kQueue));
  for (const ClusterEvent& event : {kNodeAdd, kWildcard}) {
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      Add(Pod(name));
      Pop();
      Reject({"Stranger"}, {"Fit"});
    }
    queue().MoveAllOnEvent(event, {});
    EXPECT_EQ(queue().unschedulable_size(), 3) << event.label;
    EXPECT_TRUE(queue().Tick(clock_.Now()));
    EXPECT_EQ(queue().unschedulable_size(), 1) << event.label;
    EXPECT_FALSE(queue().Tick(clock_.Now()));
    EXPECT_EQ(queue().active_size(), event.label == "NodeAdd" ? 5 : 0) << "past the backoff";
    for (const char* name : {"a", "b", "c", "d", "e"}) Delete(name);
  }
}

TEST_F(QueueTest, HintsSeeTheChangeEvenIfTheObjectIsGoneByThen) {
  std::string seen;
  Register("Volumes", EventResource::Of(Kind::kPersistentVolume), action::kAdd,
           [&](const PodInfo&, const ObjectChange& change) {
             seen = std::string(change.new_object->name());
             return QueueingHint::kQueue;
           });
  Add(Pod("a"));
  Pop();
  {
    const Object node = MakeNode().Name("stands-for-a-volume").Object();
    queue().MoveAllOnEvent(
        {EventResource::Of(Kind::kPersistentVolume), action::kAdd, "PersistentVolumeAdd"},
        {.new_object = &node});
  }
  Reject({"Volumes"});
  EXPECT_EQ(seen, "stands-for-a-volume");
  EXPECT_EQ(StateOf("a"), kBackoff);
}

TEST_F(QueueTest, AWildcardEventWithAPodConcernsThatPodAlone) {
  Register("Fit", EventResource::Node(), action::kAdd);
  const auto a = Add(Pod("a"));
  Pop();
  Reject({"Fit"});
  AddRejected(Pod("b"), "Fit");
  queue().MoveAllOnEvent(kWildcard, {.new_pod = a});
  EXPECT_EQ(StateOf("a"), kActive);
  EXPECT_EQ(StateOf("b"), kUnschedulable);
}

TEST_F(QueueTest, AnEventMayBeLimitedToSomePods) {
  Register("Fit", EventResource::Node(), action::kAdd);
  AddRejected(Pod("low", 1), "Fit");
  AddRejected(Pod("high", 5), "Fit");
  queue().MoveAllOnEvent(kNodeAdd, {}, {.highest_priority = 1});
  EXPECT_EQ(StateOf("low"), kActive);
  EXPECT_EQ(StateOf("high"), kUnschedulable);
}

TEST_F(QueueTest, OnlyPluginsThatRejectedAreAsked) {
  int asked = 0;
  const QueueingHintFn count = [&](const PodInfo&, const ObjectChange&) {
    ++asked;
    return QueueingHint::kSkip;
  };
  Register("Fit", EventResource::Node(), action::kAdd, count);
  Register("Ports", EventResource::Pod(), action::kDelete, count);
  for (int i = 0; i < 10; ++i) AddRejected(Pod(absl::StrCat("fit", i)), "Fit");
  for (int i = 0; i < 3; ++i) AddRejected(Pod(absl::StrCat("ports", i)), "Ports");
  asked = 0;
  queue().MoveAllOnEvent(kPodDelete, {});
  EXPECT_EQ(asked, 3);
}

TEST_F(QueueTest, PodsMovedByOneEventKeepTheirOrder) {
  Register("Fit", EventResource::Node(), action::kAdd);
  options_.max_backoff = absl::ZeroDuration();
  for (const char* name : {"a", "b", "c", "d"}) Add(Pod(name));
  for (int i = 0; i < 4; ++i) {
    Pop();
    Reject({"Fit"});
  }
  queue().MoveAllOnEvent(kNodeAdd, {});
  std::vector<std::string> order;
  for (int i = 0; i < 4; ++i) order.push_back(Pop());
  EXPECT_THAT(order, ElementsAre("a", "b", "c", "d"));
}

// --- The pod's own updates ---

struct UpdateCase {
  absl::string_view name;
  PodBuilder before, after;
  ActionType registered;
  bool helps;
};

PodBuilder Web() { return Pod("a").Label("app", "web").Request("cpu", "2"); }

const UpdateCase kUpdateCases[] = {
    {"label changed", Web(), Web().Label("app", "db"), action::kUpdatePodLabel, true},
    {"label changed, not registered", Web(), Web().Label("app", "db"), action::kUpdatePodScaleDown,
     false},
    {"request lowered", Web(), Pod("a").Label("app", "web").Request("cpu", "1"),
     action::kUpdatePodScaleDown, true},
    {"request removed", Web(), Pod("a").Label("app", "web"), action::kUpdatePodScaleDown, true},
    {"request raised", Web(), Pod("a").Label("app", "web").Request("cpu", "3"),
     action::kUpdatePodScaleDown, false},
    {"toleration added", Web(), Web().TolerationExists("k"), action::kUpdatePodToleration, true},
    {"annotation only", Web(), Web().Annotation("k", "v"), action::kUpdatePodLabel, false},
    {"annotation only, any update registered", Web(), Web().Annotation("k", "v"), action::kUpdate,
     true},
    {"two changes, the second registered", Web(), Web().Label("app", "db").TolerationExists("k"),
     action::kUpdatePodToleration, true},
};

class OwnUpdateTest : public QueueTest, public ::testing::WithParamInterface<UpdateCase> {
 protected:
  OwnUpdateTest() {
    Register("Plugin", EventResource::Pod(), GetParam().registered,
             [](const PodInfo& pod, const ObjectChange& change) {
               return change.new_pod->uid() == pod.uid() ? QueueingHint::kQueue
                                                         : QueueingHint::kSkip;
             });
  }
};

TEST_P(OwnUpdateTest, RequeuesAWaitingPod) {
  AddRejected(GetParam().before, "Plugin");
  Update(GetParam().after);
  EXPECT_EQ(StateOf("a"), GetParam().helps ? kActive : kUnschedulable);
}

TEST_P(OwnUpdateTest, IsRecordedInFlight) {
  Add(GetParam().before);
  Pop();
  Update(GetParam().after);
  EXPECT_EQ(StateOf("a"), kInFlight);
  Reject({"Plugin"});
  EXPECT_EQ(StateOf("a"), GetParam().helps ? kBackoff : kUnschedulable);
}

void PrintTo(const UpdateCase& c, std::ostream* out) { *out << c.name; }

INSTANTIATE_TEST_SUITE_P(Cases, OwnUpdateTest, ::testing::ValuesIn(kUpdateCases));

TEST_F(QueueTest, AnUpdateInFlightIsTriedNextTime) {
  Add(Pod("a", 1));
  Pop();
  Update(Pod("a", 7));
  FailWithError();
  clock_.Advance(absl::Minutes(1));
  queue().Tick(clock_.Now());
  Pop();
  EXPECT_EQ(popped_->lead.pod->priority(), 7);
  EXPECT_EQ(popped_->members.front().pod->priority(), 7);
}

TEST_F(QueueTest, AnUpdateInBackoffKeepsThePodThere) {
  Register("Fit", EventResource::Pod(), action::kAll);
  Add(Pod("a", 1));
  Pop();
  FailWithError();
  Update(Pod("a", 7).Label("x", "y"));
  EXPECT_EQ(StateOf("a"), kErrorBackoff);
}

// --- Gates ---

TEST_F(QueueTest, AGatedPodWaitsForItsGate) {
  Add(Pod("a").SchedulingGate("g"));
  EXPECT_EQ(StateOf("a"), kGated);
  EXPECT_EQ(queue().FindByPod(Uid("a"))->gating_plugin, Symbol::Intern("Gates"));
  queue().MoveAllOnEvent(kNodeAdd, {});
  queue().MoveAllOnEvent(kWildcard, {});
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(queue().NextDue(), absl::InfiniteFuture());
  queue().Tick(clock_.Now());
  EXPECT_EQ(Pop(), "");
  Update(Pod("a").SchedulingGate("g").Label("x", "y"));
  EXPECT_EQ(StateOf("a"), kGated);
  Update(Pod("a"));
  EXPECT_EQ(StateOf("a"), kActive);
  EXPECT_EQ(queue().gated_size(), 0);
}

TEST_F(QueueTest, AGatedPodIsNotActivated) {
  const auto pod = Add(Pod("a").SchedulingGate("g"));
  queue().Activate({pod});
  EXPECT_EQ(StateOf("a"), kGated);
}

TEST_F(QueueTest, AGateIsAskedOnlyOnEventsItsPluginRegistered) {
  bool closed = true;
  int asked = 0;
  profile_.pre_enqueue = [&](const PodInfo&, Symbol) {
    ++asked;
    return closed ? Status::Unschedulable("closed").WithPlugin(Symbol::Intern("Door"))
                  : Status::Success();
  };
  Register("Door", EventResource::Node(), action::kAdd);
  Add(Pod("a"));
  EXPECT_EQ(asked, 1);
  queue().MoveAllOnEvent(kPodDelete, {});
  EXPECT_EQ(asked, 1);
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(StateOf("a"), kGated);
  closed = false;
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(StateOf("a"), kActive);
}

// As with PopFromBackoffQ: gates are asked when the backoff begins, not again when it ends.
TEST_F(QueueTest, GatesAreAskedOnTheWayIntoBackoff) {
  bool closed = false;
  profile_.pre_enqueue = [&](const PodInfo&, Symbol) {
    return closed ? Status::Unschedulable("closed").WithPlugin(Symbol::Intern("Door"))
                  : Status::Success();
  };
  Add(Pod("a"));
  Pop();
  closed = true;
  FailWithError();
  EXPECT_EQ(StateOf("a"), kGated);
  closed = false;
  queue().Activate({queue().FindByPod(Uid("a"))->gated_members.front().pod});
  Pop();
  FailWithError();
  EXPECT_EQ(StateOf("a"), kErrorBackoff);
  closed = true;
  clock_.Advance(absl::Minutes(1));
  queue().Tick(clock_.Now());
  EXPECT_EQ(StateOf("a"), kActive);
}

TEST_F(QueueTest, APodThatIsUngatedStillObservesItsBackoff) {
  bool closed = false;
  profile_.pre_enqueue = [&](const PodInfo&, Symbol) {
    return closed ? Status::Unschedulable("closed").WithPlugin(Symbol::Intern("Door"))
                  : Status::Success();
  };
  Register("Door", EventResource::Node(), action::kAdd);
  Add(Pod("a"));
  Pop();
  closed = true;
  Reject({"Stranger"});
  queue().MoveAllOnEvent(kWildcard, {});
  EXPECT_EQ(StateOf("a"), kGated);
  closed = false;
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(StateOf("a"), kBackoff);
}

TEST_F(QueueTest, ThePluginThatGatedThePodIsAskedFirst) {
  std::vector<std::string> first;
  bool closed = true;
  profile_.pre_enqueue = [&](const PodInfo&, Symbol others_allow_removal) {
    first.emplace_back(others_allow_removal.view());
    return closed ? Status::Unschedulable("closed").WithPlugin(Symbol::Intern("Door"))
                  : Status::Success();
  };
  Register("Door", EventResource::Node(), action::kAdd);
  Add(Pod("a"));
  queue().MoveAllOnEvent(kNodeAdd, {});
  closed = false;
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_THAT(first, ElementsAre("", "Door", "Door"));
  EXPECT_EQ(StateOf("a"), kActive);
}

// As kube-scheduler's DefaultPreemption: it registers an event that it says is never reason enough.
TEST_F(QueueTest, AGatedPodIsRequeuedByTheHintsOfThePluginsThatRejectedIt) {
  bool closed = false;
  profile_.pre_enqueue = [&](const PodInfo&, Symbol) {
    return closed ? Status::Unschedulable("closed").WithPlugin(Symbol::Intern("Door"))
                  : Status::Success();
  };
  Register("Door", EventResource::AssignedPod(), action::kDelete, Says(QueueingHint::kSkip));
  Register("Fit", EventResource::AssignedPod(), action::kDelete, Says(QueueingHint::kQueue));
  Register("Fit", EventResource::Node(), action::kAdd, Says(QueueingHint::kQueue));
  Add(Pod("a"));
  Pop();
  Reject({"Fit"});
  closed = true;
  queue().MoveAllOnEvent(kPodDelete, {});
  EXPECT_EQ(StateOf("a"), kGated);
  closed = false;
  queue().MoveAllOnEvent(kNodeAdd, {});  // not one that the gate registered
  EXPECT_EQ(StateOf("a"), kGated);
  queue().MoveAllOnEvent(kPodDelete, {});
  EXPECT_EQ(StateOf("a"), kBackoff);
}

TEST_F(QueueTest, GatesThatMayOpenAreAskedAtOnce) {
  bool closed = true;
  profile_.pre_enqueue = [&](const PodInfo&, Symbol) {
    return closed ? Status::Unschedulable("closed").WithPlugin(Symbol::Intern("Door"))
                  : Status::Success();
  };
  Add(Pod("a"));
  queue().RecheckGates(Uid("a"));
  EXPECT_EQ(StateOf("a"), kGated);
  closed = false;
  queue().RecheckGates(Uid("a"));
  EXPECT_EQ(StateOf("a"), kActive);
  queue().RecheckGates(Uid("a"));
  queue().RecheckGates("nobody");
  EXPECT_EQ(StateOf("a"), kActive);
}

TEST_F(QueueTest, ARetryEndsTheWaitForAnEvent) {
  using RetryBackoff = SchedulingQueue::RetryBackoff;
  Add(Pod("a"));
  Add(Pod("b"));
  for (int i = 0; i < 2; ++i) {
    Pop();
    Reject({"Stranger"});
  }
  queue().Retry(Uid("a"), RetryBackoff::kUnlessIdle);
  queue().Retry(Uid("b"), RetryBackoff::kAlways);
  queue().Retry("nobody", RetryBackoff::kAlways);
  EXPECT_EQ(StateOf("a"), kBackoff);
  EXPECT_EQ(StateOf("b"), kErrorBackoff);
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(Pop(), "");
  clock_.Advance(absl::Seconds(3));
  queue().Tick(clock_.Now());
  EXPECT_EQ(Pop(), "b");
}

// An eviction is refused while its preemptor is tried again: with nothing else to do it would be
// tried, and refused, without end.
TEST_F(QueueTest, ARetryInFlightKeepsItsBackoff) {
  using RetryBackoff = SchedulingQueue::RetryBackoff;
  Add(Pod("a"));
  Pop();
  queue().Retry(Uid("a"), RetryBackoff::kAlways);
  queue().Retry(Uid("a"), RetryBackoff::kUnlessIdle);
  Reject({"Stranger"});
  EXPECT_EQ(StateOf("a"), kErrorBackoff);
  EXPECT_EQ(Pop(), "");
  clock_.Advance(absl::Seconds(3));
  queue().Tick(clock_.Now());
  EXPECT_EQ(Pop(), "a");
  queue().Retry(Uid("a"), RetryBackoff::kUnlessIdle);
  Reject({"Stranger"});
  EXPECT_EQ(StateOf("a"), kBackoff);
  EXPECT_EQ(Pop(), "a");
}

// --- Activate ---

TEST_F(QueueTest, ActivateIgnoresBackoff) {
  const auto error = Add(Pod("error"));
  Pop();
  FailWithError();
  const auto waiting = Add(Pod("waiting"));
  Pop();
  Reject({"Stranger"});
  queue().Activate({error, waiting, Pod("unknown").Obj()});
  EXPECT_EQ(StateOf("error"), kActive);
  EXPECT_EQ(StateOf("waiting"), kActive);
  EXPECT_EQ(queue().size(), 2);
}

TEST_F(QueueTest, ActivateIsRecordedInFlight) {
  const auto a = Add(Pod("a", 2));
  Add(Pod("b", 1));
  Pop();
  const QueueEntry* const first = popped_;
  Pop();
  queue().Activate({a});
  Reject({"Stranger"});
  EXPECT_EQ(StateOf("b"), kUnschedulable) << "it was not for this one";
  popped_ = first;
  Reject({"Stranger"});
  EXPECT_EQ(StateOf("a"), kBackoff);
}

// --- The safety net ---

TEST_F(QueueTest, WhatIsUnschedulableForLongIsTriedAgain) {
  Add(Pod("a"));
  Pop();
  Reject({"Stranger"});
  EXPECT_EQ(queue().NextDue(), clock_.Now() + absl::Minutes(5));
  clock_.Advance(absl::Minutes(5) - absl::Nanoseconds(1));
  queue().Tick(clock_.Now());
  EXPECT_EQ(StateOf("a"), kUnschedulable);
  clock_.Advance(absl::Nanoseconds(1));
  queue().Tick(clock_.Now());
  EXPECT_EQ(StateOf("a"), kActive);
}

TEST_F(QueueTest, APodThatNamedATimeIsTriedThen) {
  const std::string uid = Add(Pod("a"))->uid();
  const auto reject_until = [&](absl::Time retry_at) {
    Pop();
    Rejection rejection;
    rejection.unschedulable_plugins = {Symbol::Intern("Stranger")};
    rejection.retry_at = retry_at;
    queue().AddUnschedulable(queue().FindByPod(uid), rejection);
  };
  const auto pass = [&](absl::Duration time) {
    clock_.Advance(time);
    queue().Tick(clock_.Now());
  };
  const absl::Time then = clock_.Now() + absl::Minutes(7);
  reject_until(then);
  EXPECT_EQ(queue().NextRetry(), then);
  EXPECT_EQ(queue().NextDue(), clock_.Now() + absl::Minutes(5)) << "the safety net comes first";
  pass(absl::Minutes(5));
  EXPECT_EQ(StateOf("a"), kActive);
  EXPECT_EQ(queue().NextRetry(), absl::InfiniteFuture());

  reject_until(then);
  pass(absl::Minutes(2) - absl::Nanoseconds(1));
  EXPECT_EQ(StateOf("a"), kUnschedulable);
  pass(absl::Nanoseconds(1));
  EXPECT_EQ(StateOf("a"), kActive);
  EXPECT_EQ(queue().FindByPod(uid)->requeued_by.view(), "MinRuntimeOver");

  reject_until(clock_.Now() + absl::Milliseconds(100));
  pass(absl::Milliseconds(100));
  EXPECT_EQ(StateOf("a"), kBackoff) << "it rests as after any attempt";
  pass(absl::Minutes(1));
  reject_until(absl::InfiniteFuture());
  EXPECT_EQ(queue().NextRetry(), absl::InfiniteFuture());
}

// --- Return ---

TEST_F(QueueTest, APodWhoseBindingFailedWaitsForItsBackoff) {
  const auto pod = Add(Pod("a"));
  Pop();
  const AttemptHistory history = popped_->history;
  queue().Placed(popped_, Uid("a"));
  queue().Done(popped_);
  EXPECT_EQ(queue().size(), 0);
  queue().Return(pod, std::nullopt, history, {});
  EXPECT_EQ(StateOf("a"), kErrorBackoff);
  EXPECT_EQ(queue().FindByPod(Uid("a"))->history.attempts, 1);
  EXPECT_EQ(queue().FindByPod(Uid("a"))->history.consecutive_errors, 1);
  clock_.AdvanceTo(queue().NextDue());
  queue().Tick(clock_.Now());
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped_->lead.attempts, 2);
}

TEST_F(QueueTest, APodThatRequiresBackoffIsNotPoppedEarly) {
  for (const bool requires_backoff : {false, true}) {
    SCOPED_TRACE(requires_backoff);
    const std::string name = requires_backoff ? "rests" : "hurries";
    const auto pod = Add(Pod(name));
    Pop();
    const AttemptHistory history = popped_->history;
    queue().Placed(popped_, Uid(name));
    queue().Done(popped_);
    Rejection rejection;
    rejection.unschedulable_plugins = {Symbol::Intern("Permits")};
    rejection.requires_backoff = requires_backoff;
    queue().Return(pod, std::nullopt, history, rejection);
    EXPECT_EQ(StateOf(name), requires_backoff ? kErrorBackoff : kBackoff);
    EXPECT_EQ(queue().CanPop(), !requires_backoff);
    queue().Delete(Uid(name));
  }
}

// --- Reports ---

TEST_F(QueueTest, PendingTellsWherePodsAreAndWhy) {
  Add(Pod("gated").SchedulingGate("g"));
  Add(Pod("rejected", 5));
  Add(Pod("active"));
  Pop();
  Rejection rejection;
  rejection.unschedulable_plugins = {Symbol::Intern("Fit")};
  rejection.pods = {
      {Uid("rejected"), Status::Unschedulable("no room").WithPlugin(Symbol::Intern("Fit")), true}};
  queue().AddUnschedulable(popped_, rejection);
  const std::vector<PendingReport> reports = queue().Pending();
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].pod->name(), "gated");
  EXPECT_EQ(reports[0].state, kGated);
  EXPECT_EQ(reports[0].status.ToString(), "UnschedulableAndUnresolvable by Gates: has gates");
  EXPECT_EQ(reports[1].pod->name(), "rejected");
  EXPECT_EQ(reports[1].state, kUnschedulable);
  EXPECT_EQ(reports[1].status.message(), "no room");
  EXPECT_EQ(reports[1].attempts, 1);
  EXPECT_EQ(reports[2].state, kActive);
  EXPECT_TRUE(reports[2].status.ok());
}

}  // namespace
}  // namespace berth::testing
