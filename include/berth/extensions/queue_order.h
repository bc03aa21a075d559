// SPDX-License-Identifier: Apache-2.0
// Whose turn it is, where that depends on what runs: shares of quotas, say. QueueSort cannot say
// it, since its order may not change while pods are queued.
#ifndef BERTH_EXTENSIONS_QUEUE_ORDER_H_
#define BERTH_EXTENSIONS_QUEUE_ORDER_H_

#include <cstdint>
#include <memory>

#include "berth/framework/pod_info.h"
#include "berth/framework/queue_sort.h"

namespace berth {

// Chooses among the first of each line.
class QueueContest {
 public:
  virtual ~QueueContest() = default;

  // The first of the line, which stays as it is until the next call for this line; null: none.
  virtual void SetHead(int line, const QueuedPodInfo* head) = 0;
  // The line whose turn it is; -1 if no line has a head.
  virtual int Next() = 0;
};

// Implemented by a plugin; one in the first profile that has one orders the queue of all profiles.
// The queue keeps entries (groups, single pods) in lines: in one they go by Compare(), then by
// QueueSort, which costs no more than without. When an entry is to be tried, a contest chooses the
// line; its head is the first active entry, or else the first in backoff that an event may help.
// One that cannot be placed steps aside, so no line blocks another. Scheduling thread.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;

  // Changes when LineOf(), Compare() or IsStrict() may have changed: then all entries are lined up
  // again.
  virtual uint64_t LinesVersion() = 0;
  // The line the pod waits in, from 0; for a group that of its first pending member.
  virtual int LineOf(const PodInfo& pod) = 0;
  // Less than 0 if `a` is before `b`, more if it is behind it, 0 if QueueSort decides. Both are in
  // this line. Depends on values that do not change while they wait.
  virtual int Compare(int line, const QueuedPodInfo& a, const QueuedPodInfo& b) = 0;
  // Whether the line is strict: an entry that was tried and failed holds up those behind it.
  virtual bool IsStrict(int line) = 0;
  // A contest over such lines; ends when this does, or when LinesVersion() changes.
  virtual std::unique_ptr<QueueContest> NewContest() = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_QUEUE_ORDER_H_
