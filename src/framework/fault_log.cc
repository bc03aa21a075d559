// SPDX-License-Identifier: Apache-2.0
// Implementation of fault_log.h.
#include "framework/fault_log.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "absl/strings/str_cat.h"

namespace berth {

void FaultLog::AddFault(Symbol plugin, absl::string_view point, absl::string_view what) {
  faults_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  Counts& counts = counts_[{std::string(plugin.view()), std::string(point)}];
  if (counts.faults++ == 0) counts.first_fault = std::string(what);
}

std::string ThrewText(absl::string_view what) { return absl::StrCat("threw: ", what); }

void FaultLog::AddSlow(Symbol plugin, absl::string_view point, absl::Duration took) {
  MutexLock lock(mutex_);
  Counts& counts = counts_[{std::string(plugin.view()), std::string(point)}];
  ++counts.slow;
  counts.longest = std::max(counts.longest, took);
}

FaultLog::ByPlugin FaultLog::by_plugin() const {
  MutexLock lock(mutex_);
  return counts_;
}

int64_t CallTimer::NowNanos() {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec now;
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0) {
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
#endif
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace berth
