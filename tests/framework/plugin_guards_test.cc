// SPDX-License-Identifier: Apache-2.0
// A QueueOrder that throws or answers nonsense: the queue gets an answer that it can use, and the
// fault is counted.
#include "framework/plugin_guards.h"

#include <memory>
#include <stdexcept>

#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

[[noreturn]] void Boom() { throw std::runtime_error("boom"); }

struct Misbehaving {
  bool throws = false;
  int line = 0;       // of every pod
  int next = 0;       // of every contest
  bool none = false;  // NewContest() makes none
  int asked = 0;      // contests
};

class Contest final : public QueueContest {
 public:
  explicit Contest(Misbehaving& does) : does_(does) {}
  void SetHead(int, const QueuedPodInfo*) override {
    ++does_.asked;
    if (does_.throws) Boom();
  }
  int Next() override {
    ++does_.asked;
    if (does_.throws) throw 7;
    return does_.next;
  }

 private:
  Misbehaving& does_;
};

class Order : public QueueOrder {
 public:
  uint64_t LinesVersion() override { return Checked(uint64_t{5}); }
  int LineOf(const PodInfo&) override { return Checked(does.line); }
  int Compare(int, const QueuedPodInfo&, const QueuedPodInfo&) override { return Checked(-1); }
  bool IsStrict(int) override { return Checked(true); }
  std::unique_ptr<QueueContest> NewContest() override {
    if (Checked(does.none)) return nullptr;
    return std::make_unique<Contest>(does);
  }

  Misbehaving does;

 private:
  template <class T>
  T Checked(T answer) {
    if (does.throws) Boom();
    return answer;
  }
};

class QueueOrderGuard : public ::testing::Test {
 protected:
  FaultLog log_;
  Order order_;
  Misbehaving& does_ = order_.does;
  std::unique_ptr<QueueOrder> guard_ = Guard(order_, {Symbol::Intern("Bad"), &log_});
  std::shared_ptr<const PodInfo> pod_ = MakePod().Obj();
  QueuedPodInfo queued_{.pod = pod_};
};

TEST_F(QueueOrderGuard, PassesOnWhatIsRight) {
  does_.line = 3;
  EXPECT_EQ(guard_->LinesVersion(), 5u);
  EXPECT_EQ(guard_->LineOf(*pod_), 3);
  EXPECT_EQ(guard_->Compare(3, queued_, queued_), -1);
  EXPECT_TRUE(guard_->IsStrict(3));
  const std::unique_ptr<QueueContest> contest = guard_->NewContest();
  does_.next = -1;
  EXPECT_EQ(contest->Next(), -1);
  contest->SetHead(3, &queued_);
  contest->SetHead(1, &queued_);
  does_.next = 3;
  EXPECT_EQ(contest->Next(), 3);
  EXPECT_EQ(log_.faults(), 0);
}

TEST_F(QueueOrderGuard, AThrowLeavesAnAnswerAndIsCounted) {
  EXPECT_EQ(guard_->LinesVersion(), 5u);
  does_.throws = true;
  EXPECT_EQ(guard_->LinesVersion(), 5u) << "as before";
  EXPECT_EQ(guard_->LineOf(*pod_), 0);
  EXPECT_EQ(guard_->Compare(0, queued_, queued_), 0);
  EXPECT_FALSE(guard_->IsStrict(0));
  EXPECT_NE(guard_->NewContest(), nullptr);
  EXPECT_EQ(log_.faults(), 5);
  const FaultLog::ByPlugin faults = log_.by_plugin();
  for (const char* point : {"LinesVersion", "LineOf", "Compare", "IsStrict", "NewContest"}) {
    EXPECT_EQ(faults.at({"Bad", point}).first_fault, "threw: boom") << point;
  }
}

TEST_F(QueueOrderGuard, ALineThatIsNoneIsTheFirst) {
  for (const int line : {-1, 1 << 30}) {
    does_.line = line;
    EXPECT_EQ(guard_->LineOf(*pod_), 0);
  }
  EXPECT_EQ(log_.by_plugin().at({"Bad", "LineOf"}).first_fault, "returned -1");
  EXPECT_EQ(log_.faults(), 2);
}

TEST_F(QueueOrderGuard, AContestThatThrowsIsNotAskedAgain) {
  for (const bool in_next : {false, true}) {
    SCOPED_TRACE(in_next);
    does_.throws = false;
    const std::unique_ptr<QueueContest> contest = guard_->NewContest();
    contest->SetHead(4, &queued_);
    does_.throws = true;
    if (!in_next) contest->SetHead(2, &queued_);
    EXPECT_EQ(contest->Next(), in_next ? 4 : 2) << "the lowest line with a head";
    const int asked = does_.asked;
    does_.throws = false;
    contest->SetHead(2, nullptr);
    EXPECT_EQ(contest->Next(), 4);
    contest->SetHead(4, nullptr);
    EXPECT_EQ(contest->Next(), -1);
    EXPECT_EQ(does_.asked, asked);
  }
  EXPECT_EQ(log_.by_plugin().at({"Bad", "SetHead"}).first_fault, "threw: boom");
  EXPECT_EQ(log_.by_plugin().at({"Bad", "Next"}).first_fault, "threw: not a std::exception");
  EXPECT_EQ(log_.faults(), 2);
}

TEST_F(QueueOrderGuard, ALineWithoutAHeadIsNotNext) {
  const std::unique_ptr<QueueContest> contest = guard_->NewContest();
  contest->SetHead(1, &queued_);
  for (const int next : {-1, 0, 7}) {
    does_.next = next;
    EXPECT_EQ(contest->Next(), 1);
  }
  EXPECT_EQ(log_.faults(), 3);
  does_.next = 1;
  EXPECT_EQ(contest->Next(), 1) << "it is asked all the same";
  EXPECT_EQ(log_.faults(), 3);
}

TEST_F(QueueOrderGuard, WithoutAContestLinesGoByTheirNumber) {
  does_.none = true;
  const std::unique_ptr<QueueContest> contest = guard_->NewContest();
  contest->SetHead(2, &queued_);
  contest->SetHead(1, &queued_);
  EXPECT_EQ(contest->Next(), 1);
  EXPECT_EQ(log_.faults(), 1);
}

struct FakeOrder : virtual FakeBase, Order {};

class QueueOrderOfAProfile : public FrameworkTest {};

TEST_F(QueueOrderOfAProfile, IsGuarded) {
  Add<FakeOrder, FakeFilter>("Bad");
  const auto framework = Build("multiPoint: Bad");
  QueueOrder* const order = framework->plugins().queue_order;
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(dynamic_cast<FakeOrder*>(order), nullptr);
  EXPECT_EQ(order->LinesVersion(), 5u);
}

}  // namespace
}  // namespace berth::testing
