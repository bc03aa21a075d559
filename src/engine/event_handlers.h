// SPDX-License-Identifier: Apache-2.0
// What watch events do to the cluster state and to the queue. As kube-scheduler v1.35
// eventhandlers.go.
#ifndef BERTH_SRC_ENGINE_EVENT_HANDLERS_H_
#define BERTH_SRC_ENGINE_EVENT_HANDLERS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "berth/cluster.h"
#include "engine/binder.h"
#include "engine/cluster_state.h"
#include "engine/engine_metrics.h"
#include "engine/failure_handler.h"
#include "engine/framework_set.h"
#include "engine/group_reservations.h"
#include "engine/moved_pods.h"
#include "engine/preemption_executor.h"
#include "engine/recorder.h"
#include "engine/stale_groups.h"
#include "engine/table_updater.h"
#include "queue/scheduling_queue.h"

namespace berth {

// Belongs to the scheduling thread.
class EventHandlers {
 public:
  // What events change. Everything outlives this.
  struct Parts {
    ClusterState& cluster;
    const FrameworkSet& profiles;
    SchedulingQueue& queue;
    Binder& binder;
    Recorder& recorder;
    FailureHandler& failure_handler;
    TableUpdater& table_updater;
    EngineMetrics& metrics;
    StaleGroups& stale_groups;
    MovedPods& moved_pods;
    GroupReservations& reservations;
    PreemptionExecutor& preemption_executor;
  };
  explicit EventHandlers(const Parts& parts)
      : cluster_(parts.cluster),
        profiles_(parts.profiles),
        queue_(parts.queue),
        binder_(parts.binder),
        recorder_(parts.recorder),
        failure_handler_(parts.failure_handler),
        table_updater_(parts.table_updater),
        metrics_(parts.metrics),
        stale_groups_(parts.stale_groups),
        moved_pods_(parts.moved_pods),
        reservations_(parts.reservations),
        preemption_executor_(parts.preemption_executor) {}

  void Handle(WatchEvent event);

  // Whether the cluster has sent what there is.
  bool synced() const { return synced_; }
  uint64_t events() const { return events_; }  // so far
  // Objects that could not be understood.
  int64_t unusable_objects() const { return unusable_objects_; }

 private:
  void UpdateQueue(const ClusterChange& change);
  void WarnOfAnnotations(const ClusterChange& change);
  void EndNominationsInVain(const ClusterChange& change);
  void EndNominationsInVain(absl::string_view group);

  ClusterState& cluster_;
  const FrameworkSet& profiles_;
  SchedulingQueue& queue_;
  Binder& binder_;
  Recorder& recorder_;
  FailureHandler& failure_handler_;
  TableUpdater& table_updater_;
  EngineMetrics& metrics_;
  StaleGroups& stale_groups_;
  MovedPods& moved_pods_;
  GroupReservations& reservations_;
  PreemptionExecutor& preemption_executor_;
  uint64_t events_ = 0;
  bool synced_ = false;
  int64_t unusable_objects_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_EVENT_HANDLERS_H_
