// SPDX-License-Identifier: Apache-2.0
// Whether the parts of the scheduling queue agree with each other. For tests.
#ifndef BERTH_SRC_QUEUE_INVARIANTS_H_
#define BERTH_SRC_QUEUE_INVARIANTS_H_

#include "absl/status/status.h"
#include "queue/entry_index.h"
#include "queue/event_queue.h"
#include "queue/in_flight.h"
#include "queue/sub_queues.h"

namespace berth {

struct QueueParts {
  const EntryIndex& entries;
  const SubQueues& places;
  const InFlight& in_flight;
  const EventQueue& events;
};

// InvalidArgument with the first inconsistency found.
absl::Status CheckQueueInvariants(const QueueParts& queue);

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_INVARIANTS_H_
