// Where bindings run: on threads in production, inline when everything must be deterministic.
#ifndef BERTH_EXECUTOR_H_
#define BERTH_EXECUTOR_H_

#include <functional>
#include <memory>

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

// `threads` threads of its own, first in first out.
std::unique_ptr<Executor> MakeThreadPool(int threads);

}  // namespace berth

#endif  // BERTH_EXECUTOR_H_
