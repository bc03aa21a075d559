// SPDX-License-Identifier: Apache-2.0
// Which plugins misbehaved or were slow, how often and where.
#ifndef BERTH_SRC_FRAMEWORK_FAULT_LOG_H_
#define BERTH_SRC_FRAMEWORK_FAULT_LOG_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/symbol.h"
#include "berth/check.h"
#include "berth/mutex.h"

namespace berth {

// "threw: boom"
std::string ThrewText(absl::string_view what);

// One a profile. Threads: any; nothing is locked while plugins behave.
class FaultLog {
 public:
  struct Counts {
    int64_t faults = 0;
    int64_t slow = 0;
    absl::Duration longest;   // of the slow ones
    std::string first_fault;  // what was wrong with the first: "boom", "returned \"Wait\", ..."
  };
  // By plugin and point ("Filter", "Less").
  using ByPlugin = std::map<std::pair<std::string, std::string>, Counts>;

  // The plugin threw, or answered what the point does not allow: `what` says so.
  void AddFault(Symbol plugin, absl::string_view point, absl::string_view what);
  void AddSlow(Symbol plugin, absl::string_view point, absl::Duration took);

  int64_t faults() const { return faults_.load(std::memory_order_relaxed); }
  ByPlugin by_plugin() const;

  // Calls that take at least so long count as slow.
  void set_slow_call(absl::Duration slow_call) {
    slow_nanos_.store(absl::ToInt64Nanoseconds(slow_call), std::memory_order_relaxed);
  }
  int64_t slow_nanos() const { return slow_nanos_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> faults_{0};
  std::atomic<int64_t> slow_nanos_{100'000'000};
  mutable Mutex mutex_;
  ByPlugin counts_ ABSL_GUARDED_BY(mutex_);
};

// Times calls that follow each other: Start() before each one, Lap() after it. What lies between
// calls counts for the next one. Its clock is coarse (some milliseconds), so that reading it costs
// little; it is not read where there is nothing to call.
class CallTimer {
 public:
  explicit CallTimer(FaultLog& log) : log_(log) {}

  void Start() {
    if (last_nanos_ == kNotStarted) last_nanos_ = NowNanos();
  }
  void Lap(Symbol plugin, absl::string_view point) {
    BERTH_DCHECK(last_nanos_ != kNotStarted) << plugin << " at " << point;
    const int64_t now = NowNanos();
    if (now - last_nanos_ >= log_.slow_nanos()) {
      log_.AddSlow(plugin, point, absl::Nanoseconds(now - last_nanos_));
    }
    last_nanos_ = now;
  }

 private:
  static int64_t NowNanos();

  static constexpr int64_t kNotStarted = -1;

  FaultLog& log_;
  int64_t last_nanos_ = kNotStarted;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_FAULT_LOG_H_
