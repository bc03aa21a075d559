// SPDX-License-Identifier: Apache-2.0
// A queue with lines, where a plugin decides whose turn it is: what of that depends on backoff, on
// strict lines and on what the plugin does wrong.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/queue/queue_fixture.h"

namespace berth {
namespace {

using testing::kNodeAdd;
using testing::Pod;
using testing::PodBuilder;

// A line by the label "line": l0, l1 ... The turn is that of the first of `ranking` with a head.
class Ranked final : public QueueOrder {
 public:
  uint64_t LinesVersion() override { return version; }
  int LineOf(const PodInfo& pod) override {
    const Symbol* name = pod.labels().Find("line");
    return name == nullptr ? 0 : name->view()[1] - '0';
  }
  int Compare(int, const QueuedPodInfo&, const QueuedPodInfo&) override { return 0; }
  bool IsStrict(int line) override { return strict.contains(line); }
  std::unique_ptr<QueueContest> NewContest() override { return std::make_unique<Contest>(*this); }

  uint64_t version = 1;
  std::vector<int> ranking = {0, 1, 2, 3};
  std::set<int> strict;

 private:
  class Contest final : public QueueContest {
   public:
    explicit Contest(const Ranked& order) : order_(order) {}
    void SetHead(int line, const QueuedPodInfo* head) override {
      if (head == nullptr) {
        heads_.erase(line);
      } else {
        heads_[line] = head;
      }
    }
    int Next() override {
      const auto next = std::find_if(order_.ranking.begin(), order_.ranking.end(),
                                     [&](int line) { return heads_.contains(line); });
      return next == order_.ranking.end() ? -1 : *next;
    }

   private:
    const Ranked& order_;
    std::map<int, const QueuedPodInfo*> heads_;
  };
};

class QueueLines : public testing::QueueTest {
 protected:
  QueueLines() {
    Register("Fit", EventResource::Node(), action::kAdd);
    options_.order = &order_;
    options_.max_backoff = absl::Minutes(1);
  }

  static PodBuilder In(int line, absl::string_view name, int32_t priority = 0) {
    return Pod(name, priority).Label("line", absl::StrCat("l", line));
  }
  // It was rejected, and an event says that it may fit now: it is in backoff.
  void AddInBackoff(const PodBuilder& pod) {
    Add(pod);
    ASSERT_EQ(Pop(), pod.Obj()->name());
    Reject({"Fit"});
    queue().MoveAllOnEvent(kNodeAdd, {});
    ASSERT_EQ(StateOf(pod.Obj()->name()), QueueState::kBackoff);
  }
  // The attempt of what was popped takes so long and fails; then an event that may help comes.
  void RejectAfter(absl::Duration duration) {
    clock_.Advance(duration);
    Reject({"Fit"});
    queue().MoveAllOnEvent(kNodeAdd, {});
  }

  Ranked order_;
};

TEST_F(QueueLines, ATurnDoesNotWaitForABackoff) {
  AddInBackoff(In(1, "behind"));
  AddInBackoff(In(0, "first"));
  Add(In(1, "active"));
  EXPECT_EQ(Pop(), "first") << "its line has nothing active, and it is its turn";
  RejectAfter(absl::ZeroDuration());
  order_.ranking = {1, 0};
  EXPECT_EQ(Pop(), "active") << "of a line, active ones first";
  EXPECT_EQ(Pop(), "behind");
  EXPECT_EQ(Pop(), "first");
  EXPECT_EQ(Pop(), "");
}

TEST_F(QueueLines, WhatNoEventMayHelpTakesNoTurn) {
  Add(In(0, "first"));
  ASSERT_EQ(Pop(), "first");
  Reject({"Fit"});
  Add(In(1, "active"));
  EXPECT_EQ(Pop(), "active");
}

TEST_F(QueueLines, TheBackoffOfAnErrorIsWaitedOut) {
  Add(In(0, "first"));
  ASSERT_EQ(Pop(), "first");
  FailWithError();
  Add(In(1, "active"));
  EXPECT_EQ(Pop(), "active");
  EXPECT_EQ(Pop(), "");
}

// An event each time, a line that always comes first, and jobs that never fit: the active ones of
// the other line have half of the time nevertheless.
TEST_F(QueueLines, EarlyAttemptsThatFailTakeAtMostHalfOfTheTime) {
  constexpr absl::Duration kFailing = absl::Milliseconds(30), kPlacing = absl::Milliseconds(2);
  for (int i = 0; i < 5; ++i) AddInBackoff(In(0, absl::StrCat("large-", i)));
  absl::Duration failing, placing;
  int next = 0;
  for (; next < 20; ++next) Add(In(1, absl::StrCat("small-", next)));
  for (int i = 0; i < 2000; ++i) {
    const std::string name = Pop();
    ASSERT_NE(name, "");
    if (name[0] == 'l') {
      failing += kFailing;
      RejectAfter(kFailing);
      continue;
    }
    placing += kPlacing;
    clock_.Advance(kPlacing);
    queue().Placed(popped_, Uid(name));
    queue().Done(popped_);
    index_.RemovePod(Uid(name));
    Add(In(1, absl::StrCat("small-", next++)));
    queue().MoveAllOnEvent(kNodeAdd, {});
  }
  EXPECT_GE(failing, absl::Seconds(1)) << "they had their turns";
  EXPECT_LE(failing, placing + EarlyAttempts::kMost + kFailing);
}

TEST_F(QueueLines, WithNothingActiveAllInBackoffAreTried) {
  AddInBackoff(In(0, "one"));
  Add(In(1, "active"));
  EXPECT_EQ(Pop(), "one");
  RejectAfter(absl::Seconds(1));
  EXPECT_EQ(Pop(), "active") << "one has taken its part of the time";
  EXPECT_EQ(Pop(), "one");
}

// A blocked line does not hide who is in backoff elsewhere.
TEST_F(QueueLines, AStrictLineWaitsBehindTheFirstThatFailed) {
  order_.strict = {0};
  Add(In(0, "failed", 5));
  ASSERT_EQ(Pop(), "failed");
  Reject({"Fit"});
  Add(In(0, "blocked", 1));
  EXPECT_EQ(Pop(), "");
  EXPECT_FALSE(queue().CanPop());
  EXPECT_EQ(queue().Report(Uid("blocked"))->behind, "default/failed");
  EXPECT_EQ(queue().Report(Uid("failed"))->behind, "");
  Add(In(0, "before", 9));
  EXPECT_EQ(queue().Report(Uid("before"))->behind, "");
  EXPECT_EQ(Pop(), "before");
  queue().MoveAllOnEvent(kNodeAdd, {});
  EXPECT_EQ(Pop(), "failed") << "out of its backoff, before the one that it blocks";
  queue().Placed(popped_, Uid("failed"));
  queue().Done(popped_);
  EXPECT_EQ(Pop(), "blocked");
}

// Though QueueSort has who was tried last behind the others.
TEST_F(QueueLines, AStrictLineKeepsTheOrderOfWhatCameAtOneInstant) {
  sort_.by_time = true;
  order_.strict = {0};
  for (const char* name : {"first", "second"}) Add(In(0, name, 1));
  for (int tries = 0; tries < 3; ++tries) {
    ASSERT_EQ(Pop(), "first");
    Reject({"Fit"});
    EXPECT_EQ(Pop(), "");
    EXPECT_EQ(queue().Report(Uid("second"))->behind, "default/first");
    clock_.Advance(absl::Seconds(30));
    queue().MoveAllOnEvent(kNodeAdd, {});
  }
  Add(In(0, "more important", 2));
  EXPECT_EQ(Pop(), "more important");
}

TEST_F(QueueLines, ABlockedPodIsToldTheGroupBeforeIt) {
  order_.strict = {0};
  SetMinMember("default/gang", 2);
  for (const char* name : {"g0", "g1"}) Add(In(0, name, 5).Label("group", "gang"));
  ASSERT_EQ(Pop(), "g0");
  Reject({"Fit"});
  Add(In(0, "earlier", 7));
  ASSERT_EQ(Pop(), "earlier");
  Reject({"Fit"});
  Add(In(0, "blocked", 1));
  Add(In(1, "elsewhere", 1));
  const auto behind = [&] { return queue().Report(Uid("blocked"))->behind; };
  EXPECT_EQ(behind(), "default/earlier") << "the first of them";
  EXPECT_EQ(queue().Report(Uid("elsewhere"))->behind, "");
  Delete("earlier");
  EXPECT_EQ(behind(), "default/gang");
  EXPECT_EQ(queue().Pending().size(), 4u);
  for (const char* name : {"g0", "g1"}) Delete(name);
  EXPECT_EQ(behind(), "");
}

TEST_F(QueueLines, WhenLinesChangeAllAreLinedUpAnew) {
  AddInBackoff(In(2, "backoff"));
  Add(In(1, "one"));
  Add(In(0, "zero"));
  order_.strict = {0};
  order_.ranking = {2, 1, 0};
  ++order_.version;
  EXPECT_EQ(Pop(), "backoff");
  EXPECT_EQ(Pop(), "one");
  EXPECT_EQ(Pop(), "zero");
  EXPECT_EQ(Pop(), "");
}

}  // namespace
}  // namespace berth
