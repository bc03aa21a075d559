// SPDX-License-Identifier: Apache-2.0
// A whole scheduler on an in-memory cluster under simulated time: an hour of cluster life in
// milliseconds, the same every time.
#ifndef BERTH_SIMULATION_H_
#define BERTH_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/api/object.h"
#include "berth/clock.h"
#include "berth/configuration.h"
#include "berth/executor.h"
#include "berth/in_memory_cluster.h"
#include "berth/scheduler.h"

namespace berth {

struct SimulationOptions {
  KubeSchedulerConfiguration configuration;
  const Registry* registry = nullptr;  // must outlive the simulation
  std::vector<Object> objects;         // the cluster at the start
  // SchedulerOptions; they are asked as in a real cluster, and the simulation's clock stands still
  // meanwhile. What one of them binds is bound in the simulation, too.
  ExtenderList extenders = {};
  uint64_t seed = 0;
  absl::Time start = absl::UnixEpoch();
  // Lets PreBind, Bind and PostBind plugins sleep on the clock while everything else goes on, at
  // the cost of a switch between threads for each binding. Otherwise only the cluster's own delays
  // do.
  bool bindings_may_sleep = false;
  bool incremental = true;     // SchedulerOptions
  bool turns_for_room = true;  // SchedulerOptions
  int filter_block_size = 0;   // SchedulerOptions
  int64_t work_budget_steps = SchedulerOptions().work_budget_steps;
};

// One thread.
class Simulation {
 public:
  // Errors name the profile and the plugin.
  static absl::StatusOr<std::unique_ptr<Simulation>> Create(SimulationOptions options);
  ~Simulation();

  InMemoryCluster& cluster() { return cluster_; }
  Scheduler& scheduler() { return *scheduler_; }
  const Scheduler& scheduler() const { return *scheduler_; }
  absl::Time now() const { return clock_.Now(); }

  // Takes in the cluster as it is, without scheduling anything that has to wait for a later time.
  void RunUntilIdle();
  // Time is skipped up to what is due next, here and below. But as long as a pod waits for an
  // answer from outside (AnsweredOutside), it passes as it really does.

  // Runs everything that becomes due up to `time`, and ends there.
  void AdvanceTo(absl::Time time);
  void Advance(absl::Duration by) { AdvanceTo(now() + by); }
  // Runs until nothing more is due: no backoff, no wait, no timer, no deletion under way. Gives up
  // when pods have only been retried without success for `patience` of simulated time; timers that
  // plugins set within that time are waited for all the same.
  void RunUntilQuiet(absl::Duration patience = absl::Minutes(15));
  // The scheduler ends, and a new one starts from what the cluster has. What was on its way to the
  // cluster arrives at once. References to scheduler() and its observers end with the old one.
  void Restart();
  // Ends what runs at the moment, after the attempt it is at, and everything that is asked for
  // later. Call it from the thread that runs: from an observer, say.
  void Stop();
  bool stopped() const { return stopped_; }
  // Called now and then while time passes as it really does. May call Stop().
  void set_on_wait(std::function<void()> on_wait) { on_wait_ = std::move(on_wait); }
  // A sentence if plugins keep the scheduler busy without end and without any pod being bound or
  // evicted, whatever was being run: then it is stopped(). Empty otherwise.
  const std::string& gave_up() const { return gave_up_; }

 private:
  explicit Simulation(const SimulationOptions& options)
      : options_(options), clock_(options.start), cluster_(clock_), executor_(clock_, [this] {
          return options_.bindings_may_sleep || cluster_.MayDelayBindings();
        }) {}
  absl::Status Start();
  // Takes time on to `due` and does what is due then, the scheduler's part included.
  void DoDue(absl::Time due);
  // Lets some time pass, up to `due` at most, as it really does, and does what is due then.
  void WaitToward(absl::Time due);
  // Lets the scheduler do what is due now, or gives up.
  void RunScheduler();
  bool IsStalled();
  std::string DescribeBusyness(int64_t times) const;
  // When the cluster or a binding goes on next.
  absl::Time NextOutside() const;
  // What has been achieved so far: grows with every binding and eviction.
  int64_t Progress() const;

  SimulationOptions options_;  // without the objects
  SimulatedClock clock_;
  InMemoryCluster cluster_;
  bool stopped_ = false;
  std::function<void()> on_wait_;
  std::string gave_up_;
  // For IsStalled(): what had been achieved and tried when, and how much more may be tried.
  struct {
    int64_t progress = 0, tries = 0;
    absl::Time since;
    int64_t max_tries = 0;  // 0: begin to count again
  } stall_;
  SimulatedExecutor executor_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace berth

#endif  // BERTH_SIMULATION_H_
