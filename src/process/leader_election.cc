// SPDX-License-Identifier: Apache-2.0
// Implementation of leader_election.h.
#include "process/leader_election.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// client-go: a candidate waits up to this much longer than retryPeriod, so that several do not
// meet.
constexpr double kJitter = 1.2;
constexpr int64_t kMostTransitions = std::numeric_limits<int32_t>::max();

int64_t Nanos(absl::Time time) { return absl::ToUnixNanos(time); }

// Rounded up: a reader must not wait for less than it was meant.
int64_t WholeSeconds(absl::Duration duration) {
  return std::max<int64_t>(1, absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))));
}

absl::Time ToMicroseconds(absl::Time time) {
  return absl::FromUnixMicros(absl::ToUnixMicros(time));
}

}  // namespace

LeaderElector::LeaderElector(Options options, LeaseLock& lock, Log& log)
    : options_(std::move(options)),
      lock_(lock),
      log_(log),
      random_(options_.seed),
      leads_until_ns_(std::numeric_limits<int64_t>::min()) {}

bool LeaderElector::Leads() const { return Nanos(lock_.Now()) < leads_until_ns_; }

bool LeaderElector::IsHealthy(absl::Duration tolerance) const {
  const LeaderElectionConfiguration& times = options_.configuration;
  const absl::Time until = absl::FromUnixNanos(leads_until_ns_);
  return !leads_ || lock_.Now() <= until - times.renew_deadline + times.lease_duration + tolerance;
}

void LeaderElector::Start() {
  log_.Info("Attempting to acquire leader lease...", {{"lock", options_.name}});
  Try();
}

// --- One attempt ---------------------------------------------------------------------------------

void LeaderElector::Try() {
  if (state_ != State::kCompeting && state_ != State::kLeading) return;
  trying_ = true;
  try_began_ = lock_.Now();
  if (IsHolder() && IsValid(try_began_)) {
    Renew();
  } else {
    Compete();
  }
}

// The Lease cannot have changed, so it need not be read.
void LeaderElector::Renew() {
  const absl::Time began = lock_.Now();
  const LeaseRecord record = OwnRecord();
  lock_.Update(record, [this, began, record](const absl::Status& status) {
    if (status.ok()) {
      Observe(record);
      return Won(began);
    }
    log_.Error("Failed to update lease optimistically, falling back to slow path", status,
               {{"lock", options_.name}});
    Compete();
  });
}

void LeaderElector::Compete() {
  if (state_ == State::kEnded) return;
  lock_.Read([this](absl::StatusOr<LeaseRecord> read) {
    if (absl::IsNotFound(read.status())) {
      observed_ = {};
      return Write(OwnRecord(), WriteAs::kNew);
    }
    if (!read.ok()) {
      log_.Error("Error retrieving lease lock", read.status(), {{"lock", options_.name}});
      return TryAgain();
    }
    // An unchanged record counts from when it was seen first.
    if (!(*read == observed_)) Observe(*read);
    if (state_ == State::kLeading && !IsHolder()) {
      return Lost(absl::StrCat("the lease is held by \"", observed_.holder, "\""));
    }
    if (!observed_.holder.empty() && !IsHolder() && IsValid(try_began_)) {
      log_.Verbose(4, "Lease is held by and has not yet expired",
                   {{"lock", options_.name}, {"holder", observed_.holder}});
      return TryAgain();
    }
    Write(OwnRecord(), WriteAs::kUpdate);
  });
}

void LeaderElector::Write(const LeaseRecord& record, WriteAs as) {
  // What was begun before is given back, not won.
  if (state_ != State::kCompeting && state_ != State::kLeading) return TryAgain();
  const absl::Time began = lock_.Now();
  const auto answer = [this, began, record, as](const absl::Status& status) {
    if (status.ok()) {
      Observe(record);
      return Won(began);
    }
    log_.Error(
        as == WriteAs::kNew ? "Error initially creating lease lock" : "Failed to update lease",
        status, {{"lock", options_.name}});
    TryAgain();
  };
  if (as == WriteAs::kNew) {
    lock_.Create(record, answer);
  } else {
    lock_.Update(record, answer);
  }
}

// --- What comes of it ----------------------------------------------------------------------------

void LeaderElector::TryAgain() {
  trying_ = false;
  if (state_ == State::kReleasing) return GiveBack();
  if (state_ == State::kEnded) return;
  const absl::Duration period = options_.configuration.retry_period;
  if (state_ == State::kLeading) {  // at a steady pace
    lock_.RunAt(std::max(lock_.Now(), try_began_ + period), [this] { Try(); });
    return;
  }
  const double more = std::uniform_real_distribution<double>(0, kJitter)(random_);
  lock_.RunAt(lock_.Now() + period * (1 + more), [this] { Try(); });
}

void LeaderElector::Won(absl::Time began) {
  const absl::Time until = began + options_.configuration.renew_deadline;
  if (state_ == State::kReleasing || state_ == State::kEnded || lock_.Now() >= until) {
    return TryAgain();
  }
  trying_ = false;
  leads_until_ns_ = Nanos(until);
  lock_.RunAt(until, [this] { CheckDeadline(); });
  lock_.RunAt(lock_.Now() + options_.configuration.retry_period, [this] { Try(); });
  if (state_ == State::kLeading) {
    log_.Verbose(5, "Successfully renewed lease", {{"lock", options_.name}});
    return;
  }
  state_ = State::kLeading;
  leads_ = true;
  log_.Info("Successfully acquired lease", {{"lock", options_.name}});
  lock_.RecordEvent("became leader");
  options_.on_started();
}

void LeaderElector::CheckDeadline() {
  if (state_ == State::kLeading && !Leads()) Lost("it could not be renewed in time");
}

void LeaderElector::Lost(absl::string_view why) {
  state_ = State::kEnded;
  trying_ = false;
  leads_until_ns_ = std::numeric_limits<int64_t>::min();
  leads_ = false;
  log_.Info("Failed to renew lease", {{"lock", options_.name}, {"err", why}});
  options_.on_lost();
}

// --- The end -------------------------------------------------------------------------------------

void LeaderElector::Release(std::function<void()> done) {
  leads_until_ns_ = std::numeric_limits<int64_t>::min();
  leads_ = false;
  if (state_ == State::kEnded) return done();
  state_ = State::kReleasing;
  released_ = std::move(done);
  if (!trying_) GiveBack();  // else that is waited for, as it may win
}

void LeaderElector::GiveBack() {
  state_ = State::kEnded;
  const auto done = [this] { std::exchange(released_, nullptr)(); };
  if (!IsHolder()) return done();
  lock_.Read([this, done](absl::StatusOr<LeaseRecord> read) {
    if (!read.ok()) {
      log_.Error("error retrieving resource lock", read.status(), {{"lock", options_.name}});
      return done();
    }
    if (read->holder != options_.identity) return done();
    LeaseRecord record;
    record.duration_seconds = 1;
    record.acquired = record.renewed = ToMicroseconds(lock_.Date());
    record.transitions = read->transitions;
    lock_.Update(record, [this, done](const absl::Status& status) {
      if (!status.ok()) {
        log_.Error("Failed to release lease", status, {{"lock", options_.name}});
      }
      done();
    });
  });
}

// --- Records -------------------------------------------------------------------------------------

LeaseRecord LeaderElector::OwnRecord() const {
  LeaseRecord record;
  record.holder = options_.identity;
  record.duration_seconds = WholeSeconds(options_.configuration.lease_duration);
  record.acquired = record.renewed = ToMicroseconds(lock_.Date());
  record.transitions = observed_.transitions;
  if (IsHolder()) {
    record.acquired = observed_.acquired;
    // Others see that it was renewed by this: it differs, even if the clock is set back.
    record.renewed = std::max(record.renewed, observed_.renewed + absl::Microseconds(1));
  } else if (observed_.duration_seconds > 0) {  // there is a Lease, of another holder
    // Kubernetes' is an int32. A number that others have spoilt starts again.
    const bool can_grow = record.transitions >= 0 && record.transitions < kMostTransitions;
    record.transitions = can_grow ? record.transitions + 1 : 1;
  }
  return record;
}

void LeaderElector::Observe(const LeaseRecord& record) {
  observed_ = record;
  observed_at_ = lock_.Now();
  if (observed_.holder == reported_holder_) return;
  reported_holder_ = observed_.holder;
  if (options_.on_new_holder != nullptr) options_.on_new_holder(reported_holder_);
}

}  // namespace berth
