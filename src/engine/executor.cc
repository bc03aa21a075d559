// The thread pool of executor.h.
#include "berth/executor.h"

#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace berth {
namespace {

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~ThreadPool() override {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }

  void Run(std::function<void()> work) override {
    absl::MutexLock lock(&mutex_);
    queue_.push_back(std::move(work));
  }

 private:
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queue_.empty();
  }

  void Work() {
    while (true) {
      std::function<void()> work;
      {
        absl::MutexLock lock(&mutex_, absl::Condition(this, &ThreadPool::HasWorkOrStops));
        if (queue_.empty()) return;
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
    }
  }

  absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> MakeThreadPool(int threads) {
  return std::make_unique<ThreadPool>(threads);
}

}  // namespace berth
