// SPDX-License-Identifier: Apache-2.0
// Implementation of group_preemption.h.
#include "engine/group_preemption.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "berth/preemption/preemption.h"
#include "engine/group_classes.h"
#include "engine/group_eviction_bound.h"
#include "engine/group_preemption_draft.h"
#include "engine/group_shortage.h"
#include "engine/member_dependencies.h"
#include "engine/pod_set_room.h"
#include "engine/pod_set_search.h"
#include "engine/post_filter_bounds.h"

namespace berth {

VictimsCost GroupPreemption::CostOf(const AttemptResult& result) {
  VictimsCost cost;
  std::vector<std::shared_ptr<const PodInfo>> victims;
  for (const AttemptResult::Plan& plan : result.plans) {
    for (const auto& victim : plan.result.victims) cost.Add(*victim);
    victims.insert(victims.end(), plan.result.victims.begin(), plan.result.victims.end());
  }
  const DisruptionBudgets& budgets = cluster_.budgets();
  if (!budgets.empty()) {
    cost.pdb_violations = static_cast<int>(SplitByBudget(victims, budgets).violating.size());
  }
  return cost;
}

namespace {

using PodPtr = std::shared_ptr<const PodInfo>;
using PodSpan = absl::Span<const PodPtr>;

// Pods that are being deleted, each less important than all members: a single pod that is nominated
// evicts nobody else while it waits for such pods.
std::vector<PodPtr> PodsThatLeave(const AttemptRequest& request, const ClusterState& cluster) {
  int32_t lowest = request.pods.front()->priority();
  for (const PodPtr& pod : request.pods) lowest = std::min(lowest, pod->priority());
  std::vector<PodPtr> leaving;
  for (const NodeRow row : cluster.RowsWithLeavingPods()) {
    for (const PodPtr& pod : cluster.nodes().node(row).pods()) {
      if (pod->deletion_time().has_value() && pod->priority() < lowest) leaving.push_back(pod);
    }
  }
  return leaving;
}

// `tried_evictions`: before all victims were spared.
std::string PlanText(int victims, bool tried_evictions, bool waits_for_pods) {
  if (victims > 0) {
    return absl::StrCat(victims, victims == 1 ? " pod is" : " pods are",
                        " evicted to make room for it.");
  }
  if (waits_for_pods) return "It waits for pods that are leaving.";
  return tried_evictions ? "It has room without evictions, where it is nominated."
                         : "It waits for devices of claims that nobody uses any more.";
}

// Whether any pod on a node may be evicted for one of these. Rules of plugins go by more than
// priority.
bool AnyMayBeEvicted(const AttemptRequest& request, const NodeTable& nodes) {
  int32_t highest = std::numeric_limits<int32_t>::min();
  for (const PodPtr& pod : request.pods) highest = std::max(highest, pod->priority());
  return HasVictimRules(request) || nodes.AnyPriorityBelow(highest);
}

// Groups of which it is cheap to make several plans.
bool IsSmall(const AttemptRequest& request) {
  constexpr size_t kMostMembers = 32;
  return !request.quorum.has_parts() && request.pods.size() <= kMostMembers;
}

constexpr char kNobodyMayGo[] = "No pod may be evicted for it.";
constexpr char kNoMoreRoom[] = "Evictions would make no more room.";
constexpr char kInVainByPacking[] =
    "Evictions do not help: without all pods that may be evicted there is no place either.";

bool IsLessImportant(const PodPtr& a, const PodPtr& b) { return a->priority() < b->priority(); }

bool DifferInPriority(const AttemptRequest& request) {
  const auto [lowest, highest] = absl::c_minmax_element(request.pods, IsLessImportant);
  return IsLessImportant(*lowest, *highest);
}

// Whether it may matter which pods go first: for some plugin they may leave a quota too little for
// the next to go. Only of small groups, as each order is a plan of its own.
bool OrderOfVictimsMayDecide(const AttemptRequest& request) {
  return IsSmall(request) && HasVictimRules(request);
}

// Whether a plan takes pods off another node than its own, as a group ends, and another plan makes
// room there.
bool PlansOverlap(const AttemptResult& result, const ClusterState& cluster) {
  return absl::c_any_of(result.plans, [&](const AttemptResult::Plan& plan) {
    return absl::c_any_of(plan.result.victims, [&](const PodPtr& victim) {
      const CachedPod* const known = cluster.cache().FindPod(*victim->identity());
      return known != nullptr &&
             plan.result.nominated_node.value_or("") != known->node_name.view() &&
             absl::c_any_of(result.plans, [&](const AttemptResult::Plan& other) {
               return &other != &plan &&
                      other.result.nominated_node.value_or("") == known->node_name.view();
             });
    });
  });
}
constexpr int kMostElsewhere = 3;

// Whether some PostFilter plugin might do something for one of these pods.
bool MayAnyHelp(const Framework& framework, PodSpan pods) {
  const PostFilterBounds bounds(framework);
  const PodInfo* last = nullptr;
  return absl::c_any_of(pods, [&](const PodPtr& pod) {
    if (last != nullptr && AreEquivalent(*pod, *last)) return false;
    last = pod.get();
    return bounds.MayAnyHelp(*pod);
  });
}

}  // namespace

// Each part of a group is a pod set that goes anywhere.
std::vector<PodSet> PartsAsPodSets(const AttemptRequest& request) {
  std::vector<PodSet> pod_sets(request.quorum.counts());
  for (size_t i = 0; i < request.pods.size(); ++i) {
    pod_sets[request.PartOf(i)].pods.push_back(request.pods[i]);
  }
  for (int part = 0; part < request.quorum.counts(); ++part) {
    pod_sets[part].minimum = request.quorum.MissingIn(part);
    pod_sets[part].placements = {request.placement};
  }
  pod_sets.erase(std::remove_if(pod_sets.begin(), pod_sets.end(),
                                [](const PodSet& pod_set) { return pod_set.pods.empty(); }),
                 pod_sets.end());
  return pod_sets;
}

GroupPreemption::MemberOrder GroupPreemption::HardestFirst(const AttemptRequest& request,
                                                           DraftOrder draft_order) const {
  if (draft_order == DraftOrder::kHardestIfEmptyFirst) {
    PodSet all;
    all.pods.assign(request.pods.begin(), request.pods.end());
    const PodSetRoom room(*request.framework, cluster_.nodes(), all);
    if (room.of_one_kind()) return {};
    return room.HardestIfEmptyFirst(request.placement);
  }
  const std::vector<MemberClass> classes = ClassifyMembers(request, cluster_);
  MemberOrder order;
  if (classes.size() == 1) return order;
  for (const MemberClass& members : classes) {
    order.insert(order.end(), members.pods.begin(), members.pods.end());
  }
  return order;
}

// Returns whether it is a plan. `tried`: the orders in which the hardest were first.
bool GroupPreemption::MakeDraft(const AttemptRequest& request, DraftOrder draft_order,
                                const std::vector<PodSet>& pod_sets,
                                std::vector<MemberOrder>& tried, Draft& draft) {
  if (draft_order == DraftOrder::kCheapestPodSetsFirst ||
      draft_order == DraftOrder::kHardestPodSetsFirst) {
    const auto pod_set_order = draft_order == DraftOrder::kCheapestPodSetsFirst
                                   ? Draft::PodSetOrder::kCheapestFirst
                                   : Draft::PodSetOrder::kHardestFirst;
    return draft.PlacePodSetsByEvicting(pod_sets, pod_set_order);
  }
  MemberOrder order(request.pods.begin(), request.pods.end());
  if (draft_order == DraftOrder::kFittingFirst || draft_order == DraftOrder::kElsewhereFirst) {
    draft.PlaceWithoutEvictions(order);
  } else if (draft_order == DraftOrder::kLeastImportantFirst) {
    if (!DifferInPriority(request)) return false;
    absl::c_stable_sort(order, IsLessImportant);
  } else if (draft_order == DraftOrder::kNeededFirst) {
    order = NeededFirst(order);
    if (order.empty()) return false;
  } else {
    order = HardestFirst(request, draft_order);
    if (order.empty() || absl::c_linear_search(tried, order)) return false;
    tried.push_back(order);
  }
  return draft.PlaceByEvicting(order);
}

// `result` says why not, if not.
bool GroupPreemption::MayAnyEvictionsHelp(const AttemptRequest& request,
                                          const std::optional<GroupShortage>& shortage,
                                          AttemptResult& result) const {
  if (!MayAnyHelp(*request.framework, PodSpan(request.pods.data(), request.pods.size()))) {
    if (!result.finding.empty()) result.evictions_finding = kNobodyMayGo;
    result.evictions_are_in_vain = true;
    return false;
  }
  if (!shortage.has_value()) return true;
  const std::optional<int64_t> room = RoomByEvictionsAtMost(request, *shortage, cluster_);
  if (!room.has_value()) {
    if (shortage->of_one_kind || !AreTooManyWithEvictions(request, cluster_)) return true;
    result.evictions_are_in_vain = true;
    result.evictions_finding = kInVainByPacking;
    return false;
  }
  result.evictions_are_in_vain = true;
  result.evictions_finding = *room > shortage->room
                                 ? absl::StrCat("Evictions would make room for at most ", *room,
                                                " of ", shortage->members, ".")
                                 : kNoMoreRoom;
  return false;
}

bool GroupPreemption::TryOrders(const AttemptRequest& request, absl::Span<const DraftOrder> orders,
                                const std::vector<PodSet>& pod_sets, PodSpan leaving,
                                OrdersTried& tried, AttemptResult& result) {
  std::vector<DraftOrder> all_orders(orders.begin(), orders.end());
  if (pod_sets.empty() && OrderOfVictimsMayDecide(request)) {
    all_orders.insert(all_orders.end(), kMostElsewhere, DraftOrder::kElsewhereFirst);
  }
  bool none_fits = false;
  std::vector<NodeRow> tried_first;
  std::vector<MemberOrder> tried_orders;
  for (const DraftOrder draft_order : all_orders) {
    if (none_fits && draft_order != DraftOrder::kNeededFirst) continue;
    if (draft_order == DraftOrder::kElsewhereFirst && tried_first.empty()) break;
    Draft draft(request, cluster_, pod_scheduler_, leaving);
    if (draft_order == DraftOrder::kElsewhereFirst) draft.EvictFirstElsewhere(tried_first);
    const bool is_plan = MakeDraft(request, draft_order, pod_sets, tried_orders, draft);
    if (is_plan) Adopt(!leaving.empty(), draft, result);
    result.cycles += draft.cycles();
    result.post_filters += draft.post_filters();
    if (is_plan) return true;
    if (draft.cycles() == 0) continue;  // nothing was tried: the order is the same as before
    ++tried.orders;
    if (draft.evicts()) tried_first.push_back(draft.first_row());
    if (draft_order != DraftOrder::kElsewhereFirst) tried.gives_up = draft.gives_up();
    tried.retry_at = std::min(tried.retry_at, draft.retry_at());
    if (draft.evicts()) tried.most = std::max(tried.most, draft.most_placed());
    // No more would go in another order, unless those that fit are in the way, or one was tried
    // before the one that it needs, or that makes room for it.
    if (draft_order != DraftOrder::kLeastImportantFirst) {
      none_fits = !draft.evicts() && draft.most_placed() == 0;
    }
  }
  return false;
}

// The draft is a plan.
void GroupPreemption::Adopt(bool any_leaving, Draft& draft, AttemptResult& result) {
  draft.SpareVictims();
  draft.Carry(result);
  result.answer = GroupAnswer::kPlan;
  result.finding = PlanText(CostOf(result).victims, draft.evicts(), any_leaving);
}

// Why there is no plan, as far as is known.
void GroupPreemption::SayWhatWasTried(const AttemptRequest& request, const OrdersTried& tried,
                                      const EvictionSearch& search, bool any_leaving,
                                      AttemptResult& result) const {
  if (search.answer == GroupAnswer::kInfeasible) {
    result.evictions_are_in_vain = true;
    if (search.pods > 0) {
      result.evictions_finding = absl::StrCat("Evictions do not help: without the ", search.pods,
                                              search.pods == 1 ? " pod" : " pods",
                                              " that may be evicted there is no place either.");
    } else {
      result.evictions_finding =
          AnyMayBeEvicted(request, cluster_.nodes()) ? kNoMoreRoom : kNobodyMayGo;
    }
    return;
  }
  const std::string undecided =
      search.possibilities == 0
          ? ": undecided."
          : absl::StrCat(": undecided after ", search.possibilities, " possibilities.");
  const std::string tried_in = absl::StrCat("Evictions were tried in ", tried.orders,
                                            tried.orders == 1 ? " order" : " orders");
  if (tried.most > 0 && tried.most < request.minimum) {
    result.placeable_by_evictions = tried.most;
    result.evictions_finding = absl::StrCat(tried_in, " and make room for ", tried.most, " of ",
                                            request.minimum, undecided);
  } else if (tried.orders > 0 && !any_leaving && tried.retry_at == absl::InfiniteFuture()) {
    result.evictions_finding = AnyMayBeEvicted(request, cluster_.nodes())
                                   ? absl::StrCat(tried_in, " and make no room for it", undecided)
                                   : kNobodyMayGo;
  }
}

void GroupPreemption::PlanEvictions(const AttemptRequest& request,
                                    absl::Span<const DraftOrder> orders,
                                    const std::vector<PodSet>& pod_sets,
                                    const std::optional<GroupShortage>& shortage,
                                    AttemptResult& result) {
  if (request.framework->plugins().post_filter.empty()) return;
  if (result.failed.front().status.IsError()) return;
  OrdersTried tried;
  if (MayAnyEvictionsHelp(request, shortage, result)) {
    const std::vector<PodPtr> leaving = PodsThatLeave(request, cluster_);
    if (TryOrders(request, orders, pod_sets, leaving, tried, result)) return;
    const EvictionSearch search = PlanBySearch(request, pod_sets, leaving, result);
    if (search.answer == GroupAnswer::kPlan) return;
    SayWhatWasTried(request, tried, search, !leaving.empty(), result);
  } else {
    // A member that may not preempt waits for no pod that it could evict.
    tried.gives_up = absl::c_any_of(request.pods, [](const PodPtr& pod) {
      return pod->preemption_policy() != PreemptionPolicy::kNever;
    });
  }
  if (tried.retry_at < absl::InfiniteFuture()) {
    PodFailure& told = result.failed.front();
    told.waiting = WhyVictimsMayNotGoYet(*told.waiting, tried.retry_at);
  }
  for (PodFailure& failure : result.failed) {
    if (failure.rejecting_plugins.empty()) continue;
    WaitForPostFilter(*request.framework, *failure.pod, failure.rejecting_plugins);
  }
  if (tried.gives_up) EndNominations(request, result);
}

void GroupPreemption::EndNominations(const AttemptRequest& request, AttemptResult& result) const {
  if (cluster_.nominations().size() == 0) return;
  for (const PodPtr& pod : request.pods) {
    if (cluster_.nominations().NominatedNode(*pod).empty()) continue;
    FailureOf(pod, "has no place any more", result).nominated_node = "";
  }
}

void GroupPreemption::Plan(const AttemptRequest& request,
                           const std::optional<GroupShortage>& shortage, AttemptResult& result) {
  // Those that fit first leave the least to be evicted; if they are in the way of the others, the
  // less important are first, who find fewer victims, the hardest, and then those that others need.
  if (!request.quorum.has_parts()) {
    return PlanEvictions(
        request,
        {DraftOrder::kFittingFirst, DraftOrder::kLeastImportantFirst, DraftOrder::kHardestFirst,
         DraftOrder::kHardestIfEmptyFirst, DraftOrder::kNeededFirst},
        {}, shortage, result);
  }
  std::vector<DraftOrder> orders = {DraftOrder::kCheapestPodSetsFirst,
                                    DraftOrder::kHardestPodSetsFirst};
  // Where all have to start, members of different parts may take turns.
  const bool all = request.minimum == static_cast<int>(request.pods.size());
  if (all) {
    orders.push_back(DraftOrder::kLeastImportantFirst);
    orders.push_back(DraftOrder::kHardestFirst);
    orders.push_back(DraftOrder::kHardestIfEmptyFirst);
    orders.push_back(DraftOrder::kNeededFirst);
  }
  PlanEvictions(request, orders, PartsAsPodSets(request), shortage, result);
}

void GroupPreemption::PlanTogether(const AttemptRequest& request, AttemptResult& result) {
  if (result.plans.size() < 2 || !IsSmall(request)) return;
  if (!HasVictimRules(request) && !PlansOverlap(result, cluster_)) return;
  AttemptRequest planned = request;
  planned.pods.clear();
  for (const AttemptResult::Plan& plan : result.plans) planned.pods.push_back(plan.pod);
  planned.minimum = static_cast<int>(planned.pods.size());
  planned.quorum = Quorum(planned.minimum);
  AttemptResult other;
  other.failed.push_back(result.failed.front());
  {
    Transaction transaction(cluster_, result.placed);
    for (const Binder::Member& member : result.placed) {
      transaction.Nominate(member.placement.pod, "");
    }
    Plan(planned, std::nullopt, other);
  }
  result.cycles += other.cycles;
  result.post_filters += other.post_filters;
  if (other.answer != GroupAnswer::kPlan || !(CostOf(other) < CostOf(result))) return;
  result.plans = std::move(other.plans);
  for (const PodFailure& failure : other.failed) {
    if (!failure.nominated_node.has_value()) continue;
    FailureOf(failure.pod, failure.message, result).nominated_node = failure.nominated_node;
  }
}

void GroupPreemption::PlanPodSets(const AttemptRequest& request,
                                  const std::vector<PodSet>& pod_sets, AttemptResult& result) {
  PlanEvictions(request, {DraftOrder::kCheapestPodSetsFirst, DraftOrder::kHardestPodSetsFirst},
                pod_sets, std::nullopt, result);
}

}  // namespace berth
