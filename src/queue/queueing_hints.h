// SPDX-License-Identifier: Apache-2.0
// Whether an event of the cluster concerns a waiting entry, and how it is requeued then.
#ifndef BERTH_SRC_QUEUE_QUEUEING_HINTS_H_
#define BERTH_SRC_QUEUE_QUEUEING_HINTS_H_

#include <cstdint>

#include "berth/framework/enqueue.h"
#include "queue/entry_index.h"
#include "queue/event_table.h"
#include "queue/queue_entry.h"
#include "queue/stored_event_log.h"

namespace berth {

enum class RequeueStrategy : uint8_t { kSkip, kAfterBackoff, kImmediately };  // rising

// Asks the plugins. Changes nothing.
class QueueingHints {
 public:
  // Both outlive this.
  QueueingHints(const EventTable& table, const EntryIndex& entries)
      : table_(table), entries_(entries) {}

  RequeueStrategy WorthRequeuing(const QueueEntry& entry, const ClusterEvent& event,
                                 const ObjectChange& change) const;
  // The same for everything that happened since Pop(), which is in `events`.
  RequeueStrategy WorthAfterFlight(const QueueEntry& entry, const StoredEventLog& events) const;
  // Whether its gate is to be asked about a gated member.
  bool MayOpenGate(const QueueEntry& entry, const PendingPod& member, const ClusterEvent& event,
                   const ObjectChange& change) const;
  // For an entry that is gated as a whole.
  bool GatingPluginWants(const QueueEntry& entry, const ClusterEvent& event,
                         const ObjectChange& change) const;
  // Whether the event might change anything for an entry that waits.
  bool MayConcern(const QueueEntry& entry, const ClusterEvent& event,
                  const ObjectChange& change) const;

  // Whether the change is that of the pod.
  static bool IsOwn(const ObjectChange& change, const PodInfo& pod);
  // Whether it is that of a pod of the entry.
  bool IsAbout(const ObjectChange& change, const QueueEntry& entry) const;

 private:
  bool AnyRejectorWants(const QueueEntry& entry, const ClusterEvent& event,
                        const ObjectChange& change, const PodInfo& pod) const;

  const EventTable& table_;
  const EntryIndex& entries_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_QUEUEING_HINTS_H_
