// SPDX-License-Identifier: Apache-2.0
// Implementation of group_preemption.h: plans for groups that no order of members found one for.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/api/core_v1.pb.h"
#include "berth/preemption/victim_rules.h"
#include "engine/group_eviction_bound.h"
#include "engine/group_preemption.h"
#include "engine/group_preemption_draft.h"
#include "engine/group_shortage.h"
#include "group/group_victims.h"
#include "search/room.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// For members with claims, devices are allocated on each node in each step: fewer steps, and fewer
// pods whose devices are free.
constexpr int64_t kStepsOfAllocation = 16;
constexpr size_t kMostPodsBesideClaims = 64;
// Where victims go by rules of a plugin, quotas follow each pod that is taken off, and the plugin
// plans anew for each member.
constexpr size_t kMostPodsByRules = 64;
constexpr int64_t kStepsOfPlanByRules = 100;

// Pods that may be evicted for some member, as far as is known before a plan is made.
struct PodsThatMayGo {
  std::vector<PodPtr> pods;
  bool is_all = false;    // no others may go, by whatever plan
  int64_t looked_at = 0;  // pods, to find these
};

// Nodes on which some member might run if they had no pods of a lower priority than that.
class RowsOfUse {
 public:
  RowsOfUse(const AttemptRequest& request, const NodeTable& nodes, int32_t priority)
      : nodes_(nodes), priority_(priority) {
    constexpr size_t kMostKinds = 8;  // of more the sums are not worth their time
    std::vector<const PodInfo*> kinds;
    for (const PodPtr& pod : request.pods) {
      const bool is_known = absl::c_any_of(kinds, [&](const PodInfo* kind) {
        return pod->SharesSpec(*kind) || pod->requests() == kind->requests();
      });
      if (is_known || kinds.size() > kMostKinds) continue;
      kinds.push_back(pod.get());
      const std::optional<PodNeed> need = FindNeed(*request.framework, nodes, *pod);
      all_ = all_ || !need.has_value() || kinds.size() > kMostKinds;
      if (need.has_value()) needs_.push_back(need->needed);
    }
  }
  bool Contain(NodeRow row) const {
    return all_ || absl::c_any_of(needs_, [&](const NeededResources& needed) {
             return RoomWithoutPodsBelow(needed, nodes_, {&row, 1}, priority_, 1) > 0;
           });
  }

 private:
  const NodeTable& nodes_;
  const int32_t priority_;
  std::vector<NeededResources> needs_;
  bool all_ = false;
};

// Less important pods where members might run: of groups that cannot end, none if they have none to
// spare. No more than `most`. PostFilter plugins that say nothing are taken to evict these; whether
// they do is seen when a plan is made.
PodsThatMayGo LessImportantPods(const AttemptRequest& request, const ClusterState& cluster,
                                size_t most) {
  PodsThatMayGo found{{}, true};
  int32_t highest = std::numeric_limits<int32_t>::min();
  for (const PodPtr& pod : request.pods) highest = std::max(highest, pod->priority());
  const GroupVictims group_victims(cluster.groups());
  const auto may_end_or_shrink = [&](const GroupMembers& group) {
    return group_victims.Surplus(group) > 0 ||
           absl::c_none_of(group.members(), [&](const GroupMember& member) {
             return !member.node_name.empty() && member.pod->priority() >= highest;
           });
  };
  absl::flat_hash_map<const GroupMembers*, bool> groups;
  const auto may_go = [&](const PodInfo& pod) {
    if (pod.priority() >= highest || pod.deletion_time().has_value()) return false;
    const GroupMembers* const group = cluster.groups().GroupWith(pod);
    if (group == nullptr) return true;
    if (group->name() == request.group) return false;
    const auto [known, is_new] = groups.try_emplace(group, false);
    if (is_new) known->second = may_end_or_shrink(*group);
    return known->second;
  };
  const NodeTable& nodes = cluster.nodes();
  const RowsOfUse rows_of_use(request, nodes, highest);
  const auto add_row = [&](NodeRow row) {
    if (nodes.lowest_priority()[row] >= highest || !rows_of_use.Contain(row)) return;
    found.looked_at += static_cast<int64_t>(nodes.node(row).pods().size());
    for (const PodPtr& pod : nodes.node(row).pods()) {
      if (!may_go(*pod)) continue;
      if (found.pods.size() == most) {
        found.is_all = false;
        return;
      }
      found.pods.push_back(pod);
    }
  };
  if (request.placement != nullptr) {
    for (const NodeRow row : request.placement->rows) add_row(row);
  } else {
    for (NodeRow row = 0; row < nodes.size(); ++row) add_row(row);
  }
  return found;
}

// What plugins with VictimRules offer: who may go changes with who is gone.
PodsThatMayGo PodsByVictimRules(const AttemptRequest& request, const ClusterState& cluster,
                                size_t most) {
  PodsThatMayGo found;
  std::vector<const PodInfo*> preemptors;
  for (const PodPtr& pod : request.pods) preemptors.push_back(pod.get());
  CycleState state;
  state.SetPlacement(request.placement);
  request.framework->filters().RunPreFilter(state, *preemptors.front(), cluster.nodes());
  for (const Hook<PostFilterPlugin>& hook : request.framework->plugins().post_filter) {
    auto* const rules = dynamic_cast<VictimRules*>(hook.plugin);
    std::unique_ptr<VictimTrial> trial;
    if (rules == nullptr || !rules->BeginTrial(state, preemptors, trial).ok()) continue;
    const std::vector<VictimUnit> units = trial->Units();
    found.looked_at += static_cast<int64_t>(units.size());
    for (const VictimUnit& unit : units) {
      for (const PodPtr& pod : unit.pods) {
        if (found.pods.size() == most) return found;
        const bool counts = !pod->deletion_time().has_value() &&
                            cluster.groups().GroupOfPod(pod->uid()) != request.group &&
                            !absl::c_linear_search(found.pods, pod);
        if (counts) found.pods.push_back(pod);
      }
    }
  }
  return found;
}

// What it takes to list pods, to take them off and to try members stays a hundredth of the time, at
// some 0.1 ms a step: so much later it is searched again. No later than the longest backoff.
constexpr absl::Duration kPausePerStep = absl::Milliseconds(10);
constexpr absl::Duration kLongestPause = absl::Seconds(10);
constexpr int64_t kListedInAStep = 16;

// Members of a group that are placed together in one domain.
std::string SearchKey(const AttemptRequest& request) {
  return absl::StrCat(
      request.group, "\n", request.placement != nullptr ? request.placement->name : "", "\n",
      request.pods.front()->uid(), "\n", request.pods.size(), "\n", request.minimum);
}

}  // namespace

GroupPreemption::EvictionSearch GroupPreemption::PlanBySearch(
    const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
    absl::Span<const std::shared_ptr<const PodInfo>> leaving, AttemptResult& result) {
  const std::string key = SearchKey(request);
  if (const auto known = in_vain_.find(key); known != in_vain_.end()) {
    if (request.now < known->second.until) {
      result.retry_at = std::min(result.retry_at, known->second.until);
      return known->second.search;
    }
    in_vain_.erase(known);
  }
  const EvictionSearch search = FindPlanBySearch(request, pod_sets, leaving, result);
  if (search.answer == GroupAnswer::kUndecided) {
    constexpr size_t kMostKept = 1024;
    if (in_vain_.size() >= kMostKept) {
      absl::erase_if(in_vain_, [&](const auto& kept) { return kept.second.until <= request.now; });
    }
    const absl::Duration pause = std::min(kLongestPause, kPausePerStep * search.steps);
    in_vain_[key] = {search, request.now + pause};
  }
  return search;
}

GroupPreemption::EvictionSearch GroupPreemption::FindPlanBySearch(
    const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
    absl::Span<const std::shared_ptr<const PodInfo>> leaving, AttemptResult& result) {
  EvictionSearch search;
  // Where room is held for it, it waits for that.
  if (request.group_search_steps == 0 || AnyNominated(request, cluster_)) return search;
  const bool have_claims = absl::c_any_of(
      request.pods, [](const PodPtr& pod) { return !pod->spec().resource_claims().empty(); });
  auto most = static_cast<size_t>(request.group_search_steps);
  if (have_claims) most = std::min(most, kMostPodsBesideClaims);
  const bool goes_by_rules = HasVictimRules(request);
  if (goes_by_rules) most = std::min(most, kMostPodsByRules);
  PodsThatMayGo going = goes_by_rules ? PodsByVictimRules(request, cluster_, most)
                                      : LessImportantPods(request, cluster_, most);
  search.steps = going.looked_at / kListedInAStep;
  going.is_all = going.is_all && !have_claims && EvictsLowerPriorityOnly(request);
  if (going.pods.empty() && going.is_all && leaving.empty() &&
      Draft(request, cluster_, pod_scheduler_, leaving).MembersOnlyCompete()) {
    search.answer = GroupAnswer::kInfeasible;
  }
  AttemptRequest bounded = request;
  if (have_claims) bounded.group_search_steps /= kStepsOfAllocation;
  while (!going.pods.empty() && bounded.group_search_steps > 0) {
    Draft::Places places;
    {
      Draft without(bounded, cluster_, pod_scheduler_, leaving);
      without.KeepTogether(pod_sets);
      search.answer = without.PlaceWithout(going.pods);
      const bool is_proof =
          search.answer == GroupAnswer::kInfeasible && going.is_all && without.MembersOnlyCompete();
      if (search.answer != GroupAnswer::kPlaced && !is_proof) {
        search.answer = GroupAnswer::kUndecided;
      }
      places = without.places();
      search.possibilities += without.possibilities();
      result.cycles += without.cycles();
      const auto taken_off = static_cast<int64_t>(going.pods.size());
      const int64_t steps = 1 + without.possibilities() + taken_off / 8;
      bounded.group_search_steps -= steps;
      search.steps += steps;
      result.eviction_steps += steps;
    }
    search.pods = static_cast<int>(going.pods.size());
    if (search.answer != GroupAnswer::kPlaced) return search;
    // A more important member also finds victims where a less important one has taken what is free;
    // but the more important one may make room for both.
    std::vector<Draft::Places> orders = {places};
    absl::c_stable_sort(places, [](const auto& a, const auto& b) {
      return a.first->priority() < b.first->priority();
    });
    if (places != orders.front()) orders.push_back(places);
    std::vector<PodPtr> staying;  // on the node where one found no room: they may not go
    for (const Draft::Places& order : orders) {
      Draft draft(request, cluster_, pod_scheduler_, leaving);
      draft.KeepTogether(pod_sets);
      const std::optional<Symbol> refused = draft.PlaceThere(order);
      if (!refused.has_value()) Adopt(!leaving.empty(), draft, result);
      result.cycles += draft.cycles();
      result.post_filters += draft.post_filters();
      const int64_t steps =
          draft.cycles() + (goes_by_rules ? kStepsOfPlanByRules * draft.post_filters() : 0);
      bounded.group_search_steps -= steps;
      search.steps += steps;
      result.eviction_steps += steps;
      if (!refused.has_value()) {
        search.answer = GroupAnswer::kPlan;
        return search;
      }
      const NodeInfo& node = cluster_.nodes().node(cluster_.nodes().FindRow(*refused));
      staying.assign(node.pods().begin(), node.pods().end());
    }
    search.answer = GroupAnswer::kUndecided;
    const size_t before = going.pods.size();
    std::erase_if(going.pods,
                  [&](const PodPtr& pod) { return absl::c_linear_search(staying, pod); });
    going.is_all = false;
    if (going.pods.size() == before) return search;
  }
  return search;
}

}  // namespace berth
