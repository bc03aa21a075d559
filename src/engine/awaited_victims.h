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

// A group that starts whole evicts nobody who could have stayed. So as long as nothing else has
// happened since, and some of its victims are still leaving, the departure of the others is no
// reason to try it again: it would fail, and that be written into each member. Belongs to the
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
  // The pod was asked to go, for the group.
  void Add(const std::string& group, const PodInfo& victim) {
    std::shared_ptr<Plan>& plan = plans_[group];
    if (plan == nullptr) plan = std::make_shared<Plan>(Plan{group});
    std::shared_ptr<Plan>& of = *of_victim_.FindOrAdd(victim.identity()).first;
    if (of != nullptr) --of->victims;
    of = plan;
    ++plan->victims;
  }
  // It is gone, or stays after all. Returns the group if there is no use in trying it; else
  // nothing.
  std::string Remove(UidRef victim) {
    std::shared_ptr<Plan>* const of = of_victim_.Find(victim);
    if (of == nullptr) return "";
    const std::shared_ptr<Plan> plan = std::move(*of);
    of_victim_.Erase(victim);
    if (--plan->victims == 0 && plan->stands) plans_.erase(plan->group);
    return plan->stands && plan->victims > 0 ? plan->group : "";
  }

 private:
  struct Plan {
    std::string group;
    int victims = 0;  // that are still there
    bool stands = true;
  };

  IdentityMap<std::shared_ptr<Plan>, ByUid> of_victim_;
  absl::flat_hash_map<std::string, std::shared_ptr<Plan>> plans_;  // that stand, by group
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_AWAITED_VICTIMS_H_
