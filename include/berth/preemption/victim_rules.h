// SPDX-License-Identifier: Apache-2.0
// Which pods preemptors may evict, on whatever nodes: what a search over several nodes asks the
// plugin whose rules these are. PreemptionRules asks the same of one node.
#ifndef BERTH_PREEMPTION_VICTIM_RULES_H_
#define BERTH_PREEMPTION_VICTIM_RULES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"
#include "berth/api/symbol.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// Pods that go together or not at all: one pod; of a gang one that it has beyond its minimum, or
// all that are left when no such pod is.
struct VictimUnit {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  std::vector<Symbol> nodes;  // where each of them is
  std::string group;          // "namespace/name"; empty for a pod on its own
};

// One plan in the making: which pods would be gone. Changes nothing but itself. Lives no longer
// than the extension point in which it was begun. Scheduling thread.
class VictimTrial {
 public:
  virtual ~VictimTrial() = default;

  // What may be evicted as things stand, the best to evict first: without what is gone already. A
  // unit may go as long as MayEvict() says so, which changes with what is gone.
  virtual std::vector<VictimUnit> Units() const = 0;
  // Success; or why not. Unschedulable with a time if it may go at that time.
  struct Verdict {
    Status status;
    absl::Time until = absl::InfiniteFuture();
    bool unless_others_go = false;  // of a refusal: once others are gone it may go, perhaps
  };
  virtual Verdict MayEvict(const VictimUnit& unit) const = 0;

  // Why Units() is empty.
  virtual Status WhyNobody() const { return Status::Unschedulable("no pod may be evicted for it"); }

  // The unit is gone, or is not gone after all.
  virtual void Evict(const VictimUnit& unit) = 0;
  virtual void Spare(const VictimUnit& unit) = 0;

  // Whether the preemptors may run as far as these rules go, with room for them on the nodes or
  // not. Success, or the reason.
  virtual Status HasRoom() const = 0;

  // They would run on nodes with these labels: for rules that depend on nodes. Returns whether
  // MayEvict() may say something else now.
  virtual bool PlaceOn(const LabelSet&) { return false; }
};

// In the state of a pod for which PostFilter is asked as a member of a group that starts whole or
// not at all: the members that still have to find a place for that, the pod itself first. Those
// that have one are assumed. What they may take is decided for all of them together: a group that
// would have more than its quota is guaranteed takes nothing back, not even for some of its
// members. Lives as long as the call.
struct PlacedTogether final : StateData {
  std::vector<const PodInfo*> pods;
  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<PlacedTogether>(*this);
  }
};
inline constexpr StateKey<PlacedTogether> kPlacedTogether{"PlacedTogether"};

// Implemented by a PostFilter plugin beside PostFilter. The search places pods by the Filter
// plugins and asks this about victims.
class VictimRules {
 public:
  virtual ~VictimRules() = default;

  // Begins a plan for pods that are to be placed all, or none: a pod, or members of one group.
  // `state` is that of the first one after PreFilter. A rejection with the reason if they may not
  // preempt at all. `trial` refers to this, to `state` and to the pods.
  virtual Status BeginTrial(const CycleState& state, absl::Span<const PodInfo* const> preemptors,
                            std::unique_ptr<VictimTrial>& trial) = 0;
};

}  // namespace berth

#endif  // BERTH_PREEMPTION_VICTIM_RULES_H_
