// SPDX-License-Identifier: Apache-2.0
// What becomes of a pod that was not placed: its nomination, and what is written to the cluster. As
// kube-scheduler v1.35 schedule_one.go handleSchedulingFailure.
#ifndef BERTH_SRC_ENGINE_FAILURE_HANDLER_H_
#define BERTH_SRC_ENGINE_FAILURE_HANDLER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/recorder.h"
#include "queue/scheduling_queue.h"

namespace berth {

// Belongs to the scheduling thread.
class FailureHandler {
 public:
  // Everything outlives this.
  FailureHandler(ClusterState& cluster, SchedulingQueue& queue, Recorder& recorder)
      : cluster_(cluster), queue_(queue), recorder_(recorder) {}

  void Handle(PodFailure& failure);
  // Takes over what the attempt decided of the pod's nomination, or drops it from `failure` if that
  // changes nothing.
  void UpdateNomination(PodFailure& failure);

  // The pod's nomination to the node ended: pods that left room for it are tried again.
  void RequeuePodsBlockedByNomination(const std::shared_ptr<const PodInfo>& pod,
                                      absl::string_view node_name);
  // The node is gone, and with it the room that was made there.
  void EndNominations(Symbol node_name);
  // The group of these pods may not be tried: those that have no node wait in vain for the room
  // that was made for them, which others may have.
  void EndNominations(const GroupMembers& group);
  // Pods that were nominated to the node have lost the room they waited for: those of lower
  // priority, unless a plugin's NominationRules say otherwise.
  void ClearLowerNominations(const PodInfo& pod, const std::string& node_name);
  // What the pod was nominated for is another pod's from now on.
  void EndNomination(const std::shared_ptr<const PodInfo>& pod);

 private:
  std::vector<std::shared_ptr<const PodInfo>> PodsNominatedTo(Symbol node_name) const;

  ClusterState& cluster_;
  SchedulingQueue& queue_;
  Recorder& recorder_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_FAILURE_HANDLER_H_
