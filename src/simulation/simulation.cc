// Implementation of simulation.h.
#include "berth/simulation.h"

#include <algorithm>
#include <utility>

namespace berth {

absl::StatusOr<std::unique_ptr<Simulation>> Simulation::Create(SimulationOptions options) {
  std::unique_ptr<Simulation> simulation(new Simulation(options.start));
  for (Object& object : options.objects) simulation->cluster_.Set(std::move(object));
  absl::StatusOr<std::unique_ptr<Scheduler>> scheduler =
      Scheduler::Create({.configuration = std::move(options.configuration),
                         .registry = options.registry,
                         .cluster = &simulation->cluster_,
                         .clock = &simulation->clock_,
                         .executor = &simulation->executor_,
                         .seed = options.seed});
  if (!scheduler.ok()) return scheduler.status();
  simulation->scheduler_ = *std::move(scheduler);
  return simulation;
}

Simulation::~Simulation() = default;

void Simulation::RunUntilIdle() { scheduler_->RunUntilIdle(); }

void Simulation::AdvanceTo(absl::Time time) {
  scheduler_->RunUntilIdle();
  while (true) {
    const absl::Time due = std::min(scheduler_->NextDue(), cluster_.NextDue());
    if (due > time) break;
    clock_.AdvanceTo(due);
    cluster_.AdvanceTo(clock_.Now());
    scheduler_->RunUntilIdle();
  }
  clock_.AdvanceTo(time);
  cluster_.AdvanceTo(time);
  scheduler_->RunUntilIdle();
}

void Simulation::RunUntilQuiet(absl::Duration patience) {
  scheduler_->RunUntilIdle();
  int64_t progress = Progress();
  absl::Time last_progress = clock_.Now();
  while (true) {
    const absl::Time due = std::min(scheduler_->NextRetry(), cluster_.NextDue());
    if (due == absl::InfiniteFuture()) return;
    if (cluster_.NextDue() == absl::InfiniteFuture() && due - last_progress > patience) return;
    clock_.AdvanceTo(due);
    cluster_.AdvanceTo(clock_.Now());
    scheduler_->RunUntilIdle();
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
