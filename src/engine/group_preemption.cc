// SPDX-License-Identifier: Apache-2.0
// Implementation of group_preemption.h.
#include "engine/group_preemption.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/preemption/lost_work.h"
#include "berth/preemption/preemption.h"
#include "berth/preemption/victim_rules.h"
#include "engine/group_classes.h"
#include "engine/group_eviction_bound.h"
#include "engine/group_preemption_draft.h"
#include "engine/group_shortage.h"
#include "engine/group_space.h"
#include "engine/member_dependencies.h"
#include "engine/pod_set_search.h"
#include "engine/post_filter_bounds.h"
#include "engine/shared_by_members.h"
#include "group/group_victims.h"
#include "search/assignment_search.h"

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

// `tried_evictions`: before all victims were spared.
std::string PlanText(int victims, bool tried_evictions) {
  if (victims > 0) {
    return absl::StrCat(victims, victims == 1 ? " pod is" : " pods are",
                        " evicted to make room for it.");
  }
  return tried_evictions ? "It has room without evictions, where it is nominated."
                         : "It waits for devices of claims that nobody uses any more.";
}

// Whether it matters for some plugin whom others have evicted: who goes first may leave a quota too
// little for the next to go. Only of small groups, as each order is a plan of its own.
bool MayOrderOfVictimsDecide(const AttemptRequest& request) {
  constexpr size_t kMostMembers = 32;
  return !request.quorum.has_parts() && request.pods.size() <= kMostMembers &&
         absl::c_any_of(request.framework->plugins().post_filter, [](const auto& hook) {
           return dynamic_cast<VictimRules*>(hook.plugin) != nullptr;
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

void GroupPreemption::Draft::EvictFirstElsewhere(absl::Span<const NodeRow> rows) {
  elsewhere_.emplace();
  elsewhere_->name = "other nodes";
  for (NodeRow row = 0; row < cluster_.nodes().size(); ++row) {
    const bool counts =
        request_.placement == nullptr || absl::c_binary_search(request_.placement->rows, row);
    if (counts && !absl::c_linear_search(rows, row)) elsewhere_->rows.push_back(row);
  }
}

void GroupPreemption::Draft::PlaceWithoutEvictions(absl::Span<const PodPtr> order) {
  const PodInfo* rejected = nullptr;  // the last one; nothing but placements has changed since
  for (const PodPtr& pod : order) {
    if (IsEnough()) return;
    const bool is_nominated = !cluster_.nominations().NominatedNode(*pod).empty();
    if (rejected != nullptr && !is_nominated && AreEquivalent(*pod, *rejected)) continue;
    const auto outcome =
        pod_scheduler_.PlaceOrPlan(request_, pod, PodScheduler::AskPostFilter::kNo, trial_);
    if (outcome.placed) {
      transaction_.Nominate(pod, "");
    } else {
      rejected = pod.get();
    }
  }
}

std::vector<const PodInfo*> GroupPreemption::Draft::StillMissing(
    absl::Span<const PodPtr> order, size_t first,
    const absl::flat_hash_set<const PodInfo*>& placed) const {
  std::vector<const PodInfo*> missing;
  const int least = std::max(1, request_.minimum - this->placed());
  for (size_t i = first; i < order.size() && static_cast<int>(missing.size()) < least; ++i) {
    if (!placed.contains(order[i].get())) missing.push_back(order[i].get());
  }
  return missing;
}

bool GroupPreemption::Draft::PlaceByEvicting(absl::Span<const PodPtr> order, size_t first,
                                             size_t end) {
  absl::flat_hash_set<const PodInfo*> placed;
  for (const Binder::Member& member : trial_.placed) placed.insert(member.placement.pod.get());
  const PodInfo* rejected = nullptr;
  const bool is_all = end - first == order.size();
  const int goal = goal_ >= 0 ? goal_ : is_all ? request_.minimum : 0;
  int left = 0;
  for (size_t i = first; i < end; ++i) left += static_cast<int>(!placed.contains(order[i].get()));
  for (size_t i = first; i < end; ++i) {
    const PodPtr& pod = order[i];
    if (IsEnough()) break;
    if (placed.contains(pod.get())) continue;
    if (this->placed() + left < goal) break;
    --left;
    if (rejected != nullptr && AreEquivalent(*pod, *rejected)) continue;
    AttemptRequest request = request_;
    if (elsewhere_.has_value() && !evicts_) request.placement = &*elsewhere_;
    auto outcome = pod_scheduler_.PlaceOrPlan(request, pod, PodScheduler::AskPostFilter::kYes,
                                              trial_, StillMissing(order, i, placed));
    if (outcome.placed) {
      transaction_.Nominate(pod, "");
      continue;
    }
    if (outcome.found && Evict(pod, outcome.plan)) {
      rejected = nullptr;
      continue;
    }
    rejected = pod.get();
    gives_up_ |= !outcome.found && outcome.plan.nominated_node.has_value();
    retry_at_ = std::min(retry_at_, outcome.plan.retry_at);
  }
  return IsEnough();
}

// A group is not started to lose a member.
bool GroupPreemption::Draft::CostsTheGroup(PodSpan victims) const {
  return absl::c_any_of(victims, [&](const PodPtr& victim) {
    return cluster_.groups().GroupOfPod(victim->uid()) == request_.group;
  });
}

bool GroupPreemption::Draft::Evict(const PodPtr& preemptor, const PostFilterResult& plan) {
  if (CostsTheGroup(plan.victims)) return false;
  const Symbol node_name = Symbol::Intern(*plan.nominated_node);
  const Transaction::Savepoint before = transaction_.Save();
  const size_t victims_before = victims_.size();
  const DisruptionBudgets& budgets = cluster_.budgets();
  std::vector<PodPtr> violating;
  if (!budgets.empty()) violating = SplitByBudget(plan.victims, budgets).violating;
  for (const PodPtr& victim : plan.victims) {
    const CachedPod* known = cluster_.cache().FindPod(*victim->identity());
    if (known == nullptr) continue;
    victims_.push_back({known->pod, known->node_name, preemptor, plan.plugin,
                        absl::c_linear_search(violating, victim)});
  }
  for (const PodPtr& nominated :
       std::vector<PodPtr>(cluster_.nominations().NominatedPods(node_name).begin(),
                           cluster_.nominations().NominatedPods(node_name).end())) {
    if (nominated->priority() < preemptor->priority()) transaction_.Nominate(nominated, "");
  }
  transaction_.Evict(plan.victims);
  const NodeRow row = cluster_.nodes().FindRow(node_name);
  if (row >= 0 && pod_scheduler_.PlaceOn(request_, preemptor, row, trial_)) {
    transaction_.Nominate(preemptor, "");
    if (!evicts_) first_row_ = row;
    evicts_ = true;
    return true;
  }
  transaction_.RollBackTo(before);
  victims_.resize(victims_before);
  return false;
}

// Evictions have left too few of it.
bool GroupPreemption::Draft::HasEnded(const GroupMembers& group) const {
  const std::optional<GroupSpec> spec = cluster_.groups().SpecOf(group);
  return spec.has_value() &&
         (group.assigned_count() < spec->min_member ||
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

// Spared are those of `unit`; the members have their places.
bool GroupPreemption::Draft::EvictIfOthersNeedIt(absl::Span<Victim* const> unit) {
  for (Victim* victim : unit) victim->is_spared = true;
  if (CountForbidden() <= *forbidden_ && IsWhole()) return false;
  for (Victim* victim : unit) victim->is_spared = false;
  std::vector<PodPtr> pods;
  for (const Victim* victim : unit) pods.push_back(victim->pod);
  transaction_.Evict(pods);
  return true;
}

bool GroupPreemption::Draft::Spare(absl::Span<Victim* const> unit) {
  const bool may = absl::c_all_of(unit, [&](const Victim* victim) { return CanStay(*victim); });
  if (!may) return false;
  if (!forbidden_.has_value()) forbidden_ = CountForbidden();
  if (!IsWhole()) return false;
  for (const Victim* victim : unit) transaction_.Spare(*victim->pod);
  return HoldWithout(unit) && !EvictIfOthersNeedIt(unit);
}

// The same with the members anywhere: they are placed again beside the pods that are back. If they
// are not whole then, the pods are gone again, and the members are placed nowhere.
bool GroupPreemption::Draft::SpareByMoving(absl::Span<Victim* const> unit) {
  if (!forbidden_.has_value()) forbidden_ = CountForbidden();
  while (!trial_.placed.empty()) transaction_.TakeBack(trial_.placed.size() - 1);
  for (const Victim* victim : unit) transaction_.Spare(*victim->pod);
  if (PlaceAnywhere()) {
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

bool GroupPreemption::Draft::PlaceAnywhere() {
  if (restricted_ != nullptr) {
    return PlacePodSets(request_, *restricted_, cluster_, pod_scheduler_, trial_) ==
           PodSetsOutcome::kPlaced;
  }
  if (request_.placement != nullptr) {
    if (IsShortBesideNominated(request_, cluster_)) return false;
  } else {
    if (!shortage_.has_value()) shortage_.emplace(request_, cluster_);
    if (shortage_->IsShort()) return false;
  }
  if (FindShortage(request_, cluster_.nodes()).has_value()) return false;
  const std::vector<MemberClass> classes = ClassifyMembers(request_, cluster_);
  GroupSpace space(request_, classes, cluster_, pod_scheduler_, trial_);
  AssignmentSearch search(space, cluster_.nodes().size(), request_.group_search_steps);
  return search.Run() == AssignmentSearch::Outcome::kFound;
}

// A member that is taken back and placed again may be given something else than before, of which
// the others then get too little: so the plan is where the group was last whole.
void GroupPreemption::Draft::SpareVictims() {
  KeepPlaces();
  if (victims_.empty()) return;
  sharing_ = FindPodsThatShare(*request_.framework, request_.pods);
  const auto spare = [&](auto spares) {
    for (const std::vector<Victim*>& unit : UnitsByImportance()) {
      const bool is_spared = spares(unit);
      for (Victim* victim : unit) victim->is_spared = is_spared;
    }
    std::erase_if(victims_, [](const Victim& victim) { return victim.is_spared; });
  };
  spare([this](const std::vector<Victim*>& unit) { return IsWhole() && Spare(unit); });
  if (IsWhole()) KeepPlaces();
  // What costs a search each time is done where it is cheap.
  constexpr size_t kMostVictims = 16, kMostMembers = 32;
  if (victims_.size() <= kMostVictims && request_.pods.size() <= kMostMembers) {
    spare([this](const std::vector<Victim*>& unit) { return SpareByMoving(unit); });
  }
}

void GroupPreemption::Draft::Carry(AttemptResult& result) {
  std::vector<AttemptResult::Plan> plans;
  absl::flat_hash_map<Symbol, size_t> plan_at;  // of the first member that goes to the node
  for (const auto& [pod, node] : kept_places_) {
    plan_at.try_emplace(node, plans.size());
    plans.push_back({pod, {}});
    plans.back().result.nominated_node = std::string(node.view());
  }
  // Where no member goes, the one that the pod was evicted for evicts it, if it has a place.
  for (const Victim& victim : victims_) {
    size_t plan = 0;
    if (const auto at = plan_at.find(victim.node); at != plan_at.end()) {
      plan = at->second;
    } else {
      for (size_t i = 0; i < plans.size(); ++i) {
        if (plans[i].pod == victim.preemptor) plan = i;
      }
    }
    plans[plan].result.victims.push_back(victim.pod);
    plans[plan].result.plugin = victim.plugin;
  }
  transaction_.RollBack();
  NominatePods(std::move(plans), result);
}

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

// Returns whether it is a plan.
bool GroupPreemption::MakeDraft(const AttemptRequest& request, DraftOrder draft_order,
                                const std::vector<PodSet>& pod_sets, Draft& draft) {
  if (draft_order == DraftOrder::kCheapestPodSetsFirst ||
      draft_order == DraftOrder::kHardestPodSetsFirst) {
    const auto pod_set_order = draft_order == DraftOrder::kCheapestPodSetsFirst
                                   ? Draft::PodSetOrder::kCheapestFirst
                                   : Draft::PodSetOrder::kHardestFirst;
    return draft.PlacePodSetsByEvicting(pod_sets, pod_set_order);
  }
  std::vector<PodPtr> order(request.pods.begin(), request.pods.end());
  if (draft_order == DraftOrder::kFittingFirst || draft_order == DraftOrder::kElsewhereFirst) {
    draft.PlaceWithoutEvictions(order);
  } else if (draft_order == DraftOrder::kNeededFirst) {
    order = NeededFirst(order);
    if (order.empty()) return false;
  } else {
    const std::vector<MemberClass> classes = ClassifyMembers(request, cluster_);
    if (classes.size() == 1) return false;
    order.clear();
    for (const MemberClass& members : classes) {
      order.insert(order.end(), members.pods.begin(), members.pods.end());
    }
  }
  return draft.PlaceByEvicting(order);
}

// If sums prove that evictions would make too little room, `result` says so.
bool GroupPreemption::MayAnyEvictionsHelp(const AttemptRequest& request,
                                          const std::optional<GroupShortage>& shortage,
                                          AttemptResult& result) const {
  if (!MayAnyHelp(*request.framework, PodSpan(request.pods.data(), request.pods.size()))) {
    return false;
  }
  if (!shortage.has_value()) return true;
  const std::optional<int64_t> room = RoomByEvictionsAtMost(request, *shortage, cluster_);
  if (!room.has_value()) return true;
  if (*room > shortage->room) {
    absl::StrAppend(&result.finding, " Evictions would make room for at most ", *room, " of ",
                    shortage->members, ".");
  }
  return false;
}

void GroupPreemption::PlanInOrders(const AttemptRequest& request,
                                   absl::Span<const DraftOrder> orders,
                                   const std::vector<PodSet>& pod_sets,
                                   const std::optional<GroupShortage>& shortage,
                                   AttemptResult& result) {
  if (request.framework->plugins().post_filter.empty()) return;
  const PodFailure& cause = result.failed.front();
  if (cause.status.IsError()) return;
  const PodSpan pods(request.pods.data(), request.pods.size());
  const bool may_help = MayAnyEvictionsHelp(request, shortage, result);
  // A member that may not preempt waits for no pod that it could evict.
  bool gives_up = !may_help && absl::c_any_of(pods, [](const PodPtr& pod) {
    return pod->preemption_policy() != PreemptionPolicy::kNever;
  });
  absl::Time retry_at = absl::InfiniteFuture();
  int most = 0;
  bool none_fits = false;
  std::vector<DraftOrder> all_orders(orders.begin(), orders.end());
  if (pod_sets.empty() && MayOrderOfVictimsDecide(request)) {
    all_orders.insert(all_orders.end(), kMostElsewhere, DraftOrder::kElsewhereFirst);
  }
  std::vector<NodeRow> tried_first;
  for (const DraftOrder draft_order : all_orders) {
    if (!may_help) break;
    if (none_fits && draft_order != DraftOrder::kNeededFirst) continue;
    if (draft_order == DraftOrder::kElsewhereFirst && tried_first.empty()) break;
    Draft draft(request, cluster_, pod_scheduler_);
    if (draft_order == DraftOrder::kElsewhereFirst) draft.EvictFirstElsewhere(tried_first);
    const bool is_plan = MakeDraft(request, draft_order, pod_sets, draft);
    if (is_plan) {
      draft.SpareVictims();
      draft.Carry(result);
    }
    result.cycles += draft.cycles();
    result.post_filters += draft.post_filters();
    if (is_plan) {
      const int victims = CostOf(result).victims;
      result.answer = GroupAnswer::kPlan;
      result.finding = PlanText(victims, draft.evicts());
      return;
    }
    if (draft.cycles() == 0) continue;  // nothing was tried: the order is the same as before
    if (draft.evicts()) tried_first.push_back(draft.first_row());
    if (draft_order != DraftOrder::kElsewhereFirst) gives_up = draft.gives_up();
    retry_at = std::min(retry_at, draft.retry_at());
    if (draft.evicts()) most = std::max(most, draft.most_placed());
    // No more would go in another order, unless those that fit are in the way, or one was tried
    // before the one that it needs.
    none_fits = !draft.evicts() && draft.most_placed() == 0;
  }
  if (most > 0 && most < request.minimum) {
    absl::StrAppend(&result.finding, result.finding.empty() ? "" : " ",
                    "Evictions would make room for ", most, " of ", request.minimum, ".");
  }
  if (retry_at < absl::InfiniteFuture()) {
    PodFailure& told = result.failed.front();
    told.waiting = WhyVictimsMayNotGoYet(*told.waiting, retry_at);
  }
  for (PodFailure& failure : result.failed) {
    if (failure.rejecting_plugins.empty()) continue;
    WaitForPostFilter(*request.framework, *failure.pod, failure.rejecting_plugins);
  }
  if (gives_up) EndNominations(request, result);
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
  // hardest are first, and then those that others need.
  if (!request.quorum.has_parts()) {
    return PlanInOrders(
        request, {DraftOrder::kFittingFirst, DraftOrder::kHardestFirst, DraftOrder::kNeededFirst},
        {}, shortage, result);
  }
  std::vector<DraftOrder> orders = {DraftOrder::kCheapestPodSetsFirst,
                                    DraftOrder::kHardestPodSetsFirst};
  // Where all have to start, members of different parts may take turns.
  const bool all = request.minimum == static_cast<int>(request.pods.size());
  if (all) {
    orders.push_back(DraftOrder::kHardestFirst);
    orders.push_back(DraftOrder::kNeededFirst);
  }
  PlanInOrders(request, orders, PartsAsPodSets(request), shortage, result);
}

void GroupPreemption::PlanPodSets(const AttemptRequest& request,
                                  const std::vector<PodSet>& pod_sets, AttemptResult& result) {
  PlanInOrders(request, {DraftOrder::kCheapestPodSetsFirst, DraftOrder::kHardestPodSetsFirst},
               pod_sets, std::nullopt, result);
}

}  // namespace berth
