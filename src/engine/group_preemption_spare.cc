// SPDX-License-Identifier: Apache-2.0
// Implementation of group_preemption_draft.h: victims are spared.
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/preemption/lost_work.h"
#include "berth/preemption/preemption.h"
#include "berth/preemption/victim_rules.h"
#include "engine/group_classes.h"
#include "engine/group_eviction_bound.h"
#include "engine/group_preemption_draft.h"
#include "engine/shared_by_members.h"
#include "group/group_victims.h"

namespace berth {

// Evictions have left too few of it: those that are leaving already are none.
bool GroupPreemption::Draft::HasEnded(const GroupMembers& group) const {
  const std::optional<GroupSpec> spec = cluster_.groups().SpecOf(group);
  return spec.has_value() &&
         (group.counts().running < spec->min_member ||
          spec->disruption_mode == DisruptionMode::kAll || !spec->subgroups.empty());
}

// Those whose evictions violate a PodDisruptionBudget, the most important counted first, are spared
// before all others, as in kube-scheduler's preemption of one pod. What budgets allow them is what
// is left and what they have spent.
void GroupPreemption::Draft::MoveViolatingToFront(std::vector<std::vector<Victim*>>& units) const {
  const DisruptionBudgets& budgets = cluster_.budgets();
  if (budgets.empty()) return;
  absl::flat_hash_map<const DisruptionBudget*, int64_t> left;
  const auto for_each_spent = [&](const PodInfo& pod, auto visit) {
    for (const DisruptionBudget* const budget : budgets.Of(pod)) {
      if (!budget->planned_pods.contains(pod.name())) continue;
      visit(left.try_emplace(budget, budget->left()).first->second);
    }
  };
  for (const Victim& victim : victims_) {
    for_each_spent(*victim.pod, [](int64_t& of_budget) { ++of_budget; });
  }
  const auto violates = [&](const Victim* victim) {
    bool any = false;
    for_each_spent(*victim->pod, [&any](int64_t& of_budget) { any |= of_budget-- <= 0; });
    return any;
  };
  std::vector<std::vector<Victim*>> violating, others;
  for (std::vector<Victim*>& unit : units) {
    const auto count = absl::c_count_if(unit, violates);  // each of them is counted
    (count > 0 ? violating : others).push_back(std::move(unit));
  }
  units = std::move(violating);
  units.insert(units.end(), others.begin(), others.end());
}

// As KEP-5710, but for the work that would be lost: higher priority first, then what would lose
// more GPU time, then groups, larger ones first, then the earlier start.
std::vector<std::vector<GroupPreemption::Draft::Victim*>>
GroupPreemption::Draft::UnitsByImportance() {
  // The members of a group that does not run any more go or stay together.
  std::map<absl::string_view, std::vector<Victim*>> of_group;
  std::vector<std::vector<Victim*>> units;
  for (Victim& victim : victims_) {
    const GroupMembers* const group = cluster_.groups().GroupWith(*victim.pod);
    if (group != nullptr && HasEnded(*group)) {
      of_group[group->name()].push_back(&victim);
    } else {
      units.push_back({&victim});
    }
  }
  for (auto& [name, victims] : of_group) {
    absl::c_stable_sort(victims, [](const Victim* a, const Victim* b) {
      return MoreImportantPod(*a->pod, *b->pod);
    });
    units.push_back(std::move(victims));
  }
  struct Ranked {
    LostWork lost = 0;
    std::vector<Victim*> unit;
  };
  std::vector<Ranked> ranked;
  for (std::vector<Victim*>& unit : units) {
    LostWork lost = 0;
    for (const Victim* victim : unit) lost += LostWorkOf(*victim->pod, request_.now);
    ranked.push_back({lost, std::move(unit)});
  }
  absl::c_stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    const PodInfo& first = *a.unit.front()->pod;
    const PodInfo& second = *b.unit.front()->pod;
    if (first.priority() != second.priority()) return first.priority() > second.priority();
    if (a.lost != b.lost) return a.lost > b.lost;
    if (a.unit.size() != b.unit.size()) return a.unit.size() > b.unit.size();
    return MoreImportantPod(first, second);
  });
  units.clear();
  for (Ranked& next : ranked) units.push_back(std::move(next.unit));
  MoveViolatingToFront(units);
  return units;
}

// Of a group that has ended with the unit: as many as it needs to run, those first that sums let
// stay, then the most important. Empty if that is all of the unit, or it goes as a whole only.
std::vector<GroupPreemption::Draft::Victim*> GroupPreemption::Draft::CoreOf(
    absl::Span<Victim* const> unit) const {
  const GroupMembers* const group = cluster_.groups().GroupWith(*unit.front()->pod);
  if (unit.size() < 2 || group == nullptr) return {};
  const std::optional<GroupSpec> spec = cluster_.groups().SpecOf(*group);
  if (!spec.has_value() || spec->disruption_mode == DisruptionMode::kAll ||
      !spec->subgroups.empty()) {
    return {};
  }
  const int needed = spec->min_member - group->counts().running;
  if (needed <= 0 || needed >= static_cast<int>(unit.size())) return {};
  std::vector<Victim*> core(unit.begin(), unit.end());
  absl::c_stable_partition(core, [this](const Victim* victim) { return CanStay(*victim); });
  core.resize(needed);
  return core;
}

// Whether sums allow that the pod is on its node beside the members that are placed there. That
// mostly says no, and costs next to nothing.
bool GroupPreemption::Draft::CanStay(const Victim& victim) const {
  const NodeTable& nodes = cluster_.nodes();
  const NodeRow row = nodes.FindRow(victim.node);
  if (row < 0) return true;
  if (nodes.pod_count()[row] + 1 > nodes.allowed_pods()[row]) return false;
  bool fits = true;
  victim.pod->requests().ForEach([&](ResourceId resource, int64_t amount) {
    fits = fits && nodes.requested(resource)[row] + amount <= nodes.allocatable(resource)[row];
  });
  return fits;
}

// Returns where they were.
GroupPreemption::Draft::Places GroupPreemption::Draft::TakeBack(
    const absl::flat_hash_set<const PodInfo*>& members) {
  Places places;
  for (size_t i = 0; i < trial_.placed.size();) {
    const AssumedPod& placement = trial_.placed[i].placement;
    if (!members.contains(placement.pod.get())) {
      ++i;
      continue;
    }
    places.emplace_back(placement.pod, placement.node);
    transaction_.TakeBack(i);
  }
  return places;
}

bool GroupPreemption::Draft::PlaceAt(const Places& places) {
  return absl::c_all_of(places, [this](const auto& place) {
    return pod_scheduler_.PlaceOn(request_, place.first, cluster_.nodes().FindRow(place.second),
                                  trial_);
  });
}

// The pods are back: whether every member that they concern still has its place. These are the ones
// on their nodes and, since quotas and rules about other nodes count all, one of each kind; all, if
// other nodes might have what the pods hold. Those that share something all are, and together: one
// alone would have what the others hold for it.
bool GroupPreemption::Draft::HoldWithout(absl::Span<Victim* const> unit) {
  std::vector<absl::flat_hash_set<const PodInfo*>> turns;
  absl::flat_hash_set<const PodInfo*> sharing;
  std::vector<PodPtr> concerned;
  const bool concerns_all = absl::c_any_of(unit, [&](const Victim* victim) {
    return HoldsForOtherNodes(*request_.framework, *victim->pod);
  });
  for (const Binder::Member& member : trial_.placed) {
    const AssumedPod& placement = member.placement;
    const bool beside = concerns_all || absl::c_any_of(unit, [&](const Victim* victim) {
                          return victim->node == placement.node;
                        });
    const bool first_of_kind = absl::c_none_of(
        concerned, [&](const PodPtr& other) { return AreEquivalent(*other, *placement.pod); });
    if (sharing_.contains(placement.pod.get())) {
      sharing.insert(placement.pod.get());
    } else if (beside || first_of_kind) {
      concerned.push_back(placement.pod);
    }
  }
  for (const PodPtr& pod : concerned) turns.push_back({pod.get()});
  if (!sharing.empty()) turns.push_back(std::move(sharing));
  for (const absl::flat_hash_set<const PodInfo*>& members : turns) {
    const Places places = TakeBack(members);
    spare_steps_left_ -= static_cast<int64_t>(places.size());
    if (PlaceAt(places)) continue;
    TakeBack(members);
    std::vector<PodPtr> pods;
    for (const Victim* victim : unit) pods.push_back(victim->pod);
    transaction_.Evict(pods);
    PlaceAt(places);
    return false;
  }
  return true;
}

// Of the victims that are not spared, how many may not go, by the rules of the plugins, for all
// members that have a place: whichever of them go first. Meanwhile the victims are back and the
// members are not placed.
int GroupPreemption::Draft::CountForbidden() {
  absl::flat_hash_set<const PodInfo*> members;
  for (const Binder::Member& member : trial_.placed) members.insert(member.placement.pod.get());
  const Places places = TakeBack(members);
  if (places.empty()) return 0;
  spare_steps_left_ -= static_cast<int64_t>(places.size() + victims_.size());
  std::vector<PodPtr> going;
  absl::flat_hash_map<const PodInfo*, Symbol> goes_for;  // where its preemptor is
  for (const Victim& victim : victims_) {
    if (victim.is_spared) continue;
    transaction_.Spare(*victim.pod);
    going.push_back(victim.pod);
    const auto at =
        absl::c_find_if(places, [&](const auto& place) { return place.first == victim.preemptor; });
    goes_for[victim.pod.get()] = at != places.end() ? at->second : victim.node;
  }
  std::vector<const PodInfo*> preemptors;
  for (const auto& [pod, node] : places) preemptors.push_back(pod.get());
  CycleState state;
  state.SetPlacement(request_.placement);
  const NodeTable& nodes = cluster_.nodes();
  request_.framework->filters().RunPreFilter(state, *preemptors.front(), nodes);
  int forbidden = 0;
  for (const Hook<PostFilterPlugin>& hook : request_.framework->plugins().post_filter) {
    auto* const rules = dynamic_cast<VictimRules*>(hook.plugin);
    std::unique_ptr<VictimTrial> trial;
    if (rules == nullptr || !rules->BeginTrial(state, preemptors, trial).ok()) continue;
    std::vector<VictimUnit> left = GroupVictims(cluster_.groups()).UnitsOf(going, Symbol());
    const auto may_go = [&](const VictimUnit& unit) {
      const auto known = goes_for.find(unit.pods.front().get());
      const NodeRow row = known == goes_for.end() ? -1 : nodes.FindRow(known->second);
      if (row >= 0) trial->PlaceOn(nodes.node(row).labels());
      return trial->MayEvict(unit).status.ok();
    };
    for (auto next = absl::c_find_if(left, may_go); next != left.end();
         next = absl::c_find_if(left, may_go)) {
      trial->Evict(*next);
      left.erase(next);
    }
    forbidden += static_cast<int>(left.size());
  }
  transaction_.Evict(going);
  PlaceAt(places);
  return forbidden;
}

// Whether all members have their places once they are placed again, one after another: who was
// spared may concern one that is not beside it.
bool GroupPreemption::Draft::HoldTogether(const Places& places) {
  while (!trial_.placed.empty()) transaction_.TakeBack(trial_.placed.size() - 1);
  spare_steps_left_ -= static_cast<int64_t>(places.size());
  return PlaceAt(places);
}

// Spared are those of `unit`; the members have their places.
bool GroupPreemption::Draft::EvictIfOthersNeedIt(absl::Span<Victim* const> unit) {
  Places places;
  for (const Binder::Member& member : trial_.placed) {
    places.emplace_back(member.placement.pod, member.placement.node);
  }
  for (Victim* victim : unit) victim->is_spared = true;
  if (goes_by_rules_) {
    if (CountForbidden() <= *forbidden_ && IsWhole()) return false;
  } else if (HoldTogether(places)) {
    return false;
  }
  for (Victim* victim : unit) victim->is_spared = false;
  std::vector<PodPtr> pods;
  for (const Victim* victim : unit) pods.push_back(victim->pod);
  transaction_.Evict(pods);
  if (!IsWhole()) {  // some have no place beside those that were back
    while (!trial_.placed.empty()) transaction_.TakeBack(trial_.placed.size() - 1);
    PlaceAt(places);
  }
  return true;
}

bool GroupPreemption::Draft::Spare(absl::Span<Victim* const> unit) {
  const bool may = absl::c_all_of(unit, [&](const Victim* victim) { return CanStay(*victim); });
  if (!may || spare_steps_left_ <= 0) return false;
  if (goes_by_rules_ && !forbidden_.has_value()) forbidden_ = CountForbidden();
  if (!IsWhole()) return false;
  for (const Victim* victim : unit) transaction_.Spare(*victim->pod);
  return HoldWithout(unit) && !EvictIfOthersNeedIt(unit);
}

// The same with the members anywhere: they are placed again beside the pods that are back. If they
// are not whole then, the pods are gone again, and the members are placed nowhere.
bool GroupPreemption::Draft::SpareByMoving(absl::Span<Victim* const> unit) {
  if (goes_by_rules_ && !forbidden_.has_value()) forbidden_ = CountForbidden();
  while (!trial_.placed.empty()) transaction_.TakeBack(trial_.placed.size() - 1);
  for (const Victim* victim : unit) transaction_.Spare(*victim->pod);
  if (PlaceAnywhere() == GroupAnswer::kPlaced) {
    if (EvictIfOthersNeedIt(unit)) return false;
    KeepPlaces();
    return true;
  }
  std::vector<PodPtr> pods;
  for (const Victim* victim : unit) pods.push_back(victim->pod);
  transaction_.Evict(pods);
  return false;
}

void GroupPreemption::Draft::KeepPlaces() {
  kept_places_.clear();
  for (const Binder::Member& member : trial_.placed) {
    kept_places_.emplace_back(member.placement.pod, member.placement.node);
  }
}

// A member that is taken back and placed again may be given something else than before, of which
// the others then get too little: so the plan is where the group was last whole.
void GroupPreemption::Draft::SpareVictims() {
  KeepPlaces();
  if (victims_.empty()) return;
  sharing_ = FindPodsThatShare(*request_.framework, request_.pods);
  goes_by_rules_ = HasVictimRules(request_);
  const auto spare = [&](auto spares) {
    const auto is_spared = [&spares](const std::vector<Victim*>& unit) {
      if (unit.empty() || !spares(unit)) return false;
      for (Victim* victim : unit) victim->is_spared = true;
      return true;
    };
    for (const std::vector<Victim*>& unit : UnitsByImportance()) {
      if (is_spared(unit) || !is_spared(CoreOf(unit))) continue;
      for (Victim* victim : unit) {  // beyond the minimum
        if (!victim->is_spared) is_spared({victim});
      }
    }
    std::erase_if(victims_, [](const Victim& victim) { return victim.is_spared; });
  };
  if (absl::c_any_of(victims_, [this](const Victim& victim) { return CanStay(victim); })) {
    spare([this](const std::vector<Victim*>& unit) { return IsWhole() && Spare(unit); });
    if (IsWhole()) KeepPlaces();
  }
  // What costs a search each time is done where it is cheap.
  constexpr size_t kMostVictims = 16, kMostMembers = 32;
  if (victims_.size() <= kMostVictims && request_.pods.size() <= kMostMembers) {
    spare([this](const std::vector<Victim*>& unit) { return SpareByMoving(unit); });
  }
}

}  // namespace berth
