// SPDX-License-Identifier: Apache-2.0
// Implementation of group_preemption_draft.h: members are placed by evicting, one after another or
// where a search found places.
#include "engine/group_preemption_draft.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "berth/preemption/preemption.h"
#include "engine/group_classes.h"
#include "engine/group_shortage.h"
#include "engine/group_space.h"
#include "engine/pod_set_search.h"
#include "engine/shared_by_members.h"
#include "search/assignment_search.h"

namespace berth {

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
    if (placed.empty() || !placed.contains(order[i].get())) missing.push_back(order[i].get());
  }
  return missing;
}

bool GroupPreemption::Draft::PlaceByEvicting(absl::Span<const PodPtr> order, size_t first,
                                             size_t end) {
  absl::flat_hash_set<const PodInfo*> placed;
  for (const Binder::Member& member : trial_.placed) placed.insert(member.placement.pod.get());
  std::optional<AttemptRequest> elsewhere;
  if (elsewhere_.has_value()) {
    elsewhere = request_;
    elsewhere->placement = &*elsewhere_;
  }
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
    const AttemptRequest& request = evicts_ || !elsewhere.has_value() ? request_ : *elsewhere;
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
bool GroupPreemption::Draft::CostsTheGroup(absl::Span<const PodPtr> victims) const {
  return absl::c_any_of(victims, [&](const PodPtr& victim) {
    return cluster_.groups().GroupOfPod(victim->uid()) == request_.group;
  });
}

void GroupPreemption::Draft::AddVictims(absl::Span<const PodPtr> pods, const PodPtr& preemptor,
                                        Symbol plugin) {
  const DisruptionBudgets& budgets = cluster_.budgets();
  std::vector<PodPtr> violating;
  if (!budgets.empty()) violating = SplitByBudget(pods, budgets).violating;
  for (const PodPtr& victim : pods) {
    const CachedPod* known = cluster_.cache().FindPod(*victim->identity());
    if (known == nullptr) {
      if (cluster_.IsOnlyNominated(*victim)) {
        transaction_.Nominate(victim, "");
        gave_way_.push_back({victim, preemptor, plugin});
      }
      continue;
    }
    victims_.push_back({known->pod, known->node_name, preemptor, plugin,
                        absl::c_linear_search(violating, victim)});
  }
}

bool GroupPreemption::Draft::Evict(const PodPtr& preemptor, const PostFilterResult& plan) {
  if (CostsTheGroup(plan.victims)) return false;
  const Symbol node_name = Symbol::Intern(*plan.nominated_node);
  const Transaction::Savepoint before = transaction_.Save();
  const size_t victims_before = victims_.size();
  AddVictims(plan.victims, preemptor, plan.plugin);
  for (const PodPtr& nominated : cluster_.NominationsEndedBy(*preemptor, node_name)) {
    transaction_.Nominate(nominated, "");
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

void GroupPreemption::Draft::KeepTogether(const std::vector<PodSet>& pod_sets) {
  const std::vector<const NodePlacement*> anywhere = {request_.placement};
  if (absl::c_any_of(pod_sets,
                     [&](const PodSet& pod_set) { return pod_set.placements != anywhere; })) {
    restricted_ = &pod_sets;
  }
}

GroupAnswer GroupPreemption::Draft::PlaceAnywhere() {
  if (restricted_ != nullptr) {
    switch (PlacePodSets(request_, *restricted_, cluster_, pod_scheduler_, trial_)) {
      case PodSetsOutcome::kPlaced:
        return GroupAnswer::kPlaced;
      case PodSetsOutcome::kExhausted:
        return GroupAnswer::kInfeasible;
      case PodSetsOutcome::kUndecided:
        return GroupAnswer::kUndecided;
    }
  }
  if (request_.placement != nullptr) {
    if (IsShortBesideNominated(request_, cluster_)) return GroupAnswer::kInfeasible;
  } else {
    if (!shortage_.has_value()) shortage_.emplace(request_, cluster_);
    if (shortage_->IsShort()) return GroupAnswer::kInfeasible;
  }
  if (FindShortage(request_, cluster_.nodes()).has_value() ||
      FindShortageTogether(request_, cluster_.nodes()).has_value()) {
    return GroupAnswer::kInfeasible;
  }
  const std::vector<MemberClass> classes = ClassifyMembers(request_, cluster_);
  GroupSpace space(request_, classes, cluster_, pod_scheduler_, trial_);
  AssignmentSearch search(space, cluster_.nodes().size(), request_.group_search_steps);
  const AssignmentSearch::Outcome outcome = search.Run();
  trial_.possibilities += search.possibilities();
  if (outcome == AssignmentSearch::Outcome::kFound) return GroupAnswer::kPlaced;
  return outcome == AssignmentSearch::Outcome::kExhausted ? GroupAnswer::kInfeasible
                                                          : GroupAnswer::kUndecided;
}

GroupAnswer GroupPreemption::Draft::PlaceWithout(absl::Span<const PodPtr> pods) {
  transaction_.TakeOff(pods);
  const GroupAnswer answer = PlaceAnywhere();
  KeepPlaces();
  return answer;
}

bool GroupPreemption::Draft::MembersOnlyCompete() {
  return WhyNotAllTried(*request_.framework, request_.pods).empty() &&
         absl::c_all_of(ClassifyMembers(request_, cluster_),
                        [](const MemberClass& members) { return members.only_competes; });
}

std::optional<Symbol> GroupPreemption::Draft::PlaceThere(const Places& places) {
  NodePlacement there;
  AttemptRequest request = request_;
  request.placement = &there;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& [pod, node] = places[i];
    there.name = std::string(node.view());
    there.rows = {cluster_.nodes().FindRow(node)};
    std::vector<const PodInfo*> together;
    for (size_t k = i; k < places.size(); ++k) together.push_back(places[k].first.get());
    const auto outcome = pod_scheduler_.PlaceOrPlan(request, pod, PodScheduler::AskPostFilter::kYes,
                                                    trial_, std::move(together));
    if (outcome.placed) {
      transaction_.Nominate(pod, "");
    } else if (!outcome.found || !Evict(pod, outcome.plan)) {
      return node;
    }
  }
  return std::nullopt;
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
  for (const GivenPlace& place : gave_way_) {
    // Back where it was, if what was tried there was taken back.
    if (!cluster_.nominations().NominatedNode(*place.pod).empty()) continue;
    for (AttemptResult::Plan& plan : plans) {
      if (plan.pod != place.preemptor || absl::c_linear_search(plan.result.victims, place.pod))
        continue;
      plan.result.victims.push_back(place.pod);
      plan.result.plugin = place.plugin;
    }
  }
  transaction_.RollBack();
  NominatePods(std::move(plans), result);
}

}  // namespace berth
