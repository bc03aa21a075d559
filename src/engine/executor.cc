// SPDX-License-Identifier: Apache-2.0
// The thread pools of executor.h.
#include "berth/executor.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "berth/mutex.h"

namespace berth {
namespace {

constexpr absl::Duration kIdleLife = absl::Seconds(10);

// Threads start when work comes and all others are busy.
class ThreadPool final : public Executor {
 public:
  // Threads beyond `kept` end when they have had nothing to do for long.
  ThreadPool(int kept, int most) : state_(std::make_shared<State>()) {
    state_->kept = kept;
    state_->most = most;
  }
  ~ThreadPool() override {
    MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->changed.SignalAll();
    while (state_->threads > 0) state_->changed.Wait(state_->mutex);
  }

  void Run(std::function<void()> work) override {
    {
      MutexLock lock(state_->mutex);
      const bool is_short = state_->idle <= static_cast<int>(state_->queue.size());
      if (is_short && state_->threads < state_->most) StartThread();
      if (state_->threads > 0) {
        state_->queue.push_back(std::move(work));
        state_->changed.Signal();
        return;
      }
    }
    work();  // the system gives no thread
  }

 private:
  // The threads hold on to it, and they are not joined.
  struct State {
    Mutex mutex;
    CondVar changed;  // work has come, the end, or a thread has ended
    std::deque<std::function<void()>> queue ABSL_GUARDED_BY(mutex);
    bool stopping ABSL_GUARDED_BY(mutex) = false;
    int threads ABSL_GUARDED_BY(mutex) = 0;
    int idle ABSL_GUARDED_BY(mutex) = 0;  // of these; one may be on its way to the queue
    int kept = 0;
    int most = 0;
  };

  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    try {
      std::thread([state = state_] { Work(*state); }).detach();
      ++state_->threads;
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): fewer threads do it
    }
  }

  static void Work(State& state) {
    while (true) {
      std::function<void()> work;
      {
        MutexLock lock(state.mutex);
        bool is_needless = false;
        while (state.queue.empty()) {
          if (state.stopping || is_needless) {
            --state.threads;
            state.changed.SignalAll();
            return;
          }
          ++state.idle;
          const bool is_signalled = state.changed.WaitFor(state.mutex, kIdleLife);
          --state.idle;
          is_needless = !is_signalled && state.threads > state.kept;
        }
        work = std::move(state.queue.front());
        state.queue.pop_front();
      }
      work();
    }
  }

  const std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<Executor> MakeThreadPool(int threads) {
  return std::make_unique<ThreadPool>(std::max(threads, 1), std::max(threads, 1));
}

std::unique_ptr<Executor> MakeGrowingThreadPool(int most_threads) {
  return std::make_unique<ThreadPool>(1, std::max(most_threads, 1));
}

}  // namespace berth
