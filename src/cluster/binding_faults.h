// SPDX-License-Identifier: Apache-2.0
// What goes wrong with bindings to an in-memory cluster, by chance or because a test asks for it.
#ifndef BERTH_SRC_CLUSTER_BINDING_FAULTS_H_
#define BERTH_SRC_CLUSTER_BINDING_FAULTS_H_

#include <utility>

#include "absl/time/time.h"
#include "berth/cluster_faults.h"
#include "berth/in_memory_cluster.h"
#include "cluster/chance.h"

namespace berth {

// Threads: guarded by the cluster's mutex.
class BindingFaults {
 public:
  using BindFault = InMemoryCluster::BindFault;
  using BindDelay = InMemoryCluster::BindDelay;

  void Set(const ClusterFaults& faults) {
    faults_ = faults;
    chance_ = Chance(faults.seed);
  }
  void SetFault(BindFault fault) { fault_ = std::move(fault); }
  void SetDelay(BindDelay delay) { delay_ = std::move(delay); }

  bool MayDelay() const {
    return delay_ != nullptr || faults_.slow_bind > 0 || faults_.lost_answer > 0;
  }

  // What becomes of one binding. `fault` and `delay` may be null; they are called without the
  // mutex.
  struct Fate {
    BindFault fault;
    BindDelay delay;
    absl::Duration delay_before, delay_after;
    bool refused = false;
    bool answer_lost = false;
  };
  Fate Draw() {
    Fate fate = {.fault = fault_, .delay = delay_, .delay_before = {}, .delay_after = {}};
    fate.refused = chance_.Happens(faults_.bind_failure);
    fate.answer_lost = chance_.Happens(faults_.lost_answer);
    if (chance_.Happens(faults_.slow_bind)) {
      const absl::Duration whole = chance_.Between(faults_.min_bind_delay, faults_.max_bind_delay);
      fate.delay_before = chance_.Between(absl::ZeroDuration(), whole);
      fate.delay_after = whole - fate.delay_before;
    }
    return fate;
  }

 private:
  ClusterFaults faults_;
  Chance chance_{0};
  BindFault fault_;
  BindDelay delay_;
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_BINDING_FAULTS_H_
