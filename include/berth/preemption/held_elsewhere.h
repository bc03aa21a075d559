// SPDX-License-Identifier: Apache-2.0
// What pods hold together, or on other nodes: for preemption over several nodes.
#ifndef BERTH_PREEMPTION_HELD_ELSEWHERE_H_
#define BERTH_PREEMPTION_HELD_ELSEWHERE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/api/symbol.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/preemption/victim_rules.h"

namespace berth {

// Something that comes free when all of its users have gone, on whatever nodes they are: a claim
// with devices of a network.
struct SharedHolding {
  VictimUnit users;
  bool on_all_nodes = false;  // can be used; else:
  std::vector<Symbol> on_nodes;

  bool CanBeUsedOn(Symbol node) const {
    return on_all_nodes || absl::c_linear_search(on_nodes, node);
  }
  bool HasUserElsewhere(Symbol node) const {
    return absl::c_any_of(users.nodes, [node](Symbol other) { return other != node; });
  }
};

// Handle::Shared<SharedHoldings>(): the holdings that `pod` could use, from a plugin for which the
// profile allows evictions for what pods hold. Preemption calls it where
// evictions on no single node make room for the pod. Scheduling thread.
class SharedHoldings {
 public:
  // With the state of the pod after PreFilter. Without those whose users cannot be evicted.
  using Find = std::function<std::vector<SharedHolding>(const CycleState&, const PodInfo&)>;

  void Set(absl::string_view profile, Find find) { of_profile_[profile] = std::move(find); }
  std::vector<SharedHolding> For(absl::string_view profile, const CycleState& state,
                                 const PodInfo& pod) const {
    const auto find = of_profile_.find(profile);
    return find == of_profile_.end() ? std::vector<SharedHolding>() : find->second(state, pod);
  }

 private:
  absl::flat_hash_map<std::string, Find> of_profile_;
};

// Handle::Shared<PossibleVictims>(): whom the plugins of a profile evict for a pod at all, where
// that is enough. Each plugin that evicts adds a test, and keeps the pointer; where none has, pods
// of a lower priority may go. Scheduling thread.
class PossibleVictims {
 public:
  using Test = std::function<bool(const PodInfo& victim, const PodInfo& pod)>;

  // The test of that plugin.
  void Add(absl::string_view profile, absl::string_view plugin, Test test) {
    of_profile_[profile].insert_or_assign(plugin, std::move(test));
  }
  // Whether some plugin may evict `victim` for `pod`.
  bool Include(absl::string_view profile, const PodInfo& victim, const PodInfo& pod) const {
    const auto tests = of_profile_.find(profile);
    if (tests == of_profile_.end()) return AreLessImportant(victim, pod);
    return absl::c_any_of(tests->second,
                          [&](const auto& test) { return test.second(victim, pod); });
  }
  static bool AreLessImportant(const PodInfo& victim, const PodInfo& pod) {
    return victim.priority() < pod.priority();
  }

 private:
  absl::flat_hash_map<std::string, absl::flat_hash_map<std::string, Test>> of_profile_;
};

}  // namespace berth

#endif  // BERTH_PREEMPTION_HELD_ELSEWHERE_H_
