// SPDX-License-Identifier: Apache-2.0
// Which pods wait in the queue, where and why.
#ifndef BERTH_SRC_QUEUE_PENDING_REPORT_H_
#define BERTH_SRC_QUEUE_PENDING_REPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "queue/entry_index.h"
#include "queue/queue_entry.h"
#include "queue/sub_queues.h"

namespace berth {

// A pending pod for a report.
struct PendingReport {
  std::shared_ptr<const PodInfo> pod;
  std::string group;  // empty for a single pod
  QueueState state;   // kGated for a gated pod of a group that is not
  Status status;      // why; its plugin() is the one that rejected or gates
  int attempts = 0;
  // What the last attempt said; null before it, or if the pod is gated.
  std::shared_ptr<const WaitingFor> waiting = nullptr;
  absl::Time backoff_end = absl::InfinitePast();  // of entries in backoff
  // For an active entry that a strict line holds back: the group, or else the pod, that failed and
  // is before it: "namespace/name".
  std::string behind = "";
};

// Every pending pod, in order of arrival.
std::vector<PendingReport> ReportPending(const EntryIndex& entries, const SubQueues& places);
// One of them; absent if the pod is not in the queue.
std::optional<PendingReport> ReportOne(const EntryIndex& entries, const SubQueues& places,
                                       absl::string_view uid);

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_PENDING_REPORT_H_
