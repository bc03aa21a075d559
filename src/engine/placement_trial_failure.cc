// SPDX-License-Identifier: Apache-2.0
// Implementation of placement_trial.h: when the group fits nowhere, evictions and reasons.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/group_eviction_bound.h"
#include "engine/placement_trial.h"
#include "evaluation/free_capacity.h"
#include "framework/failure_messages.h"
#include "search/room.h"

namespace berth {
namespace {

// The cheapest of so many plans is good enough.
constexpr int kMostPlans = 4;
// So many are tried, whatever it takes.
constexpr int kFewestToEvictIn = 8;
// So many placements where only rules of plugins might make room.
constexpr size_t kMostOthersToEvictIn = 8;

}  // namespace

// Whether there would be room without pods of a lower priority than `below`. Rules of quotas may
// allow other victims.
bool PlacementTrial::WouldHaveRoom(const NodePlacement& placement, int32_t below) {
  int64_t room = 0;
  for (const RequestKind& kind : kinds_) {
    room += kind.need.has_value() ? RoomWithoutPodsBelow(kind.need->needed, cluster_.nodes(),
                                                         placement.rows, below, kind.members)
                                  : kind.members;
  }
  return room >= request_.minimum && !CheckPacking(placement, request_.minimum, below).is_proof;
}

// Where evictions may make room, the most promising first: where they do for the least important
// member, for the most important one, or by rules of plugins.
PlacementTrial::ToTry PlacementTrial::ToEvictIn(const std::vector<Candidate>& candidates) {
  // Where room is held for it already, no other pod has to go.
  if (candidates.front().nominated || !request_.plans_evictions) return {{candidates.front()}};
  const auto [lowest, highest] = absl::c_minmax_element(
      request_.pods, [](const auto& a, const auto& b) { return a->priority() < b->priority(); });
  const bool by_priority_only = EvictsLowerPriorityOnly(request_);
  ToTry found;
  std::vector<Candidate> likely, others;
  for (const Candidate& candidate : candidates) {
    if (WouldHaveRoom(*candidate.placement, (*lowest)->priority())) {
      found.candidates.push_back(candidate);
    } else if (WouldHaveRoom(*candidate.placement, (*highest)->priority())) {
      likely.push_back(candidate);
    } else if (!by_priority_only &&
               WouldHaveRoom(*candidate.placement, std::numeric_limits<int32_t>::max())) {
      if (others.size() < kMostOthersToEvictIn) {
        others.push_back(candidate);
      } else {
        ++found.left_out;
      }
    }
  }
  absl::c_move(likely, std::back_inserter(found.candidates));
  absl::c_move(others, std::back_inserter(found.candidates));
  if (found.candidates.empty()) found.candidates.push_back(candidates.front());  // for the reasons
  return found;
}

// Tries it in one placement. By member if they need not be together in sets.
void PlacementTrial::TryToEvictIn(const Candidate& candidate, AttemptResult& other) {
  scoped_.placement = candidate.placement;
  scoped_.plans_evictions = request_.plans_evictions;
  const bool by_slices = candidate.tier->slice_size > 0;
  if (!by_slices && tiers_of_part_.empty()) {
    group_scheduler_.Place(scoped_, other);
    cycles_ += other.cycles;
    return;
  }
  // Beside the pods that are there it fits at most without its wishes.
  scoped_.plans_evictions = false;
  group_scheduler_.Place(scoped_, other);
  if (other.minimum_reached || !other.placed.empty() || other.failed.empty()) {
    pod_scheduler_.RollBack(other);
    other = FailureOf(Finding(candidate));
    other.most_placed = static_cast<int>(MostIn(candidate));
  }
  if (request_.plans_evictions) {
    const std::vector<PodSet> pod_sets =
        by_slices ? Slices(candidate) : PodSetsOfParts(*candidate.placement);
    if (request_.IsReachedBy({})) {
      if (!by_slices) PlaceRest(candidate, other);
      group_scheduler_.preemption().PlanMore(scoped_, pod_sets, other);
    } else {
      group_scheduler_.preemption().PlanPodSets(scoped_, pod_sets, other);
    }
  }
  other.minimum_reached = request_.minimum == 0;
  if (request_.most_moves > 0 && other.plans.empty() && !other.minimum_reached) {
    other.moves_finding = absl::StrCat("Pods are not moved for groups in ",
                                       by_slices ? "slices." : "subgroups with wishes.");
  }
  cycles_ += other.cycles;
}

void PlacementTrial::Fail() {
  scoped_.minimum = request_.minimum;
  scoped_.group_search_steps = request_.group_search_steps;
  const PlacementTier& last = *tiers_.back();
  std::vector<Candidate> candidates = Candidates(tiers_.back(), 0);
  if (candidates.empty()) {
    result_ = FailureOf(request_.placement == nullptr ? absl::StrCat("no node is in a ", last.name)
                                                      : request_.placement->outside);
    result_.minimum_reached = request_.minimum == 0;
    return;
  }
  absl::c_stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.nominated != b.nominated ? a.nominated
           : a.most != b.most         ? a.most > b.most
                                      : a.times > b.times;
  });
  const Candidate best = candidates.front();
  AttemptResult chosen;
  bool is_first = true;
  int plans = 0;
  int tried = 0;
  // Of the placement where evictions make room for the most, of those where not all are in vain.
  std::string evictions_finding;
  std::pair<bool, int> of_finding(false, -1);
  int64_t cycles = 0;  // of orders and searches
  absl::Time retry_at = absl::InfiniteFuture();
  ToTry to_try = ToEvictIn(candidates);
  for (const Candidate& candidate : to_try.candidates) {
    if (tried >= kFewestToEvictIn && cycles > request_.group_search_steps) {
      to_try.left_out += static_cast<int>(to_try.candidates.size()) - tried;
      break;
    }
    if (++tried > kMostPlans) scoped_.most_moves = 0;  // each is a search of its own
    AttemptResult other;
    TryToEvictIn(candidate, other);
    cycles += other.cycles;
    retry_at = std::min(retry_at, other.retry_at);
    scoped_.group_search_steps =  // one budget for all
        std::max<int64_t>(0,
                          scoped_.group_search_steps - other.possibilities - other.eviction_steps);
    const std::pair<bool, int> of_other(!other.evictions_are_in_vain, other.placeable_by_evictions);
    if (of_other > of_finding) {
      of_finding = of_other;
      evictions_finding = other.evictions_finding;
    }
    const bool is_plan =
        other.answer == GroupAnswer::kPlan || !other.plans.empty() || !other.placed.empty();
    GroupPreemption& preemption = group_scheduler_.preemption();
    const bool better =
        is_first ||
        (is_plan && (plans == 0 || preemption.CostOf(other) < preemption.CostOf(chosen)));
    is_first = false;
    plans += static_cast<int>(is_plan);
    if (!better) {
      pod_scheduler_.RollBack(other);
    } else {
      pod_scheduler_.RollBack(chosen);
      chosen = std::move(other);
    }
    if (plans == kMostPlans) break;
  }
  if (to_try.left_out > 0) {  // nothing is proven of those
    evictions_finding =
        absl::StrCat("Evictions were tried in ", tried, " of ", tried + to_try.left_out,
                     " domains and make no room for it: undecided.");
  }
  chosen.evictions_finding = plans > 0 ? "" : evictions_finding;
  if (plans == 0) chosen.retry_at = retry_at;
  Explain(best, chosen);
  result_ = std::move(chosen);
  result_.cycles = cycles_;
  result_.possibilities = possibilities_;
}

// "2 members need 16 nvidia.com/gpu in one rack; the best, rack r7, has 12 free, room for 1."
std::string PlacementTrial::Finding(const Candidate& best) const {
  const PlacementTier& tier = *best.tier;
  const int least = std::clamp<int>(request_.minimum, 1, static_cast<int>(request_.pods.size()));
  const std::string members = absl::StrCat(least, least == 1 ? " member" : " members");
  std::string need = absl::StrCat(members, least == 1 ? " needs" : " need", " room");
  std::string has;
  if (kinds_.size() == 1 && kinds_.front().need.has_value()) {
    const NeededResources& needed = kinds_.front().need->needed;
    const ShortResource shortest =
        FindShortResource(needed, cluster_.nodes(), best.placement->rows);
    if (shortest.name != kPodsResource) {
      need =
          absl::StrCat(members, least == 1 ? " needs " : " need ",
                       AmountText(shortest.name, ClampToInt64(__int128{shortest.per_pod} * least)),
                       " ", shortest.name);
      has = absl::StrCat(" has ", AmountText(shortest.name, shortest.all_free), " free,");
    }
  }
  std::string where;
  const bool is_everywhere =
      static_cast<int>(best.placement->rows.size()) == cluster_.nodes().size();
  if (!is_everywhere) where = absl::StrCat(" in one ", tier.name);
  if (tier.slice_size > 0) {
    absl::StrAppend(&where, ", each ", tier.slice_size, " in one ", tier.part_name);
  }
  if (!tiers_of_part_.empty()) absl::StrAppend(&where, ", each subgroup where it wants to be");
  const int64_t room = MostIn(best);
  if (is_everywhere) return absl::StrCat(need, where, "; there is room for ", room, ".");
  return absl::StrCat(need, where, "; the best, ", best.placement->name, ",", has,
                      has.empty() ? " has room for " : " room for ", room, ".");
}

// A group that its topology keeps from starting.
AttemptResult PlacementTrial::FailureOf(const std::string& text) const {
  const ProfilePlugins& plugins = request_.framework->plugins();
  AttemptResult result;
  const Symbol plugin = plugins.placement_generate.front().name;
  PodFailure failure{request_.pods.front(), Status::Unschedulable(text).WithPlugin(plugin)};
  failure.rejecting_plugins = {plugin};
  for (const Hook<FilterPlugin>& hook : plugins.filter) {  // room may come by any of their events
    failure.rejecting_plugins.push_back(hook.name);
  }
  failure.message = text;
  failure.post_filter_ran = true;
  auto waiting = std::make_shared<WaitingFor>();
  waiting->reason = WaitingReason::kTopology;
  waiting->plugin = std::string(plugin.view());
  waiting->detail = text;
  waiting->nodes = cluster_.nodes().size();
  failure.waiting = std::move(waiting);
  result.failed.push_back(std::move(failure));
  return result;
}

// Says what its wishes have to do with it, if all nodes together have room.
void PlacementTrial::Explain(const Candidate& best, AttemptResult& other) const {
  if (other.answer == GroupAnswer::kPlan || !other.plans.empty() || !other.placed.empty() ||
      other.failed.empty()) {
    return;
  }
  const int least = std::clamp<int>(request_.minimum, 1, static_cast<int>(request_.pods.size()));
  const Symbol plugin = request_.framework->plugins().placement_generate.front().name;
  const bool is_restricted =
      static_cast<int>(best.placement->rows.size()) < cluster_.nodes().size() ||
      best.tier->slice_size > 0 || !tiers_of_part_.empty();
  if (!is_restricted) return;
  const bool by_sums = Candidates(tiers_.back(), least).empty();
  const std::string finding = Finding(best);
  if (by_sums || (all_tried_ && !undecided_ && !placed_in_.empty())) {
    other.answer = GroupAnswer::kInfeasible;
    other.finding = absl::StrCat("No place exists: ", finding);
  } else if (undecided_) {
    other.answer = GroupAnswer::kUndecided;
    other.finding = absl::StrCat("Undecided: ", finding);
  } else {
    other.finding = finding;
  }
  int64_t everywhere = 0;
  for (const RequestKind& kind : kinds_) {
    double room = kind.need.has_value() ? 0 : kind.members;
    if (kind.room != nullptr) {
      for (const double on_row : kind.room->by_row) room += on_row;
    }
    everywhere += static_cast<int64_t>(std::min<double>(room, kind.members));
  }
  for (PodFailure& failure : other.failed) {
    if (!absl::c_linear_search(failure.rejecting_plugins, plugin) &&
        !failure.rejecting_plugins.empty()) {
      failure.rejecting_plugins.push_back(plugin);
    }
    if (failure.message.empty()) failure.message = finding;
    if (everywhere < least || failure.status.IsError()) continue;
    auto waiting = std::make_shared<WaitingFor>(*failure.waiting);
    waiting->reason = WaitingReason::kTopology;
    waiting->plugin = std::string(plugin.view());
    waiting->detail = finding.substr(0, finding.size() - 1);  // a part of a sentence
    waiting->nodes = waiting->rejecting_nodes = 0;
    waiting->members_needed = least;
    waiting->members_placeable =
        static_cast<int>(std::min<int64_t>(best.most, request_.pods.size()));
    waiting->blocking_pod = failure.pod->key();
    failure.waiting = std::move(waiting);
  }
}

}  // namespace berth
