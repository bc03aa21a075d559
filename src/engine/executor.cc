// SPDX-License-Identifier: Apache-2.0
// The thread pool of executor.h.
#include "berth/executor.h"

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "berth/mutex.h"

namespace berth {
namespace {

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) {
    for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this] { Work(); });
  }
  ~ThreadPool() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.SignalAll();
    for (std::thread& thread : threads_) thread.join();
  }

  void Run(std::function<void()> work) override {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.Signal();
  }

 private:
  void Work() {
    while (true) {
      std::function<void()> work;
      {
        MutexLock lock(mutex_);
        while (!stopping_ && queue_.empty()) changed_.Wait(mutex_);
        if (queue_.empty()) return;
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
    }
  }

  Mutex mutex_;
  CondVar changed_;  // work has come, or the end
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> MakeThreadPool(int threads) {
  return std::make_unique<ThreadPool>(threads);
}

}  // namespace berth
