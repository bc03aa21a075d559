// SPDX-License-Identifier: Apache-2.0
// Preemption by a group as a whole: which pods are to be evicted, on whatever nodes, so that it
// starts.
#ifndef BERTH_SRC_ENGINE_GROUP_PREEMPTION_H_
#define BERTH_SRC_ENGINE_GROUP_PREEMPTION_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/group_shortage.h"
#include "engine/pod_scheduler.h"
#include "engine/pod_sets.h"
#include "engine/transaction.h"

namespace berth {

// What evictions cost: first how many of them violate a PodDisruptionBudget, then the highest
// priority among the victims, then how many they are.
struct VictimsCost {
  int pdb_violations = 0;
  int32_t highest_priority = std::numeric_limits<int32_t>::min();
  int victims = 0;

  void Add(const PodInfo& victim) {
    highest_priority = std::max(highest_priority, victim.priority());
    ++victims;
  }
  friend bool operator<(const VictimsCost& a, const VictimsCost& b) {
    if (a.pdb_violations != b.pdb_violations) return a.pdb_violations < b.pdb_violations;
    return a.highest_priority != b.highest_priority ? a.highest_priority < b.highest_priority
                                                    : a.victims < b.victims;
  }
};

// A plan is made in a transaction: where a member fits nowhere, PostFilter names victims,
// which are taken off at once, and the member is placed there; so the next members see the room
// and the quota that is left. It is a plan only if the group reaches its minimum so; then as many
// of the evicted pods as can stay are put back. In the end everything is rolled back: the victims
// are there until they have gone. Scheduling thread.
class GroupPreemption {
 public:
  // Both outlive this.
  GroupPreemption(ClusterState& cluster, PodScheduler& pod_scheduler)
      : cluster_(cluster), pod_scheduler_(pod_scheduler) {}

  // For a group that missed its minimum. Adds to `result` what is to be done: the victims of each
  // member, and all nominations, which hold the places until the group starts or gives up. If a
  // shortage is known, sums may say that no evictions end it.
  void Plan(const AttemptRequest& request, const std::optional<GroupShortage>& shortage,
            AttemptResult& result);
  // The same for a group whose members have to be together in sets, each in one of its placements.
  void PlanPodSets(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                   AttemptResult& result);
  // For a group that starts, or has started: what does not start of it (a part with all that is
  // below it, a pod set) evicts as a group of its own would. `pod_sets`: as above, or empty if
  // members go anywhere. Adds to `result`.
  void PlanMore(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                AttemptResult& result);

  // For members that are planned one by one, as they are beyond the minimum, and each evict: a plan
  // for all of them together takes the place of theirs if it costs less. An earlier one evicts
  // what nobody needs once the later ones have evicted. Where plugins have VictimRules, or where
  // the end of a group for one makes room for another.
  void PlanTogether(const AttemptRequest& request, AttemptResult& result);

  // For a group that no eviction would help: what is held for its members is for others.
  void EndNominations(const AttemptRequest& request, AttemptResult& result) const;

  // What all plans of an attempt cost.
  VictimsCost CostOf(const AttemptResult& result);

 private:
  class Draft;
  // A part of a group, as a group of its own.
  struct Rest {
    AttemptRequest request;
    std::vector<PodSet> pod_sets;
  };
  static std::vector<Rest> WhatDoesNotStart(const AttemptRequest& request,
                                            const std::vector<PodSet>& pod_sets,
                                            const AttemptResult& result);

  enum class DraftOrder : uint8_t {
    kFittingFirst,
    kHardestFirst,         // those of which the fewest nodes let one in as it is
    kHardestIfEmptyFirst,  // those that have the fewest places if there were no other pods
    kLeastImportantFirst,  // those that may evict the fewest pods
    kNeededFirst,          // as NeededFirst() orders them
    kElsewhereFirst,       // as kFittingFirst, but the first pods go on another node than before
    kCheapestPodSetsFirst,
    kHardestPodSetsFirst
  };
  using MemberOrder = std::vector<std::shared_ptr<const PodInfo>>;
  // Empty if all members are alike.
  MemberOrder HardestFirst(const AttemptRequest& request, DraftOrder draft_order) const;
  bool MakeDraft(const AttemptRequest& request, DraftOrder draft_order,
                 const std::vector<PodSet>& pod_sets, std::vector<MemberOrder>& tried,
                 Draft& draft);
  // What came of the orders, if not a plan.
  struct OrdersTried {
    int orders = 0;
    int most = 0;           // members that had a place in one of them
    bool gives_up = false;  // PostFilter sees no way, and no member waits for a pod to leave
    absl::Time retry_at = absl::InfiniteFuture();
  };
  bool TryOrders(const AttemptRequest& request, absl::Span<const DraftOrder> orders,
                 const std::vector<PodSet>& pod_sets,
                 absl::Span<const std::shared_ptr<const PodInfo>> leaving, OrdersTried& tried,
                 AttemptResult& result);
  // What a search came to, of a plan that no order found.
  struct EvictionSearch {
    GroupAnswer answer = GroupAnswer::kNone;  // kNone: there was nothing to search
    int pods = 0;                             // without so many it was searched last
    int64_t possibilities = 0;
    int64_t steps = 0;  // that it took
  };
  // As FindPlanBySearch(). What came to nothing undecided is not searched again before a time that
  // goes by what it took; then the attempt is to be repeated: `result` says so.
  EvictionSearch PlanBySearch(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                              absl::Span<const std::shared_ptr<const PodInfo>> leaving,
                              AttemptResult& result);
  // The search for placements says where the group has room if all pods are gone that might go, and
  // there its members evict. Pods that may not go after all stay, and it is searched again. No
  // place without all of them is a proof that no evictions help.
  EvictionSearch FindPlanBySearch(const AttemptRequest& request,
                                  const std::vector<PodSet>& pod_sets,
                                  absl::Span<const std::shared_ptr<const PodInfo>> leaving,
                                  AttemptResult& result);
  void Adopt(bool any_leaving, Draft& draft, AttemptResult& result);
  void SayWhatWasTried(const AttemptRequest& request, const OrdersTried& tried,
                       const EvictionSearch& search, bool any_leaving, AttemptResult& result) const;
  // In these orders, then by the search.
  void PlanEvictions(const AttemptRequest& request, absl::Span<const DraftOrder> orders,
                     const std::vector<PodSet>& pod_sets,
                     const std::optional<GroupShortage>& shortage, AttemptResult& result);
  bool MayAnyEvictionsHelp(const AttemptRequest& request,
                           const std::optional<GroupShortage>& shortage,
                           AttemptResult& result) const;

  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  // Searches that came to nothing undecided, by what was searched for.
  struct InVain {
    EvictionSearch search;
    absl::Time until;  // not searched again before
  };
  absl::flat_hash_map<std::string, InVain> in_vain_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_PREEMPTION_H_
