// SPDX-License-Identifier: Apache-2.0
// Lines of pods that wait for room, with nodes made for the test and without an engine: who joins
// one, who is tried, who is passed over, and that everything goes as if each pod were tried.
#include "queue/retry_turns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/plugins/random_cluster.h"
#include "tests/queue/queue_fakes.h"

namespace berth {
namespace {

using testing::ByPriority;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakePod;
using testing::Random;

const Symbol kProfile = Symbol::Intern("default-scheduler");
const Symbol kEvent = Symbol::Intern("AssignedPodDelete");
const Symbol kFit = Symbol::Intern("Fit");            // waits for room
const Symbol kSpread = Symbol::Intern("Spread");      // any pod that leaves may help it
const Symbol kAffinity = Symbol::Intern("Affinity");  // none does

class FakeRoom final : public FreeResourcesView {
 public:
  FreeResources FreeOn(Symbol node) const override {
    const auto found = free.find(node);
    return found == free.end() ? FreeResources{-1, -1} : found->second;
  }
  bool OnlyFreeResourcesHelp(const PodInfo&) override {
    ++asked;
    return only_room_helps;
  }
  void Free(absl::string_view node, int64_t milli_cpu) {
    free[Symbol::Intern(node)] = {milli_cpu, int64_t{1} << 40};
  }

  std::map<Symbol, FreeResources> free;
  bool only_room_helps = true;
  int asked = 0;
};

// As much of a queue as lines need: entries in their places, which the test pops and rejects.
class SmallQueue {
 public:
  // `room` may be null: then nobody takes turns.
  explicit SmallQueue(FreeResourcesView* room)
      : turns_(room, table_, clock_, backoff_, places_, next_sequence_,
               [this](QueueEntry& entry, Symbol event) { Wake(entry, event); }) {
    const ClusterEvent pod_left{EventResource::AssignedPod(), action::kDelete, ""};
    const ClusterEvent node_added{EventResource::Node(), action::kAdd, ""};
    table_.Add(kProfile, {{kFit, {{.event = pod_left, .hint = nullptr, .waits_for_room = true}}},
                          {kSpread, {{pod_left, nullptr}}},
                          {kAffinity, {{node_added, nullptr}}}});
  }

  // One that Fit rejected so often that its backoff is as long as it gets, or so often. It is
  // nowhere in the queue.
  QueueEntry& Make(absl::string_view name, int64_t milli_cpu, int32_t priority = 0,
                   int attempts = 10) {
    auto made = std::make_unique<QueueEntry>();
    QueueEntry& entry = *made;
    entry.key = std::string(name);
    entry.profile = kProfile;
    entry.members.push_back({.pod = MakePod()
                                        .Name(name)
                                        .Priority(priority)
                                        .Request("cpu", absl::StrCat(milli_cpu, "m"))
                                        .Obj()});
    entry.unschedulable_plugins = {kFit};
    entry.only_room = true;
    entry.history.unschedulable_count = attempts;
    entries_[entry.key] = std::move(made);
    return entry;
  }
  // It was rejected just now. Returns whether it waits in a line.
  bool PutBack(QueueEntry& entry) {
    entry.timestamp = clock_.Now();
    entry.backoff_expiration = backoff_.Expiration(entry.history, entry.timestamp);
    SetState(entry, QueueState::kUnschedulable);
    return turns_.Join(entry);
  }
  bool AddWaiting(absl::string_view name, int64_t milli_cpu, int32_t priority = 0) {
    return PutBack(Make(name, milli_cpu, priority));
  }
  // A new one.
  void AddActive(absl::string_view name, int64_t milli_cpu, int32_t priority = 0) {
    QueueEntry& entry = Make(name, milli_cpu, priority, 0);
    entry.timestamp = clock_.Now();
    SetState(entry, QueueState::kActive);
  }

  // The next one to be tried, in flight from now on; null if there is none.
  QueueEntry* Pop() {
    if (!places_.CanPop()) return nullptr;
    QueueEntry& entry = places_.Next();
    turns_.Leave(entry);
    places_.Remove(entry);
    entry.state = QueueState::kInFlight;
    entry.sequence = next_sequence_++;
    return &entry;
  }
  void Reject(QueueEntry& entry) {
    turns_.EndTurn(entry);
    ++entry.history.unschedulable_count;
    PutBack(entry);
    turns_.Continue();
  }
  void Place(QueueEntry& entry) {
    turns_.EndTurn(entry);
    Forget(entry);
    turns_.Continue();
  }
  void Delete(QueueEntry& entry) {
    turns_.Leave(entry);
    places_.Remove(entry);
    turns_.EndTurn(entry);
    Forget(entry);
    turns_.Continue();
  }
  // A pod left the node. Who takes no turns is woken.
  void PodLeft(absl::string_view node) {
    turns_.PodLeft(Symbol::Intern(node), kEvent);
    WakeIf([](const QueueEntry& entry) { return entry.retry_line == nullptr; });
  }
  void NodeChanged() {
    turns_.NodeChanged();
    WakeIf([](const QueueEntry&) { return true; });
  }

  QueueEntry& at(const std::string& name) { return *entries_.at(name); }
  bool Has(const std::string& name) const { return entries_.contains(name); }
  // Those that are woken since the last call.
  std::vector<std::string> TakeWoken() { return std::exchange(woken_, {}); }
  // Those that are unschedulable, in the order in which they would be tried.
  std::vector<std::string> Waiting() {
    std::vector<QueueEntry*> waiting;
    for (const auto& [name, entry] : entries_) {
      if (entry->state != QueueState::kUnschedulable) continue;
      turns_.Leave(*entry);
      waiting.push_back(entry.get());
    }
    std::sort(waiting.begin(), waiting.end(), [](const QueueEntry* a, const QueueEntry* b) {
      return std::tuple(-a->lead.priority(), a->timestamp, a->sequence) <
             std::tuple(-b->lead.priority(), b->timestamp, b->sequence);
    });
    std::vector<std::string> names;
    for (const QueueEntry* entry : waiting) {
      names.push_back(absl::StrCat(entry->key, " ", absl::ToUnixMillis(entry->timestamp), " ",
                                   absl::ToUnixMillis(entry->backoff_expiration)));
    }
    return names;
  }
  void Check() const {
    const absl::Status status = turns_.CheckInvariants();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(places_.IsConsistent());
  }

  SimulatedClock& clock() { return clock_; }
  RetryTurns& turns() { return turns_; }

 private:
  void SetState(QueueEntry& entry, QueueState state) {
    const bool moves = entry.state != QueueState::kInFlight && entry.state != QueueState::kGated;
    if (moves) {
      places_.Remove(entry);
    } else {
      entry.sequence = next_sequence_++;
    }
    entry.state = state;
    entry.lead = {.pod = entry.members.front().pod, .timestamp = entry.timestamp};
    places_.Add(entry);
  }
  void Wake(QueueEntry& entry, Symbol event) {
    EXPECT_EQ(event.view(), kEvent.view());
    woken_.push_back(entry.key);
    SetState(entry, Backoff::IsBackingOff(entry.backoff_expiration, clock_.Now())
                        ? QueueState::kBackoff
                        : QueueState::kActive);
  }
  template <class Condition>
  void WakeIf(const Condition& condition) {
    for (const auto& [name, entry] : entries_) {
      if (entry->state != QueueState::kUnschedulable || !condition(*entry)) continue;
      turns_.Leave(*entry);
      Wake(*entry, kEvent);
    }
  }
  void Forget(const QueueEntry& entry) { entries_.erase(std::string(entry.key)); }

  SimulatedClock clock_{absl::FromUnixSeconds(1000)};
  EventTable table_;
  Backoff backoff_{absl::Seconds(1), absl::Seconds(10)};
  ByPriority sort_;
  SubQueues places_{sort_, nullptr, Symbol()};
  uint64_t next_sequence_ = 1;
  std::map<std::string, std::unique_ptr<QueueEntry>> entries_;
  std::vector<std::string> woken_;
  RetryTurns turns_;
};

class RetryTurnsTest : public ::testing::Test {
 protected:
  ~RetryTurnsTest() override { queue_.Check(); }

  // Three pods that wait, their backoff over, and so much room on node n.
  void AddThree(int64_t free_milli_cpu) {
    room_.Free("n", free_milli_cpu);
    EXPECT_TRUE(queue_.AddWaiting("large", 3000));
    EXPECT_TRUE(queue_.AddWaiting("middle", 2000));
    EXPECT_TRUE(queue_.AddWaiting("small", 1000));
    queue_.clock().Advance(absl::Seconds(20));
  }
  std::string PopAndReject() {
    QueueEntry* const entry = queue_.Pop();
    if (entry == nullptr) return "";
    const std::string name = entry->key;
    queue_.Reject(*entry);
    queue_.Check();
    return name;
  }

  FakeRoom room_;
  SmallQueue queue_{&room_};
};

TEST_F(RetryTurnsTest, JoinedByThoseAloneThatOnlyRoomHelps) {
  struct Case {
    absl::string_view name;
    bool want;
    void (*change)(QueueEntry& entry);
  };
  const Case cases[] = {
      {"waits for room", true, [](QueueEntry&) {}},
      {"waits also for what no pod that leaves helps", true,
       [](QueueEntry& entry) { entry.unschedulable_plugins.push_back(kAffinity); }},
      {"waits for room and for any pod to leave", false,
       [](QueueEntry& entry) { entry.unschedulable_plugins.push_back(kSpread); }},
      {"does not wait for room", false,
       [](QueueEntry& entry) { entry.unschedulable_plugins = {kAffinity}; }},
      {"rejected by nobody", false, [](QueueEntry& entry) { entry.unschedulable_plugins.clear(); }},
      {"may be rejected by others next time", false,
       [](QueueEntry& entry) { entry.only_room = false; }},
      {"its backoff can grow", false,
       [](QueueEntry& entry) { entry.history.unschedulable_count = 2; }},
      {"its last attempts were errors", false,
       [](QueueEntry& entry) { entry.history.consecutive_errors = 1; }},
      {"a group", false, [](QueueEntry& entry) { entry.is_group = true; }},
      {"with a member behind a gate", false,
       [](QueueEntry& entry) { entry.gated_members = entry.members; }},
      {"waits for what a plugin has begun", false,
       [](QueueEntry& entry) { entry.pending_plugins = {kAffinity}; }},
      {"has to wait its backoff out", false,
       [](QueueEntry& entry) { entry.requires_backoff = true; }},
      {"is tried again at a time", false,
       [](QueueEntry& entry) { entry.retry_at = absl::FromUnixSeconds(5000); }},
  };
  for (const Case& c : cases) {
    QueueEntry& entry = queue_.Make(c.name, 1000);
    c.change(entry);
    EXPECT_EQ(queue_.PutBack(entry), c.want) << c.name;
    EXPECT_EQ(entry.retry_line != nullptr, c.want) << c.name;
    queue_.Check();
  }
}

TEST_F(RetryTurnsTest, NobodyJoinsIfSomebodyCouldBeEvicted) {
  room_.only_room_helps = false;
  EXPECT_FALSE(queue_.AddWaiting("pod", 1000));
  EXPECT_TRUE(queue_.turns().empty());
}

TEST_F(RetryTurnsTest, NobodyJoinsWhereNobodyKnowsWhatIsFree) {
  SmallQueue queue(nullptr);
  EXPECT_FALSE(queue.AddWaiting("pod", 1000));
}

TEST_F(RetryTurnsTest, WhoWasTriedLongAgoDoesNotJoinBehindOthers) {
  QueueEntry& old = queue_.Make("old", 1000);
  old.only_room = false;
  EXPECT_FALSE(queue_.PutBack(old));
  queue_.clock().Advance(absl::Seconds(1));
  EXPECT_TRUE(queue_.AddWaiting("young", 1000));
  old.only_room = true;
  EXPECT_FALSE(queue_.turns().Join(old));
}

TEST_F(RetryTurnsTest, TheFirstOfEachPriorityIsWoken) {
  queue_.AddWaiting("a", 1000);
  queue_.AddWaiting("b", 1000, 5);
  queue_.AddWaiting("c", 1000);
  queue_.AddWaiting("d", 1000, 5);
  queue_.PodLeft("n");
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("b", "a"));
  queue_.PodLeft("n");
  EXPECT_THAT(queue_.TakeWoken(), IsEmpty()) << "both have their turn still";
}

TEST_F(RetryTurnsTest, WhoseBackoffIsNotOverWaitsItOut) {
  queue_.AddWaiting("pod", 1000);
  queue_.PodLeft("n");
  EXPECT_EQ(queue_.at("pod").state, QueueState::kBackoff);
  EXPECT_TRUE(queue_.at("pod").has_turn);
}

TEST_F(RetryTurnsTest, WhoIsCertainToFailIsPassedOver) {
  AddThree(1500);
  queue_.PodLeft("n");
  EXPECT_EQ(PopAndReject(), "large");
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("large", "small"));
  queue_.Place(*queue_.Pop());
  EXPECT_THAT(queue_.TakeWoken(), IsEmpty());
  // As if it had been tried: since now, behind the one that was, with a backoff from now on.
  EXPECT_THAT(queue_.Waiting(), ElementsAre("large 1020000 1030000", "middle 1020000 1030000"));
}

TEST_F(RetryTurnsTest, RoomOnAnyNodeThatAPodLeftCounts) {
  AddThree(0);
  room_.Free("m", 2500);
  queue_.PodLeft("n");
  queue_.PodLeft("m");
  EXPECT_EQ(PopAndReject(), "large");
  EXPECT_EQ(PopAndReject(), "middle");
  EXPECT_EQ(PopAndReject(), "small");
  EXPECT_EQ(PopAndReject(), "") << "all were tried since the last pod left";
}

TEST_F(RetryTurnsTest, MemoryCountsAsWellAsCpu) {
  AddThree(1500);
  room_.free[Symbol::Intern("n")].memory_bytes = -1;  // no pod more may be there
  queue_.PodLeft("n");
  EXPECT_EQ(PopAndReject(), "large");
  EXPECT_EQ(PopAndReject(), "");
}

TEST_F(RetryTurnsTest, WhoWouldNotBeNextIsNotPassedOver) {
  AddThree(0);
  queue_.PodLeft("n");
  QueueEntry& large = *queue_.Pop();
  queue_.AddActive("important", 9000, 5);
  queue_.Reject(large);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("large", "middle"));
  EXPECT_EQ(queue_.Pop()->key, "important") << "and middle behind it";
}

TEST_F(RetryTurnsTest, NobodyIsPassedOverOnceMoreThanRoomMayHelp) {
  AddThree(0);
  queue_.PodLeft("n");
  QueueEntry& large = *queue_.Pop();
  room_.only_room_helps = false;
  queue_.Reject(large);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("large", "middle"));
}

TEST_F(RetryTurnsTest, OneOfAProfileIsAskedAboutForAllThatArePassedOver) {
  room_.Free("n", 0);
  for (int i = 0; i < 50; ++i) queue_.AddWaiting(absl::StrCat("pod-", i), 1000);
  queue_.clock().Advance(absl::Seconds(20));
  queue_.PodLeft("n");
  QueueEntry& first = *queue_.Pop();
  room_.asked = 0;
  queue_.Reject(first);
  EXPECT_EQ(room_.asked, 2) << "whether it may join again, and of one that waits";
  EXPECT_EQ(queue_.Pop(), nullptr);
}

TEST_F(RetryTurnsTest, AChangedNodeWakesAllThatHaveNotHadTheirTurn) {
  AddThree(0);
  queue_.PodLeft("n");
  queue_.turns().NodeChanged();
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("large", "middle", "small"));
}

TEST_F(RetryTurnsTest, WhatWasCertainBeforeANodeChangedIsNotAnyMore) {
  AddThree(0);
  queue_.turns().NodeChanged();
  EXPECT_THAT(queue_.TakeWoken(), IsEmpty()) << "no pod left";
  queue_.PodLeft("n");
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("large", "middle", "small"));
}

TEST_F(RetryTurnsTest, WhoJoinsAfterAPodLeftIsNotWoken) {
  AddThree(5000);
  queue_.PodLeft("n");
  EXPECT_EQ(PopAndReject(), "large");
  queue_.AddWaiting("late", 1000);
  EXPECT_EQ(PopAndReject(), "middle");
  EXPECT_EQ(PopAndReject(), "small");
  EXPECT_EQ(PopAndReject(), "");
  queue_.clock().Advance(absl::Seconds(20));
  queue_.PodLeft("n");
  EXPECT_EQ(PopAndReject(), "large");
  EXPECT_EQ(PopAndReject(), "late") << "it was tried before the others were";
}

TEST_F(RetryTurnsTest, ATurnThatEndsOtherwiseIsTheNextOnes) {
  AddThree(5000);
  queue_.PodLeft("n");
  queue_.Delete(queue_.at("large"));
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("large", "middle"));
  queue_.Delete(queue_.at("small"));
  queue_.Place(*queue_.Pop());
  EXPECT_THAT(queue_.TakeWoken(), IsEmpty());
  EXPECT_THAT(queue_.Waiting(), IsEmpty());
}

TEST_F(RetryTurnsTest, WhoChangesIsRequeuedIfItWouldHaveBeen) {
  AddThree(5000);
  queue_.turns().Release(queue_.at("small"));
  EXPECT_THAT(queue_.TakeWoken(), IsEmpty()) << "no pod left";
  EXPECT_EQ(queue_.at("small").retry_line, nullptr);
  queue_.PodLeft("n");
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("large", "small"));
  queue_.turns().Release(queue_.at("middle"));
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre("middle"));
  queue_.turns().Release(queue_.at("large"));
  EXPECT_TRUE(queue_.at("large").has_turn) << "it is being tried";
}

TEST_F(RetryTurnsTest, TheTimeOfThoseThatWerePassedOverIsThatOfTheirTurn) {
  AddThree(0);
  const absl::Time before = queue_.at("middle").timestamp;
  EXPECT_FALSE(queue_.turns().BringTimeUpToDate(queue_.at("middle")));
  queue_.PodLeft("n");
  PopAndReject();
  EXPECT_EQ(queue_.at("middle").timestamp, before) << "that of when it joined";
  EXPECT_TRUE(queue_.turns().BringTimeUpToDate(queue_.at("middle")));
  EXPECT_EQ(queue_.at("middle").timestamp, queue_.clock().Now());
  EXPECT_EQ(queue_.at("small").timestamp, queue_.clock().Now()) << "of all in the line";
  EXPECT_FALSE(queue_.turns().BringTimeUpToDate(queue_.at("small")));
}

TEST_F(RetryTurnsTest, LinesThatManyLeaveStayInOrder) {
  room_.Free("n", 0);
  for (int i = 0; i < 300; ++i) queue_.AddWaiting(absl::StrCat("pod-", i), 1000);
  queue_.clock().Advance(absl::Seconds(20));
  queue_.PodLeft("n");
  for (int i = 1; i < 299; ++i) {
    queue_.Delete(queue_.at(absl::StrCat("pod-", i)));
    queue_.Check();
  }
  EXPECT_EQ(PopAndReject(), "pod-0");
  EXPECT_EQ(PopAndReject(), "") << "pod-299 is certain to fail";
  queue_.Delete(queue_.at("pod-0"));
  queue_.Delete(queue_.at("pod-299"));
  queue_.PodLeft("n");
  EXPECT_TRUE(queue_.turns().empty()) << "no line is kept for nobody";
}

// --- Random histories ----------------------------------------------------------------------------

// A queue and the nodes on which what it places runs.
class Machine {
 public:
  Machine(uint64_t seed, bool takes_turns) : random_(seed), queue_(takes_turns ? &room_ : nullptr) {
    for (int i = random_.Between(1, 3); i > 0; --i) {
      room_.Free(absl::StrCat("n", i), 1000 * random_.Between(2, 6));
    }
  }

  void Run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFatalFailure(); ++step) {
      for (int i = random_.Below(4); i > 0; --i) Change();
      TryAll();
      queue_.clock().Advance(absl::Milliseconds(random_.Below(3000)));
      queue_.Check();
    }
  }
  const std::vector<std::string>& placements() const { return placements_; }
  std::vector<std::string> Waiting() { return queue_.Waiting(); }
  int attempts() const { return attempts_; }

 private:
  void Change() {
    const int kind = random_.Below(10);
    if (kind < 5) {
      const std::string name = absl::StrCat("p", next_++);
      queue_.AddActive(name, 500 * random_.Between(0, 12), random_.Below(2));
    } else if (kind < 8 && !running_.empty()) {
      const size_t i = random_.Below(static_cast<int>(running_.size()));
      const auto [node, milli_cpu] = running_[i];
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      room_.free[node].milli_cpu += milli_cpu;
      queue_.PodLeft(node.view());
    } else if (kind == 8 && next_ > 0) {
      const std::string name = absl::StrCat("p", random_.Below(next_));
      if (queue_.Has(name)) queue_.Delete(queue_.at(name));
    } else if (kind == 9 && random_.Percent(20)) {
      room_.free.begin()->second.milli_cpu += 500 * random_.Between(-1, 2);
      queue_.NodeChanged();
    }
  }

  void TryAll() {
    while (QueueEntry* const entry = queue_.Pop()) {
      ++attempts_;
      const int64_t needed = entry->members.front().pod->requests().Get(kCpu);
      const auto node = std::find_if(room_.free.begin(), room_.free.end(), [&](const auto& each) {
        return needed <= each.second.milli_cpu;
      });
      if (node == room_.free.end()) {
        queue_.Reject(*entry);
        continue;
      }
      node->second.milli_cpu -= needed;
      running_.emplace_back(node->first, needed);
      placements_.push_back(absl::StrCat(entry->key, " on ", node->first.view()));
      queue_.Place(*entry);
    }
  }

  Random random_;
  FakeRoom room_;
  SmallQueue queue_;
  std::vector<std::pair<Symbol, int64_t>> running_;
  std::vector<std::string> placements_;
  int next_ = 0, attempts_ = 0;
};

TEST(RetryTurnsHistory, EverythingGoesAsIfEachPodWereTried) {
  int fewer = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Machine with_turns(seed, true), without(seed, false);
    with_turns.Run(120);
    without.Run(120);
    ASSERT_EQ(with_turns.placements(), without.placements());
    ASSERT_EQ(with_turns.Waiting(), without.Waiting());
    ASSERT_LE(with_turns.attempts(), without.attempts());
    fewer += without.attempts() - with_turns.attempts();
  }
  EXPECT_GT(fewer, 0) << "nobody was passed over";
}

}  // namespace
}  // namespace berth
