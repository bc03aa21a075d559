// SPDX-License-Identifier: Apache-2.0
// How many pods wait, in which part of the queue, and for which plugins.
#ifndef BERTH_SRC_QUEUE_QUEUE_CENSUS_H_
#define BERTH_SRC_QUEUE_QUEUE_CENSUS_H_

#include <map>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "queue/entry_index.h"
#include "queue/in_flight.h"

namespace berth {

struct QueueCensus {
  struct Queue {
    int pods = 0;
    absl::Time oldest = absl::InfiniteFuture();  // when one of them was created first
  };
  // "active", "backoff", "unschedulable" and "gated", as kube-scheduler's metrics name them; all
  // four are there.
  std::map<std::string, Queue> queues;
  // Pods by the plugin that rejected or gates them, and profile; one pod may count several times.
  std::map<std::pair<Symbol, Symbol>, int> rejected;
  // Events that are remembered for entries in flight, by label; "PodPopped": such entries.
  std::map<std::string, int> inflight_events;
};

QueueCensus CountQueue(const EntryIndex& entries, const InFlight& in_flight);

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_QUEUE_CENSUS_H_
