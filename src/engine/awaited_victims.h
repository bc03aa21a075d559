// SPDX-License-Identifier: Apache-2.0
// Which victims groups wait for.
#ifndef BERTH_SRC_ENGINE_AWAITED_VICTIMS_H_
#define BERTH_SRC_ENGINE_AWAITED_VICTIMS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "berth/api/identity_map.h"
#include "berth/framework/pod_info.h"

namespace berth {

// A group that starts whole evicts no pod that could have stayed. So as long as nothing else has
// happened since, and some of its victims are still leaving, the departure of the others is no
// reason to try it again: it would fail, with a new message for each member. Belongs to the
// scheduling thread.
class AwaitedVictims {
 public:
  // The group is tried: something else has happened, and there may be room before all have gone.
  void Tried(const std::string& group) {
    const auto plan = plans_.find(group);
    if (plan == plans_.end()) return;
    plan->second->stands = false;
    plans_.erase(plan);
  }
  // `victim` was asked to go, for the group.
  void Add(const std::string& group, const PodInfo& victim) {
    std::shared_ptr<Plan>& plan = plans_[group];
    if (plan == nullptr) plan = std::make_shared<Plan>(Plan{group});
    std::shared_ptr<Plan>& of = *of_victim_.FindOrAdd(victim.identity()).first;
    if (of != nullptr) --of->victims;
    of = plan;
    ++plan->victims;
  }
  // Groups, or empty.
  struct Departure {
    std::string in_vain_for;     // there is no use in trying it
    std::string makes_room_for;  // it is to be tried. Hints would go by this victim
  };
  Departure Gone(UidRef victim) {
    const std::shared_ptr<Plan> plan = Take(victim);
    if (plan == nullptr || !plan->stands) return {};
    plan->some_are_gone = true;
    if (plan->victims > 0) return {.in_vain_for = plan->group};
    plans_.erase(plan->group);
    return {.makes_room_for = plan->group};
  }
  // It stays after all, and the plan falls. Returns the group if it is to be tried, as what has
  // left was not put to it; else nothing.
  std::string Stays(UidRef victim) {
    const std::shared_ptr<Plan> plan = Take(victim);
    if (plan == nullptr || !plan->stands) return "";
    plan->stands = false;
    plans_.erase(plan->group);
    return plan->some_are_gone ? plan->group : "";
  }

 private:
  struct Plan {
    std::string group;
    int victims = 0;  // that are still there
    bool some_are_gone = false;
    bool stands = true;
  };

  // The plan of which it is no victim any more; null if it was of none.
  std::shared_ptr<Plan> Take(UidRef victim) {
    std::shared_ptr<Plan>* const of = of_victim_.Find(victim);
    if (of == nullptr) return nullptr;
    std::shared_ptr<Plan> plan = std::move(*of);
    of_victim_.Erase(victim);
    --plan->victims;
    return plan;
  }

  IdentityMap<std::shared_ptr<Plan>, ByUid> of_victim_;
  absl::flat_hash_map<std::string, std::shared_ptr<Plan>> plans_;  // that stand, by group
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_AWAITED_VICTIMS_H_
