// SPDX-License-Identifier: Apache-2.0
// How much of the time entries in backoff may take from active ones.
#ifndef BERTH_SRC_QUEUE_EARLY_ATTEMPTS_H_
#define BERTH_SRC_QUEUE_EARLY_ATTEMPTS_H_

#include <algorithm>

#include "absl/time/time.h"
#include "berth/clock.h"
#include "queue/queue_entry.h"

namespace berth {

// An attempt is early if its entry is in backoff while others are active. Those that fail take at
// most half of the time: after kMost of it, the active ones have as much for themselves. Belongs to
// the queue.
class EarlyAttempts {
 public:
  static constexpr absl::Duration kMost = absl::Milliseconds(100);

  void Begin(const QueueEntry& entry, absl::Time now) {
    entry_ = &entry;
    began_ = now;
  }
  // The attempt of the entry, which may be any, ended.
  void Succeed(const QueueEntry& entry) {
    if (entry_ == &entry) entry_ = nullptr;
  }
  void Fail(const QueueEntry& entry, const Clock& clock) {
    if (entry_ != &entry) return;
    entry_ = nullptr;
    const absl::Time now = clock.Now();
    spent_ += std::max(absl::ZeroDuration(), now - began_);
    if (spent_ < kMost) return;
    paused_until_ = now + spent_;
    spent_ = absl::ZeroDuration();
  }
  // Nothing is active that early attempts could keep waiting.
  void Reset() {
    spent_ = absl::ZeroDuration();
    paused_until_ = absl::InfinitePast();
  }
  bool MayBegin(absl::Time now) const { return now >= paused_until_; }

 private:
  const QueueEntry* entry_ = nullptr;  // that is tried early now
  absl::Time began_;
  absl::Duration spent_;
  absl::Time paused_until_ = absl::InfinitePast();
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_EARLY_ATTEMPTS_H_
