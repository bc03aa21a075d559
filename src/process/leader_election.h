// SPDX-License-Identifier: Apache-2.0
// Which of several replicas works: the one whose name is in a Lease that it renews. As client-go
// v1.35 tools/leaderelection, with which it shares Leases.
#ifndef BERTH_SRC_PROCESS_LEADER_ELECTION_H_
#define BERTH_SRC_PROCESS_LEADER_ELECTION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/configuration.h"
#include "process/log.h"

namespace berth {

// What a Lease says.
struct LeaseRecord {
  std::string holder;  // empty: released
  int64_t duration_seconds = 0;
  absl::Time acquired, renewed;  // by the holder's clock, in microseconds; for people
  int64_t transitions = 0;

  friend bool operator==(const LeaseRecord& a, const LeaseRecord& b) {
    return a.holder == b.holder && a.duration_seconds == b.duration_seconds &&
           a.acquired == b.acquired && a.renewed == b.renewed && a.transitions == b.transitions;
  }
};

// The Lease, and the thread on which its answers come. One request at a time; each is answered
// once, within the time that its maker grants.
class LeaseLock {
 public:
  virtual ~LeaseLock() = default;
  // NotFound if there is none.
  virtual void Read(std::function<void(absl::StatusOr<LeaseRecord>)> answer) = 0;
  virtual void Create(const LeaseRecord& record, std::function<void(absl::Status)> answer) = 0;
  // Over what was read, created or written last: Aborted if it was changed since.
  virtual void Update(const LeaseRecord& record, std::function<void(absl::Status)> answer) = 0;
  // "became leader", for people.
  virtual void RecordEvent(const std::string& text) = 0;

  // Time that no one sets. Threads: any.
  virtual absl::Time Now() const = 0;
  // The date, for people.
  virtual absl::Time Date() const = 0;
  // Runs `work` on the thread of the answers.
  virtual void RunAt(absl::Time time, std::function<void()> work) = 0;
};

// Leads from when the Lease has its name until renewDeadline has passed since it began to write the
// last renewal that succeeded. Others wait leaseDuration from when they have seen that renewal,
// which is later and longer: at no time do two lead. No clock of another machine counts.
//
// Once it has lost the Lease it stays so: the process ends.
//
// Threads: Leads() and IsHealthy() any; everything else that of the lock.
class LeaderElector {
 public:
  struct Options {
    LeaderElectionConfiguration configuration;  // a valid one
    std::string name;                           // of the Lease, for messages
    std::string identity;
    uint64_t seed = 0;
    std::function<void()> on_started;  // to lead
    std::function<void()> on_lost;     // the Lease, after that
    std::function<void(const std::string& holder)> on_new_holder = nullptr;
  };
  // Both outlive it.
  LeaderElector(Options options, LeaseLock& lock, Log& log);

  // Competes for the Lease from now on.
  void Start();
  // Stops to lead, or to compete, at once, and gives the Lease back if it has it. `done` is called
  // once, when that has been written or has failed.
  void Release(std::function<void()> done);
  // The lock goes: its answers are not waited for.
  void Abandon() { state_ = State::kEnded; }

  bool Leads() const;
  // False if it should have stopped to lead long ago, by `tolerance`, and has not. For a health
  // check.
  bool IsHealthy(absl::Duration tolerance) const;

 private:
  enum class State { kCompeting, kLeading, kReleasing, kEnded };

  void Try();
  void Renew();
  void Compete();
  enum class WriteAs { kNew, kUpdate };
  void Write(const LeaseRecord& record, WriteAs as);
  void TryAgain();
  void Won(absl::Time began);
  void Lost(absl::string_view why);
  void CheckDeadline();
  void GiveBack();

  LeaseRecord OwnRecord() const;
  bool IsHolder() const { return observed_.holder == options_.identity; }
  bool IsValid(absl::Time now) const {
    return observed_at_ + absl::Seconds(observed_.duration_seconds) > now;
  }
  void Observe(const LeaseRecord& record);

  const Options options_;
  LeaseLock& lock_;
  Log& log_;
  std::mt19937_64 random_;
  State state_ = State::kCompeting;
  bool trying_ = false;
  absl::Time try_began_;
  LeaseRecord observed_;
  absl::Time observed_at_ = absl::InfinitePast();
  std::string reported_holder_;
  std::function<void()> released_;
  std::atomic<int64_t> leads_until_ns_;  // of the lock's Now()
  std::atomic<bool> leads_ = false;      // it was told so, and not yet that it is over
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_LEADER_ELECTION_H_
