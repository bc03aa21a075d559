// SPDX-License-Identifier: Apache-2.0
// Groups that lost members they need: after a grace time those that still run are evicted.
#ifndef BERTH_SRC_ENGINE_STALE_GROUPS_H_
#define BERTH_SRC_ENGINE_STALE_GROUPS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/clock.h"
#include "berth/extensions/group.h"
#include "engine/cluster_state.h"
#include "engine/framework_set.h"
#include "engine/preemption_executor.h"
#include "engine/timers.h"

namespace berth {

// A group is stale while some of its members run, but too few for it to start. A group with a
// succeeded member is about to end, and never stale. As KAI's action stalegangeviction; the
// time is counted from when the scheduler sees it. Belongs to the scheduling thread.
class StaleGroups {
 public:
  struct Parts {  // everything outlives this
    ClusterState& cluster;
    const FrameworkSet& profiles;
    PreemptionExecutor& preemption_executor;
    Timers& timers;
  };
  StaleGroups(const Clock& clock, const Parts& parts)
      : clock_(clock),
        cluster_(parts.cluster),
        profiles_(parts.profiles),
        preemption_executor_(parts.preemption_executor),
        timers_(parts.timers) {}

  // A member that may have run is gone or is being deleted, one that another scheduler placed runs,
  // or what defines the group changed. If it is stale now and was not before, its time begins.
  void Changed(absl::string_view group);
  // It has its minimum.
  void Started(absl::string_view group) {
    if (!watched_.empty()) Forget(group);
  }
  // The binding of a member failed for good.
  void BindingFailed(absl::string_view group);

 private:
  struct Watched {
    absl::Time since;
    TimerId timer{};
  };
  struct State {
    const GroupMembers* members = nullptr;  // null: it is not stale
    GroupSpec spec;
  };
  State Look(absl::string_view group) const;
  void Watch(absl::string_view group, const GroupSpec& spec, absl::Time since);
  void Forget(absl::string_view group);
  void OnDue(const std::string& group);
  void Evict(const State& group, const std::string& why);

  const Clock& clock_;
  ClusterState& cluster_;
  const FrameworkSet& profiles_;
  PreemptionExecutor& preemption_executor_;
  Timers& timers_;
  absl::flat_hash_map<std::string, Watched> watched_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_STALE_GROUPS_H_
