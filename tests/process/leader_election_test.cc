// SPDX-License-Identifier: Apache-2.0
// Leader election on a simulated clock, over a model of the API server's Lease.
#include "process/leader_election.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using Work = std::function<void()>;

// Real time, and what happens in it.
class World {
 public:
  absl::Time now() const { return now_; }
  void At(absl::Time time, Work work) {
    events_.emplace(std::make_pair(std::max(time, now_), ++count_), std::move(work));
  }
  void After(absl::Duration wait, Work work) { At(now_ + wait, std::move(work)); }
  // Calls `check` after each event.
  void RunFor(
      absl::Duration duration, const Work& check = [] {}) {
    const absl::Time end = now_ + duration;
    while (!events_.empty() && events_.begin()->first.first <= end) {
      auto event = events_.extract(events_.begin());
      now_ = event.key().first;
      event.mapped()();
      check();
    }
    now_ = end;
    check();
  }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  uint64_t count_ = 0;
  std::map<std::pair<absl::Time, uint64_t>, Work> events_;
};

// The Lease as the API server has it.
struct LeaseServer {
  std::optional<LeaseRecord> lease;
  int version = 0;
  bool is_down = false;
  std::vector<std::string> holders;  // one after the other

  absl::Status Write(const LeaseRecord& record, bool create, int over) {
    if (create && lease.has_value()) return absl::AlreadyExistsError("there is one");
    if (!create && !lease.has_value()) return absl::NotFoundError("there is none");
    if (!create && over != version) return absl::AbortedError("it was changed");
    if (!lease.has_value() || lease->holder != record.holder) holders.push_back(record.holder);
    lease = record;
    ++version;
    return absl::OkStatus();
  }
};

// How bad the network between a replica and the server is.
struct Network {
  absl::Duration most_delay = absl::Milliseconds(20);  // each way
  double lost_requests = 0;
  double lost_answers = 0;
};

// A process that takes part, with its clocks and its way to the server.
class Replica final : public LeaseLock {
 public:
  Replica(World& world, LeaseServer& server, LeaderElectionConfiguration times,
          std::string identity, uint64_t seed)
      : world_(world),
        server_(server),
        timeout_(times.renew_deadline / 2),
        random_(seed),
        elector({.configuration = std::move(times),
                 .name = "kube-system/kube-scheduler",
                 .identity = std::move(identity),
                 .seed = seed,
                 .on_started = [this] { ++started; },
                 .on_lost = [this] { ++lost; }},
                *this, Quiet()) {}

  void Read(std::function<void(absl::StatusOr<LeaseRecord>)> answer) override {
    Ask<absl::StatusOr<LeaseRecord>>(
        [this](int& version) -> absl::StatusOr<LeaseRecord> {
          if (!server_.lease.has_value()) return absl::NotFoundError("there is none");
          version = server_.version;
          return *server_.lease;
        },
        std::move(answer));
  }
  void Create(const LeaseRecord& record, std::function<void(absl::Status)> answer) override {
    Send(record, true, std::move(answer));
  }
  void Update(const LeaseRecord& record, std::function<void(absl::Status)> answer) override {
    Send(record, false, std::move(answer));
  }
  void RecordEvent(const std::string& text) override { events.push_back(text); }
  absl::Time Now() const override { return world_.now() + uptime_offset; }
  absl::Time Date() const override { return world_.now() + date_offset; }
  void RunAt(absl::Time time, Work work) override {
    world_.At(time - uptime_offset, [this, work = std::move(work)] { Do(work); });
  }

  // As with SIGSTOP: nothing of it runs meanwhile.
  void Pause(absl::Duration duration) {
    is_paused_ = true;
    world_.After(duration, [this] {
      is_paused_ = false;
      while (!put_off_.empty() && !is_paused_) {
        const Work work = std::move(put_off_.front());
        put_off_.pop_front();
        work();
      }
    });
  }
  void Kill() {
    is_dead_ = true;
    elector.Abandon();
  }
  // Whether it may do anything now.
  bool Leads() const { return !is_dead_ && elector.Leads(); }
  bool is_over() const { return is_dead_ || lost > 0; }

 private:
  World& world_;
  LeaseServer& server_;
  const absl::Duration timeout_;
  std::mt19937_64 random_;
  int version_ = 0;
  bool is_paused_ = false;
  bool is_dead_ = false;
  std::deque<Work> put_off_;

 public:
  Network network;
  absl::Duration uptime_offset = absl::Hours(5);
  absl::Duration date_offset;
  int started = 0;
  int lost = 0;
  std::vector<std::string> events;
  LeaderElector elector;  // last: the others are its lock

 private:
  static Log& Quiet() {
    static Log& log = *new Log({.verbosity = -1, .file = std::fopen("/dev/null", "w")});
    return log;
  }

  void Do(const Work& work) {
    if (is_dead_) return;
    if (is_paused_) {
      put_off_.push_back(work);
    } else {
      work();
    }
  }
  bool Chance(double of) { return std::uniform_real_distribution<double>(0, 1)(random_) < of; }
  absl::Duration Delay() {
    return network.most_delay * std::uniform_real_distribution<double>(0, 1)(random_);
  }

  void Send(const LeaseRecord& record, bool create, std::function<void(absl::Status)> answer) {
    const int over = version_;
    Ask<absl::Status>(
        [this, record, create, over](int& version) {
          const absl::Status status = server_.Write(record, create, over);
          if (status.ok()) version = server_.version;
          return status;
        },
        std::move(answer));
  }

  // A request may get lost, or its answer, or be late: done though nobody believes it any more.
  template <class Answer>
  void Ask(std::function<Answer(int& version)> serve, std::function<void(Answer)> answer) {
    auto is_answered = std::make_shared<bool>(false);
    const auto tell = [this, is_answered, answer](Answer result, std::optional<int> version) {
      Do([this, is_answered, answer, result = std::move(result), version] {
        if (std::exchange(*is_answered, true)) return;
        if (version.has_value() && *version > 0) version_ = *version;
        answer(result);
      });
    };
    world_.After(timeout_, [tell] {
      tell(absl::DeadlineExceededError("no answer; it may have happened"), std::nullopt);
    });
    if (Chance(network.lost_requests)) return;
    world_.After(Delay(), [this, tell, serve = std::move(serve)] {
      if (server_.is_down) return;
      int version = 0;
      Answer result = serve(version);
      if (Chance(network.lost_answers)) return;
      world_.After(Delay(), [tell, result = std::move(result), version] { tell(result, version); });
    });
  }
};

class LeaderElectionTest : public ::testing::Test {
 protected:
  Replica& Make(const std::string& identity) {
    replicas_.push_back(
        std::make_unique<Replica>(world_, server_, times_, identity, ++replicas_started_));
    return *replicas_.back();
  }
  Replica& Start(const std::string& identity) {
    Replica& replica = Make(identity);
    replica.elector.Start();
    return replica;
  }
  void RunFor(absl::Duration duration) {
    world_.RunFor(duration, [this] {
      int leaders = 0;
      for (const auto& replica : replicas_) leaders += replica->Leads();
      EXPECT_LE(leaders, 1);
    });
  }

  World world_;
  LeaseServer server_;
  LeaderElectionConfiguration times_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  uint64_t replicas_started_ = 0;
};

TEST_F(LeaderElectionTest, TheFirstMakesTheLeaseAndRenewsIt) {
  Replica& a = Start("a");
  RunFor(absl::Seconds(1));
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(a.started, 1);
  EXPECT_THAT(a.events, ::testing::ElementsAre("became leader"));
  const LeaseRecord first = *server_.lease;
  EXPECT_EQ(first.holder, "a");
  EXPECT_EQ(first.duration_seconds, 15);
  EXPECT_EQ(first.transitions, 0);
  EXPECT_EQ(first.acquired, first.renewed);
  RunFor(absl::Minutes(1));
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(server_.lease->acquired, first.acquired);
  EXPECT_GT(server_.lease->renewed, first.renewed + absl::Seconds(50));
  EXPECT_EQ(server_.lease->transitions, 0);
}

TEST_F(LeaderElectionTest, AStandbyTakesOverFromOneThatDied) {
  Replica& a = Start("a");
  RunFor(absl::Seconds(3));
  Replica& b = Start("b");
  RunFor(absl::Minutes(1));
  EXPECT_FALSE(b.Leads());
  a.Kill();
  RunFor(absl::Seconds(10));
  EXPECT_FALSE(b.Leads()) << "the lease is not over";
  RunFor(absl::Seconds(15 + 5 - 10));
  EXPECT_TRUE(b.Leads());
  EXPECT_EQ(server_.lease->transitions, 1);
}

TEST_F(LeaderElectionTest, ANumberOfTransitionsThatCannotGrowStartsAgain) {
  for (const int64_t number :
       {std::numeric_limits<int64_t>::max(), int64_t{2147483647}, int64_t{-5}}) {
    server_.lease = LeaseRecord{.holder = "", .duration_seconds = 1, .transitions = number};
    Replica& a = Start("a");
    RunFor(absl::Seconds(3));
    EXPECT_EQ(server_.lease->transitions, 1);
    a.Kill();
  }
}

TEST_F(LeaderElectionTest, ALeaseThatIsReleasedIsTakenAtOnce) {
  Replica& a = Start("a");
  RunFor(absl::Seconds(3));
  Replica& b = Start("b");
  RunFor(absl::Seconds(30));
  bool released = false;
  a.elector.Release([&] { released = true; });
  EXPECT_FALSE(a.Leads()) << "before it is given to another";
  RunFor(absl::Seconds(1));
  EXPECT_TRUE(released);
  EXPECT_EQ(a.lost, 0);
  RunFor(absl::Seconds(5));
  EXPECT_TRUE(b.Leads());
  EXPECT_THAT(server_.holders, ::testing::ElementsAre("a", "", "b"));
}

TEST_F(LeaderElectionTest, WhatIsReleasedWhileItIsWonIsGivenBack) {
  Replica& a = Start("a");
  bool released = false;
  a.elector.Release([&] { released = true; });
  RunFor(absl::Seconds(20));
  EXPECT_TRUE(released);
  EXPECT_EQ(a.started, 0);
  if (server_.lease.has_value()) {
    EXPECT_EQ(server_.lease->holder, "");
  }
}

TEST_F(LeaderElectionTest, StopsToLeadAtTheRenewDeadline) {
  Replica& a = Start("a");
  RunFor(absl::Seconds(60));
  const absl::Time renewed = server_.lease->renewed;
  server_.is_down = true;
  while (a.Leads()) RunFor(absl::Milliseconds(10));
  EXPECT_EQ(a.lost, 1);
  EXPECT_GE(world_.now() - renewed, absl::Seconds(9.9));
  EXPECT_LE(world_.now() - renewed, absl::Seconds(12 + 0.1));
  server_.is_down = false;
  RunFor(absl::Minutes(1));
  EXPECT_FALSE(a.Leads()) << "what is lost stays lost";
}

TEST_F(LeaderElectionTest, ALeaderOutlivesAShortOutage) {
  Replica& a = Start("a");
  RunFor(absl::Seconds(60));
  server_.is_down = true;
  RunFor(absl::Seconds(4));
  server_.is_down = false;
  RunFor(absl::Seconds(60));
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(a.lost, 0);
}

TEST_F(LeaderElectionTest, ALeaseThatWasStolenIsLostAtTheNextLook) {
  Replica& a = Start("a");
  RunFor(absl::Seconds(60));
  LeaseRecord stolen = *server_.lease;
  stolen.holder = "thief";
  ASSERT_TRUE(server_.Write(stolen, false, server_.version).ok());
  RunFor(absl::Seconds(2.5));  // retryPeriod and the answers; renewDeadline would be 10
  EXPECT_FALSE(a.Leads());
  EXPECT_EQ(a.lost, 1);
  EXPECT_EQ(server_.lease->holder, "thief");
}

TEST_F(LeaderElectionTest, AClockThatIsSetBackHidesNoRenewal) {
  Replica& a = Start("a");
  RunFor(absl::Seconds(3));
  Start("b");
  for (int i = 0; i < 20; ++i) {
    a.date_offset -= absl::Seconds(2);  // as fast as it goes: by its date no time passes
    RunFor(absl::Seconds(2));
  }
  EXPECT_TRUE(a.Leads());
}

TEST_F(LeaderElectionTest, APartOfASecondIsRoundedUpForOthers) {
  times_.lease_duration = absl::Milliseconds(2900);
  times_.renew_deadline = absl::Milliseconds(2500);
  times_.retry_period = absl::Milliseconds(500);
  Start("a");
  RunFor(absl::Seconds(1));
  EXPECT_EQ(server_.lease->duration_seconds, 3);
}

TEST_F(LeaderElectionTest, IsUnhealthyOnlyIfItShouldHaveStoppedLongAgo) {
  Replica& a = Start("a");
  EXPECT_TRUE(a.elector.IsHealthy(absl::ZeroDuration()));
  RunFor(absl::Seconds(60));
  EXPECT_TRUE(a.elector.IsHealthy(absl::Seconds(20)));
  a.Pause(absl::Minutes(2));
  RunFor(absl::Seconds(30));
  EXPECT_TRUE(a.elector.IsHealthy(absl::Seconds(20)));
  RunFor(absl::Seconds(30));
  EXPECT_FALSE(a.elector.IsHealthy(absl::Seconds(20)));
}

// Whatever happens to replicas, the network, clocks and the server: never two at once, and soon one
// when all is well again. BERTH_SEED=n repeats a run.
TEST_F(LeaderElectionTest, NeverTwoAtOnce) {
  const char* const given = std::getenv("BERTH_SEED");
  uint64_t first = 1;
  const bool is_given = given != nullptr && absl::SimpleAtoi(given, &first);
  for (uint64_t seed = first; seed < first + (is_given ? 1 : 1000) && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    std::mt19937_64 random(seed);
    const auto below = [&random](int64_t end) {
      return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
    };
    world_ = World();
    server_ = LeaseServer();
    replicas_.clear();
    replicas_started_ = 0;
    // Down to the least room that there may be.
    times_.retry_period = absl::Milliseconds(100 + below(3000));
    times_.renew_deadline = times_.retry_period * 1.3 + absl::Milliseconds(below(8000));
    times_.lease_duration = times_.renew_deadline + absl::Milliseconds(1 + below(5000));
    const int64_t count = 2 + below(2);
    const auto start = [&] {
      Replica& replica = Make(absl::StrCat("r", replicas_started_));
      replica.uptime_offset = absl::Seconds(below(100000));
      replica.date_offset = absl::Seconds(below(100) - 50);
      replica.network.most_delay = absl::Milliseconds(1 + below(3000));
      replica.network.lost_requests = static_cast<double>(below(30)) / 100;
      replica.network.lost_answers = static_cast<double>(below(30)) / 100;
      replica.elector.Start();
    };
    for (int64_t i = 0; i < count; ++i) start();
    int wins = 0;
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      RunFor(absl::Milliseconds(below(8000)));
      Replica& replica =
          *replicas_[static_cast<size_t>(below(static_cast<int64_t>(replicas_.size())))];
      switch (below(9)) {
        case 0:
          replica.Kill();
          break;
        case 1:
          replica.Pause(absl::Milliseconds(below(30000)));
          break;
        case 2:
          replica.date_offset = absl::Seconds(below(100) - 50);
          break;
        case 3:
          server_.is_down = !server_.is_down;
          break;
        case 4:
          if (!replica.is_over()) {
            replica.elector.Release([&replica] { replica.Kill(); });
          }
          break;
        case 5:
          if (server_.lease.has_value() && below(4) == 0) {
            server_.lease = std::nullopt;  // an operator deletes it
            // The one that led is not told before it looks: that is the operator's doing.
            for (auto& one : replicas_) one->Kill();
          }
          break;
        default:
          break;
      }
      int64_t alive = 0;
      for (const auto& one : replicas_) alive += !one->is_over();
      for (; alive < count; ++alive) start();
    }
    server_.is_down = false;
    for (auto& one : replicas_) one->network = Network();
    RunFor(absl::Seconds(30) + 4 * times_.lease_duration);
    int64_t alive = 0, leaders = 0;
    for (const auto& one : replicas_) {
      alive += !one->is_over();
      leaders += one->Leads();
      wins += one->started;
    }
    EXPECT_EQ(leaders, alive > 0 ? 1 : 0);
    EXPECT_GT(wins, 0);
  }
}

}  // namespace
}  // namespace berth
