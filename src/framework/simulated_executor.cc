// SPDX-License-Identifier: Apache-2.0
// SimulatedExecutor of executor.h: threads that take turns.
#include <thread>

#include "berth/executor.h"

namespace berth {

// A thread that runs one piece of work at a time, when it has the turn.
struct SimulatedExecutor::Worker {
  SimulatedExecutor* executor;
  std::thread thread;
  std::function<void()> work;
  CondVar turn_given;
  bool has_turn = false;  // guarded by the executor's mutex_

  // The worker whose thread this is; null on all other threads.
  static thread_local Worker* current;
};

thread_local SimulatedExecutor::Worker* SimulatedExecutor::Worker::current = nullptr;

void SimulatedClock::SleepUntil(absl::Time time) const {
  SimulatedExecutor::Worker* const worker = SimulatedExecutor::Worker::current;
  if (worker != nullptr && &worker->executor->clock_ == this) {
    worker->executor->Sleep(*worker, time);
  } else if (time != absl::InfiniteFuture()) {
    SetTo(time);
  }
}

SimulatedExecutor::SimulatedExecutor(const SimulatedClock& clock, std::function<bool()> may_sleep)
    : clock_(clock), may_sleep_(std::move(may_sleep)) {}

SimulatedExecutor::~SimulatedExecutor() {
  WakeAll();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& worker : workers_) worker->turn_given.Signal();
  }
  for (const auto& worker : workers_) worker->thread.join();
}

void SimulatedExecutor::Run(std::function<void()> work) {
  if (Worker::current != nullptr || !may_sleep_()) return work();
  Worker* worker = nullptr;
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      worker = idle_.back();
      idle_.pop_back();
    }
  }
  if (worker == nullptr) {
    workers_.push_back(std::make_unique<Worker>());
    worker = workers_.back().get();
    worker->executor = this;
    worker->thread = std::thread([this, worker] { Work(*worker); });
  }
  worker->work = std::move(work);
  GiveTurn(*worker);
}

// The life of a worker's thread.
void SimulatedExecutor::Work(Worker& worker) {
  Worker::current = &worker;
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!worker.has_turn && !stopping_) worker.turn_given.Wait(mutex_);
      if (!worker.has_turn) return;
    }
    worker.work();
    worker.work = nullptr;
    MutexLock lock(mutex_);
    idle_.push_back(&worker);
    worker.has_turn = false;
    returned_.Signal();
  }
}

// Lets the worker run until it is done or sleeps.
void SimulatedExecutor::GiveTurn(Worker& worker) {
  MutexLock lock(mutex_);
  worker.has_turn = true;
  worker.turn_given.Signal();
  while (worker.has_turn) returned_.Wait(mutex_);
}

// On the worker's thread.
void SimulatedExecutor::Sleep(Worker& worker, absl::Time until) {
  // The clock counts nanoseconds: between two of them it would never be.
  if (until != absl::InfiniteFuture()) {
    until = absl::UnixEpoch() + absl::Ceil(until - absl::UnixEpoch(), absl::Nanoseconds(1));
  }
  MutexLock lock(mutex_);
  if (awake_ || until <= clock_.Now()) return;
  sleeping_.emplace(std::make_pair(until, sleeps_++), &worker);
  worker.has_turn = false;
  returned_.Signal();
  while (!worker.has_turn) worker.turn_given.Wait(mutex_);
}

absl::Time SimulatedExecutor::NextDue() const {
  MutexLock lock(mutex_);
  return sleeping_.empty() ? absl::InfiniteFuture() : sleeping_.begin()->first.first;
}

void SimulatedExecutor::RunDue() {
  while (true) {
    Worker* worker = nullptr;
    {
      MutexLock lock(mutex_);
      if (sleeping_.empty()) return;
      if (!awake_ && sleeping_.begin()->first.first > clock_.Now()) return;
      worker = sleeping_.begin()->second;
      sleeping_.erase(sleeping_.begin());
    }
    GiveTurn(*worker);
  }
}

void SimulatedExecutor::WakeAll() {
  {
    MutexLock lock(mutex_);
    awake_ = true;
  }
  RunDue();
}

void SimulatedExecutor::LetSleep() {
  MutexLock lock(mutex_);
  awake_ = false;
}

}  // namespace berth
