// SPDX-License-Identifier: Apache-2.0
// Where bindings run: on threads in production, inline when everything must be deterministic.
#ifndef BERTH_EXECUTOR_H_
#define BERTH_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "berth/clock.h"
#include "berth/mutex.h"

namespace berth {

// Threads: any.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `work` once, now or later. Work that is still queued when the executor is destroyed is
  // run before the destructor returns.
  virtual void Run(std::function<void()> work) = 0;
};

// Runs the work before Run() returns.
class InlineExecutor final : public Executor {
 public:
  void Run(std::function<void()> work) override { work(); }
};

// Runs work on a simulated clock: work that sleeps on the clock is put aside, and goes on when its
// time has come and RunDue() is called. One piece of work runs at a time, and only while Run() or
// RunDue() is being called, so that the same input gives the same run.
//
// Threads: one drives it. The work itself runs on threads of the executor.
class SimulatedExecutor final : public Executor {
 public:
  // `clock` must outlive the executor. Asked before each piece of work, `may_sleep` says whether it
  // might sleep. Work that cannot is run at once on the thread of the caller, which is much
  // cheaper; should it sleep all the same, that advances the clock.
  explicit SimulatedExecutor(
      const SimulatedClock& clock, std::function<bool()> may_sleep = [] { return true; });
  // Ends all sleeps and waits for the work.
  ~SimulatedExecutor() override;

  // Returns when the work is done or sleeps.
  void Run(std::function<void()> work) override;
  // When the first sleep ends; InfiniteFuture if there is none.
  absl::Time NextDue() const;
  // Continues everything that is due by the clock's time: by time, then in the order of the sleeps.
  void RunDue();
  // Wakes all sleepers and ends every later sleep at once, whatever the time: until the next call
  // of LetSleep().
  void WakeAll();
  void LetSleep();

 private:
  friend class SimulatedClock;
  struct Worker;

  void Work(Worker& worker);
  void GiveTurn(Worker& worker);
  void Sleep(Worker& worker, absl::Time until);

  const SimulatedClock& clock_;
  const std::function<bool()> may_sleep_;
  mutable Mutex mutex_;
  CondVar returned_;  // the turn has come back to the driving thread
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<absl::Time, uint64_t>, Worker*> sleeping_ ABSL_GUARDED_BY(mutex_);
  uint64_t sleeps_ ABSL_GUARDED_BY(mutex_) = 0;
  bool awake_ ABSL_GUARDED_BY(mutex_) = false;     // no thread sleeps any more
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;  // threads end
};

// At most `threads` threads of its own, at least one; first in, first out. They start as there is
// work.
std::unique_ptr<Executor> MakeThreadPool(int threads);
// The same, but threads that have nothing to do for ten seconds end. For many pieces of work that
// wait for long, as a PreBind for its volumes, and that must not hold up others: let there be more
// threads than such work.
std::unique_ptr<Executor> MakeGrowingThreadPool(int most_threads);

}  // namespace berth

#endif  // BERTH_EXECUTOR_H_
