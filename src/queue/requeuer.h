// SPDX-License-Identifier: Apache-2.0
// Where an entry of the queue goes, and what a failed attempt makes of its history.
#ifndef BERTH_SRC_QUEUE_REQUEUER_H_
#define BERTH_SRC_QUEUE_REQUEUER_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "berth/clock.h"
#include "berth/extensions/group.h"
#include "queue/backoff.h"
#include "queue/event_queue.h"
#include "queue/gates.h"
#include "queue/queue_entry.h"
#include "queue/queue_metrics.h"
#include "queue/queue_profile.h"
#include "queue/queueing_hints.h"
#include "queue/retry_turns.h"
#include "queue/sub_queues.h"

namespace berth {

// Moves entries between the sub-queues: as kube-scheduler v1.35 moveToActiveQ, moveToBackoffQ and
// requeuePodWithQueueingStrategy. Every move chooses the pod that leads the entry again, and calls
// EventQueue. Belongs to the queue.
class Requeuer {
 public:
  // Everything outlives this.
  Requeuer(absl::Span<const QueueProfile> profiles, const Clock& clock, Backoff backoff,
           SubQueues& places, Gates& gates, RetryTurns& turns, EventQueue& events,
           QueueMetrics& metrics, uint64_t& next_sequence)
      : profiles_(profiles),
        clock_(clock),
        backoff_(backoff),
        places_(places),
        gates_(gates),
        turns_(turns),
        events_(events),
        metrics_(metrics),
        next_sequence_(next_sequence) {}

  // Puts the entry where the strategy says: unschedulable, in backoff as long as that lasts,
  // active, or gated if it does not pass its gates.
  void Requeue(QueueEntry& entry, RequeueStrategy strategy, GateCheck check);
  // The same without a backoff.
  void MoveToActive(QueueEntry& entry, GateCheck check);
  // Takes the entry from where it is and puts it there, with its lead chosen again.
  void Attach(QueueEntry& entry, QueueState state);
  // Takes the entry out of its sub-queue: it is in flight.
  void Detach(QueueEntry& entry);
  // The group's members changed: it may have become ready, or no longer be.
  void RecheckGroup(QueueEntry& entry);

  // Takes note of a failed attempt: which plugins rejected, when, and how long the backoff is then.
  void CountFailure(QueueEntry& entry, const Rejection& rejection);
  // Keeps the entry from being tried before the end of a backoff that begins now, as long as that
  // of a pod with this history, whose attempt came to nothing.
  void RequireBackoff(QueueEntry& entry, const AttemptHistory& failed);

 private:
  void MoveToBackoff(QueueEntry& entry, GateCheck check);
  void SetLead(QueueEntry& entry);
  std::optional<GroupSpec> SpecOf(const QueueEntry& entry) const;

  const absl::Span<const QueueProfile> profiles_;
  const Clock& clock_;
  const Backoff backoff_;
  SubQueues& places_;
  Gates& gates_;
  RetryTurns& turns_;
  EventQueue& events_;
  QueueMetrics& metrics_;
  uint64_t& next_sequence_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_REQUEUER_H_
