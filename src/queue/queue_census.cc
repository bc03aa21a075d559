// SPDX-License-Identifier: Apache-2.0
// Implementation of queue_census.h.
#include "queue/queue_census.h"

#include <algorithm>

namespace berth {

QueueCensus CountQueue(const EntryIndex& entries, const InFlight& in_flight) {
  QueueCensus census;
  QueueCensus::Queue& active = census.queues["active"];
  QueueCensus::Queue& backoff = census.queues["backoff"];
  QueueCensus::Queue& unschedulable = census.queues["unschedulable"];
  QueueCensus::Queue& gated = census.queues["gated"];
  const auto add = [](QueueCensus::Queue& queue, const PendingPod& member) {
    ++queue.pods;
    queue.oldest = std::min(queue.oldest, member.pod->creation_time());
  };
  entries.ForEach([&](const QueueEntry& entry) {
    if (entry.state == QueueState::kInFlight) return;
    QueueCensus::Queue& queue = entry.state == QueueState::kActive          ? active
                                : entry.state == QueueState::kUnschedulable ? unschedulable
                                : entry.state == QueueState::kGated         ? gated
                                                                            : backoff;
    for (const PendingPod& member : entry.members) add(queue, member);
    for (const PendingPod& member : entry.gated_members) {
      add(gated, member);
      ++census.rejected[{member.gated_by, entry.profile}];
    }
    const int members = static_cast<int>(entry.members.size());
    for (const Symbol plugin : entry.unschedulable_plugins) {
      census.rejected[{plugin, entry.profile}] += members;
    }
    for (const Symbol plugin : entry.pending_plugins) {
      census.rejected[{plugin, entry.profile}] += members;
    }
    if (entry.state == QueueState::kGated && !entry.gating_plugin.empty()) {
      census.rejected[{entry.gating_plugin, entry.profile}] += members;
    }
  });
  census.inflight_events["PodPopped"] = in_flight.size();
  in_flight.events().ForEachSince(in_flight.events().begin(),
                                  [&](const ClusterEvent& event, const ObjectChange&) {
                                    ++census.inflight_events[event.label];
                                    return true;
                                  });
  return census;
}

}  // namespace berth
