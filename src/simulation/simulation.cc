// Implementation of simulation.h.
#include "berth/simulation.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "berth/check.h"

namespace berth {
namespace {

// Where a clock that counts nanoseconds stops: what is due later never comes.
const absl::Time kEndOfTime = absl::FromUnixNanos(std::numeric_limits<int64_t>::max());

}  // namespace

absl::StatusOr<std::unique_ptr<Simulation>> Simulation::Create(SimulationOptions options) {
  std::vector<Object> objects = std::exchange(options.objects, {});
  std::unique_ptr<Simulation> simulation(new Simulation(options));
  for (Object& object : objects) simulation->cluster_.Set(std::move(object));
  simulation->cluster_.RunDisruptionController();
  absl::Status started = simulation->Start();
  if (!started.ok()) return started;
  return simulation;
}

absl::Status Simulation::Start() {
  absl::StatusOr<std::unique_ptr<Scheduler>> scheduler =
      Scheduler::Create({.configuration = options_.configuration,
                         .registry = options_.registry,
                         .cluster = &cluster_,
                         .clock = &clock_,
                         .executor = &executor_,
                         .seed = options_.seed,
                         .remember_verdicts = options_.remember_verdicts,
                         .rows_at_once = options_.rows_at_once,
                         .steps_at_once = options_.steps_at_once});
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

void Simulation::RunUntilIdle() { scheduler_->RunUntilIdle(); }

void Simulation::Stop() {
  stopped_ = true;
  scheduler_->Stop();
}

absl::Time Simulation::NextOutside() const {
  const absl::Time due = std::min(cluster_.NextDue(), executor_.NextDue());
  return due < kEndOfTime ? due : absl::InfiniteFuture();
}

void Simulation::DoDue(absl::Time due) {
  clock_.AdvanceTo(due);
  cluster_.AdvanceTo(clock_.Now());
  executor_.RunDue();
  scheduler_->RunUntilIdle();
}

void Simulation::AdvanceTo(absl::Time time) {
  scheduler_->RunUntilIdle();
  while (!stopped_) {
    const absl::Time due = std::min(scheduler_->NextDue(), NextOutside());
    if (due > time) break;
    DoDue(due);
  }
  if (!stopped_) DoDue(time);
}

void Simulation::RunUntilQuiet(absl::Duration patience) {
  scheduler_->RunUntilIdle();
  int64_t progress = Progress();
  absl::Time last_progress = clock_.Now();
  while (!stopped_) {
    const absl::Time outside = NextOutside();
    const absl::Time due = std::min(scheduler_->NextRetry(), outside);
    if (due == absl::InfiniteFuture()) return;
    if (outside == absl::InfiniteFuture() && due - last_progress > patience) return;
    DoDue(due);
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
