// SPDX-License-Identifier: Apache-2.0
// Pods that are moved for a group: each keeps its new place until it has been made again.
#ifndef BERTH_SRC_ENGINE_MOVED_PODS_H_
#define BERTH_SRC_ENGINE_MOVED_PODS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "berth/clock.h"
#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/failure_handler.h"
#include "engine/timers.h"

namespace berth {

// The new place is nominated to a stand-in for the pod, which is known nowhere else. The first
// pending pod of the same owner that requests the same takes it over, and keeps it until the pod
// that is there yet has left. If none comes in time, the place is free again. Belongs to the
// scheduling thread.
class MovedPods {
 public:
  // Everything outlives this.
  MovedPods(const Clock& clock, ClusterState& cluster, FailureHandler& failure_handler,
            Timers& timers)
      : clock_(clock), cluster_(cluster), failure_handler_(failure_handler), timers_(timers) {}

  // The victims of the plan have been asked to go.
  void Expect(const AttemptResult::Plan& plan);
  // A pod without a node is there, new or changed.
  void OnPending(const std::shared_ptr<const PodInfo>& pod) {
    if (!expected_.empty()) TakeOver(pod);
  }
  // Whether the pod keeps its nomination although it has not fitted there: it waits for others that
  // are moved.
  bool KeepsPlace(const PodInfo& pod) const;

 private:
  struct Expected {
    std::shared_ptr<const PodInfo> stand_in;
    std::string owner;  // uid
    std::string node;
    std::string taken_by = {};  // uid
  };
  void TakeOver(const std::shared_ptr<const PodInfo>& pod);
  void OnDue(uint64_t number);

  const Clock& clock_;
  ClusterState& cluster_;
  FailureHandler& failure_handler_;
  Timers& timers_;
  std::map<uint64_t, Expected> expected_;  // in the order in which they were moved
  uint64_t last_number_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_MOVED_PODS_H_
