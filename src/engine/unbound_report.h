// SPDX-License-Identifier: Apache-2.0
// Which pods have no node yet, and what each waits for at this moment.
#ifndef BERTH_SRC_ENGINE_UNBOUND_REPORT_H_
#define BERTH_SRC_ENGINE_UNBOUND_REPORT_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/scheduler.h"
#include "engine/binder.h"
#include "engine/cluster_state.h"
#include "engine/framework_set.h"
#include "queue/scheduling_queue.h"

namespace berth {

// Reads, and keeps nothing. Scheduling thread.
class UnboundReport {
 public:
  // Everything outlives this.
  UnboundReport(const ClusterState& cluster, const FrameworkSet& profiles,
                const SchedulingQueue& queue, const Binder& binder)
      : cluster_(cluster), profiles_(profiles), queue_(queue), binder_(binder) {}

  std::vector<UnboundPod> Pods() const;
  std::vector<PodGroupState> Groups() const;
  // Absent if the pod has a node or is unknown.
  std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const;

 private:
  WaitingFor Explain(const PendingReport& report) const;
  WaitingFor Explain(const Binder::Unbound& unbound) const;
  bool WaitsForVictims(const PodInfo& pod, WaitingFor& waiting) const;

  const ClusterState& cluster_;
  const FrameworkSet& profiles_;
  const SchedulingQueue& queue_;
  const Binder& binder_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_UNBOUND_REPORT_H_
