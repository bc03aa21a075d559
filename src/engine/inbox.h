// SPDX-License-Identifier: Apache-2.0
// What arrives from other threads, on its way to the scheduling thread.
#ifndef BERTH_SRC_ENGINE_INBOX_H_
#define BERTH_SRC_ENGINE_INBOX_H_

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "berth/cluster.h"
#include "berth/mutex.h"

namespace berth {

// What arrives from other threads: watch events, and work to be done on the scheduling thread.
class Inbox final : public WatchSink {
 public:
  // Events, or work.
  struct Item {
    std::optional<WatchEvent> event;
    std::vector<WatchEvent> events;
    std::function<void()> work;
  };

  void Deliver(std::vector<WatchEvent> events) override;
  void DeliverOne(WatchEvent event) override;
  void Post(std::function<void()> work);
  // Drops what has arrived and whatever comes from now on.
  void Close();

  // Puts what has arrived first into `items`, in order, which was empty: all, or a block of it.
  // The room that `items` had is used again.
  void Take(std::vector<Item>& items);
  bool empty() const;
  // Blocks until something arrives, but no longer than that, or Stop().
  void WaitFor(absl::Duration longest);
  void Stop();
  bool stopped() const;

 private:
  void Add(Item&& item);

  mutable Mutex mutex_;
  CondVar arrived_;
  // In blocks, so that no list is moved or freed that has become long.
  static constexpr size_t kBlock = 256;
  std::vector<Item> items_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::vector<Item>> more_ ABSL_GUARDED_BY(mutex_);  // what came after these
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Written with the mutex held, and read without. `any_` says that it is worth looking: what it
  // stands for is read with the mutex held, so that nothing need be ordered by it.
  std::atomic<bool> any_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_INBOX_H_
