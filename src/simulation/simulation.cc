// SPDX-License-Identifier: Apache-2.0
// Implementation of simulation.h.
#include "berth/simulation.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "simulation/simulated_extender.h"

namespace berth {
namespace {

// Where a clock that counts nanoseconds stops: what is due later never comes.
const absl::Time kEndOfTime = absl::FromUnixNanos(std::numeric_limits<int64_t>::max());

absl::Time IfItComes(absl::Time due) { return due < kEndOfTime ? due : absl::InfiniteFuture(); }

}  // namespace

absl::StatusOr<std::unique_ptr<Simulation>> Simulation::Create(SimulationOptions options) {
  std::vector<Object> objects = std::exchange(options.objects, {});
  std::unique_ptr<Simulation> simulation(new Simulation(options));
  simulation->cluster_.Set(std::move(objects));
  simulation->cluster_.RunDisruptionController();
  simulation->cluster_.RunVolumeController();
  simulation->cluster_.RunResourceClaimController();
  absl::Status started = simulation->Start();
  if (!started.ok()) return started;
  return simulation;
}

absl::Status Simulation::Start() {
  static const RealClock& real_clock = *new RealClock();
  ExtenderList extenders;
  for (const std::shared_ptr<SchedulerExtender>& extender : options_.extenders) {
    if (extender == nullptr) return absl::InvalidArgumentError("an extender is null");
    extenders.push_back(NewSimulatedExtender(extender, cluster_, real_clock));
  }
  absl::StatusOr<std::unique_ptr<Scheduler>> scheduler =
      Scheduler::Create({.configuration = options_.configuration,
                         .registry = options_.registry,
                         .cluster = &cluster_,
                         .clock = &clock_,
                         .executor = &executor_,
                         .extenders = std::move(extenders),
                         .seed = options_.seed,
                         .incremental = options_.incremental,
                         .turns_for_room = options_.turns_for_room,
                         .filter_block_size = options_.filter_block_size,
                         .work_budget_steps = options_.work_budget_steps});
  if (!scheduler.ok()) return scheduler.status();
  scheduler_ = *std::move(scheduler);
  return absl::OkStatus();
}

void Simulation::Restart() {
  executor_.WakeAll();
  scheduler_.reset();
  executor_.LetSleep();
  const absl::Status started = Start();
  BERTH_CHECK(started.ok()) << started.message();  // it could be started before
}

// Bindings that still sleep use the scheduler.
Simulation::~Simulation() { executor_.WakeAll(); }

void Simulation::RunUntilIdle() {
  stall_.max_tries = 0;
  RunScheduler();
}

void Simulation::Stop() {
  stopped_ = true;
  scheduler_->Stop();
}

absl::Time Simulation::NextOutside() const {
  return IfItComes(std::min(cluster_.NextDue(), executor_.NextDue()));
}

void Simulation::DoDue(absl::Time due) {
  clock_.AdvanceTo(due);
  cluster_.AdvanceTo(clock_.Now());
  executor_.RunDue();
  RunScheduler();
}

void Simulation::WaitToward(absl::Time due) {
  constexpr absl::Duration kSlice = absl::Milliseconds(50);
  const RealClock real;
  const absl::Time begin = real.Now();
  scheduler_->Wait(std::min(due, clock_.Now() + kSlice));
  DoDue(std::min(due, clock_.Now() + (real.Now() - begin)));
  if (on_wait_) on_wait_();
}

void Simulation::RunScheduler() {
  constexpr int64_t kPortion = 4096;
  while (scheduler_->RunSteps(kPortion)) {
    if (IsStalled()) return;
  }
}

// --- Whether it would go on for ever ------------------------------------------------------------

namespace {

// So often may something be tried within a second of simulated time without any pod being bound or
// evicted. It is much: pods that wait are tried again in the second in which their backoff ends,
// and in between when a place is given back.
constexpr int64_t kMostTries = 20'000;
constexpr int64_t kMostTriesForAPod = 1'000;  // that is not bound

}  // namespace

// Gives up if plugins ask without end for pods to be tried, or for timers.
bool Simulation::IsStalled() {
  const SchedulerCounters counters = scheduler_->counters();
  const int64_t progress = counters.bound + counters.evictions;
  const int64_t tries = counters.attempts + counters.deferred_calls;
  if (stall_.max_tries == 0 || progress != stall_.progress ||
      clock_.Now() - stall_.since >= absl::Seconds(1)) {
    stall_ = {progress, tries, clock_.Now(), std::max(stall_.max_tries, kMostTries)};
    return false;
  }
  if (tries - stall_.tries <= stall_.max_tries) return false;
  stall_.max_tries =
      kMostTries + kMostTriesForAPod * static_cast<int64_t>(scheduler_->Unbound().size());
  if (tries - stall_.tries <= stall_.max_tries) return false;
  gave_up_ = DescribeBusyness(tries - stall_.tries);
  Stop();
  return true;
}

std::string Simulation::DescribeBusyness(int64_t times) const {
  std::string text = absl::StrCat(
      "gave up: plugins keep the scheduler busy without end: ", times,
      " attempts, timers and posted calls within a second, and no pod was bound or evicted");
  const std::vector<UnboundPod> unbound = scheduler_->Unbound();
  for (const UnboundPod& pod : unbound) {
    if (pod.plugin.empty()) continue;
    absl::StrAppend(&text, "; pod ", pod.pod, ": ", pod.plugin, ": ", pod.message);
    break;
  }
  return text;
}

void Simulation::AdvanceTo(absl::Time time) {
  RunUntilIdle();
  while (!stopped_) {
    const absl::Time due = std::min(scheduler_->NextDue(), NextOutside());
    if (scheduler_->AwaitsOutside() && clock_.Now() < std::min(due, time)) {
      WaitToward(std::min(due, time));
      continue;
    }
    if (due > time) break;
    DoDue(due);
    if (IsStalled()) return;
  }
  if (!stopped_) DoDue(time);
}

void Simulation::RunUntilQuiet(absl::Duration patience) {
  RunUntilIdle();
  int64_t progress = Progress();
  absl::Time last_progress = clock_.Now();
  while (!stopped_) {
    if (IsStalled()) return;
    const absl::Time outside =
        std::min(NextOutside(), IfItComes(scheduler_->NextTimer(last_progress + patience)));
    const absl::Time due = std::min(scheduler_->NextRetry(), outside);
    if (due == absl::InfiniteFuture()) return;
    if (outside == absl::InfiniteFuture() && due - last_progress > patience) return;
    if (scheduler_->AwaitsOutside() && clock_.Now() < due) {
      WaitToward(due);
    } else {
      DoDue(due);
    }
    if (Progress() != progress) {
      progress = Progress();
      last_progress = clock_.Now();
    }
  }
}

int64_t Simulation::Progress() const {
  const SchedulerCounters counters = scheduler_->counters();
  return counters.bound + counters.evictions;
}

}  // namespace berth
