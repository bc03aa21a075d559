// SPDX-License-Identifier: Apache-2.0
// Counters of a plugin's own: added to from any thread, read from any thread.
#ifndef BERTH_HANDLE_COUNTER_H_
#define BERTH_HANDLE_COUNTER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "berth/mutex.h"

namespace berth {

// Threads: any.
class Counter {
 public:
  void Add(int64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// The counters of all plugins of a scheduler, by name. Threads: any.
class CounterSet {
 public:
  // The counter of that name, made at 0 for the first caller. Lives as long as the set.
  Counter& Find(absl::string_view name) {
    MutexLock lock(mutex_);
    const auto known = counters_.find(name);
    return known != counters_.end() ? known->second : counters_[std::string(name)];
  }
  std::map<std::string, int64_t> values() const {
    MutexLock lock(mutex_);
    std::map<std::string, int64_t> values;
    for (const auto& [name, counter] : counters_) values[name] = counter.value();
    return values;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, Counter, std::less<>> counters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth

#endif  // BERTH_HANDLE_COUNTER_H_
