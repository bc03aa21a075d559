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
#include "berth/extensions/post_filter_bound.h"
#include "berth/preemption/preemption.h"
#include "engine/group_classes.h"
#include "engine/group_shortage.h"
#include "engine/group_space.h"
#include "search/assignment_search.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;
using PodSpan = absl::Span<const PodPtr>;

bool AreAlike(const PodInfo& a, const PodInfo& b) {
  return a.SharesSpec(b) && a.priority() == b.priority();
}

constexpr PluginPoint kMayHelp{"MayHelp", Codes(), "running PostFilter plugin \"$0\": $1"};

// Whether some PostFilter plugin might do something for one of these pods.
bool MayAnyHelp(const Framework& framework, PodSpan pods) {
  return absl::c_any_of(framework.plugins().post_filter, [&](const Hook<PostFilterPlugin>& hook) {
    auto* const bound = dynamic_cast<PostFilterBound*>(hook.plugin);
    if (bound == nullptr) return true;
    const PodInfo* last = nullptr;
    return absl::c_any_of(pods, [&](const PodPtr& pod) {
      if (last != nullptr && AreAlike(*pod, *last)) return false;
      last = pod.get();
      bool may_help = true;
      const Status asked = framework.plugins().calls.Guarded(kMayHelp, hook.name, [&] {
        may_help = bound->MayHelp(*pod);
        return Status::Success();
      });
      return may_help || !asked.ok();
    });
  });
}

// What `result` says of a pod that has no place.
PodFailure& FailureOf(const PodPtr& pod, AttemptResult& result) {
  for (PodFailure& failure : result.failed) {
    if (failure.pod == pod) return failure;
  }
  return result.failed.emplace_back(PodFailure{pod});
}

}  // namespace

// A plan while it is made: the transaction, and who goes for whom.
class GroupPreemption::Draft {
 public:
  Draft(const AttemptRequest& request, ClusterState& cluster, PodScheduler& pod_scheduler)
      : request_(request),
        cluster_(cluster),
        pod_scheduler_(pod_scheduler),
        transaction_(cluster, trial_.placed) {}
  ~Draft() { transaction_.RollBack(); }

  // Who fits without evictions has a place, in that order, until the group is whole.
  void PlaceWhoFits(absl::Span<const PodPtr> order);
  // The others, by evictions. Returns whether the group is whole.
  bool PlaceByEvicting(absl::Span<const PodPtr> order);
  // Puts back whoever can stay while every member has its place, the most important first.
  // Returns whether the group is whole still.
  bool SpareVictims();

  bool evicts() const { return !victims_.empty(); }
  int placed() const { return static_cast<int>(trial_.placed.size()); }
  int cycles() const { return trial_.cycles; }
  int post_filters() const { return trial_.post_filters; }
  // No member waits for somebody to leave, and PostFilter sees no way.
  bool gives_up() const { return gives_up_; }
  absl::Time retry_at() const { return retry_at_; }

  // Rolls everything back and tells `result` what is to be done.
  void Carry(AttemptResult& result);

 private:
  struct Victim {
    PodPtr pod;
    Symbol node;
    PodPtr preemptor;
    Symbol plugin;
  };

  bool IsWhole() const { return request_.IsReachedBy(trial_.placed); }
  // Who has to find a place still for the group to be whole, the pod at `first` before the others.
  std::vector<const PodInfo*> StillMissing(absl::Span<const PodPtr> order, size_t first,
                                           const absl::flat_hash_set<const PodInfo*>& placed) const;
  bool CostsTheGroup(PodSpan victims) const;
  bool Evict(const PodPtr& preemptor, const PostFilterResult& plan);
  bool HasEnded(const GroupMembers& group) const;
  std::vector<std::vector<Victim*>> UnitsByImportance();
  bool CanStay(const Victim& victim) const;
  bool Spare(absl::Span<Victim* const> unit);
  bool HoldWithout(absl::Span<Victim* const> unit);
  bool SpareByMoving(absl::Span<Victim* const> unit);
  bool PlaceAnywhere();

  const AttemptRequest& request_;
  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  AttemptResult trial_;
  Transaction transaction_;
  std::vector<Victim> victims_;
  bool gives_up_ = false;
  absl::Time retry_at_ = absl::InfiniteFuture();
};

void GroupPreemption::Draft::PlaceWhoFits(absl::Span<const PodPtr> order) {
  const PodInfo* rejected = nullptr;  // the last one; nothing but placements has changed since
  for (const PodPtr& pod : order) {
    if (IsWhole()) return;
    const bool is_nominated = !cluster_.nominations().NominatedNode(*pod).empty();
    if (rejected != nullptr && !is_nominated && AreAlike(*pod, *rejected)) continue;
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

bool GroupPreemption::Draft::PlaceByEvicting(absl::Span<const PodPtr> order) {
  absl::flat_hash_set<const PodInfo*> placed;
  for (const Binder::Member& member : trial_.placed) placed.insert(member.placement.pod.get());
  const PodInfo* rejected = nullptr;
  int left = static_cast<int>(order.size() - placed.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const PodPtr& pod = order[i];
    if (IsWhole()) break;
    if (placed.contains(pod.get())) continue;
    if (this->placed() + left < request_.minimum) break;
    --left;
    if (rejected != nullptr && AreAlike(*pod, *rejected)) continue;
    auto outcome = pod_scheduler_.PlaceOrPlan(request_, pod, PodScheduler::AskPostFilter::kYes,
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
  return IsWhole();
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
  for (const PodPtr& victim : plan.victims) {
    const CachedPod* known = cluster_.cache().FindPod(*victim->identity());
    if (known == nullptr) continue;
    victims_.push_back({known->pod, known->node_name, preemptor, plan.plugin});
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

// As KEP-5710: higher priority first, then groups, larger ones first, then the earlier start.
std::vector<std::vector<GroupPreemption::Draft::Victim*>>
GroupPreemption::Draft::UnitsByImportance() {
  // Of a group that does not run any more, all go or stay together.
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
  absl::c_stable_sort(units, [](const auto& a, const auto& b) {
    const PodInfo& first = *a.front()->pod;
    const PodInfo& second = *b.front()->pod;
    if (first.priority() != second.priority()) return first.priority() > second.priority();
    if (a.size() != b.size()) return a.size() > b.size();
    return MoreImportantPod(first, second);
  });
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

// The pods are back: whether every member whom they concern still has its place. These are the ones
// on their nodes and, since quotas and rules about other nodes count all, one of each kind.
bool GroupPreemption::Draft::HoldWithout(absl::Span<Victim* const> unit) {
  std::vector<PodPtr> concerned;
  for (const Binder::Member& member : trial_.placed) {
    const Placement& placement = member.placement;
    const bool beside =
        absl::c_any_of(unit, [&](const Victim* victim) { return victim->node == placement.node; });
    const bool first_of_kind = absl::c_none_of(
        concerned, [&](const PodPtr& other) { return AreAlike(*other, *placement.pod); });
    if (beside || first_of_kind) concerned.push_back(placement.pod);
  }
  for (const PodPtr& pod : concerned) {
    const auto member = absl::c_find_if(trial_.placed, [&](const Binder::Member& candidate) {
      return candidate.placement.pod == pod;
    });
    const Symbol node = member->placement.node;
    transaction_.TakeBack(static_cast<size_t>(member - trial_.placed.begin()));
    const NodeRow row = cluster_.nodes().FindRow(node);
    if (pod_scheduler_.PlaceOn(request_, pod, row, trial_)) continue;
    std::vector<PodPtr> pods;
    for (const Victim* victim : unit) pods.push_back(victim->pod);
    transaction_.Evict(pods);
    pod_scheduler_.PlaceOn(request_, pod, row, trial_);
    return false;
  }
  return true;
}

bool GroupPreemption::Draft::Spare(absl::Span<Victim* const> unit) {
  const bool may = absl::c_all_of(unit, [&](const Victim* victim) { return CanStay(*victim); });
  if (!may) return false;
  for (const Victim* victim : unit) transaction_.Spare(*victim->pod);
  return HoldWithout(unit);
}

// The same with the members anywhere: they are placed anew beside the pods that are back.
// Everything is as before if they are not whole then.
bool GroupPreemption::Draft::SpareByMoving(absl::Span<Victim* const> unit) {
  std::vector<std::pair<PodPtr, Symbol>> places;
  for (const Binder::Member& member : trial_.placed) {
    places.emplace_back(member.placement.pod, member.placement.node);
  }
  while (!trial_.placed.empty()) transaction_.TakeBack(trial_.placed.size() - 1);
  for (const Victim* victim : unit) transaction_.Spare(*victim->pod);
  if (PlaceAnywhere()) return true;
  std::vector<PodPtr> pods;
  for (const Victim* victim : unit) pods.push_back(victim->pod);
  transaction_.Evict(pods);
  for (const auto& [pod, node] : places) {
    pod_scheduler_.PlaceOn(request_, pod, cluster_.nodes().FindRow(node), trial_);
  }
  return false;
}

bool GroupPreemption::Draft::PlaceAnywhere() {
  if (FindShortage(request_, cluster_.nodes()).has_value()) return false;
  const std::vector<MemberClass> classes = ClassifyMembers(request_, cluster_);
  GroupSpace space(request_, classes, cluster_, pod_scheduler_, trial_);
  AssignmentSearch search(space, cluster_.nodes().size(), request_.group_search_steps);
  return search.Run() == AssignmentSearch::Outcome::kFound;
}

bool GroupPreemption::Draft::SpareVictims() {
  absl::flat_hash_set<const PodInfo*> spared;
  const auto spare = [&](auto spares) {
    const std::vector<std::vector<Victim*>> units = UnitsByImportance();
    for (const std::vector<Victim*>& unit : units) {
      if (!spares(unit)) continue;
      for (const Victim* victim : unit) spared.insert(victim->pod.get());
    }
    victims_.erase(
        std::remove_if(victims_.begin(), victims_.end(),
                       [&](const Victim& victim) { return spared.contains(victim.pod.get()); }),
        victims_.end());
  };
  spare([this](const std::vector<Victim*>& unit) { return Spare(unit); });
  // What costs a search each time is done where it is cheap.
  constexpr size_t kMostVictims = 16, kMostMembers = 32;
  if (victims_.size() <= kMostVictims && request_.pods.size() <= kMostMembers) {
    spare([this](const std::vector<Victim*>& unit) { return SpareByMoving(unit); });
  }
  return IsWhole();
}

void GroupPreemption::Draft::Carry(AttemptResult& result) {
  std::vector<AttemptResult::Plan> plans;
  absl::flat_hash_map<Symbol, size_t> plan_at;  // of the first member that goes to the node
  for (const Binder::Member& member : trial_.placed) {
    plan_at.try_emplace(member.placement.node, plans.size());
    plans.push_back({member.placement.pod, {}});
    plans.back().result.nominated_node = std::string(member.placement.node_name);
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
  for (AttemptResult::Plan& plan : plans) {
    FailureOf(plan.pod, result).nominated_node = plan.result.nominated_node;
    if (!plan.result.victims.empty()) result.plans.push_back(std::move(plan));
  }
}

void GroupPreemption::Plan(const AttemptRequest& request, AttemptResult& result) {
  if (request.framework->plugins().post_filter.empty()) return;
  const PodFailure& cause = result.failed.front();
  if (cause.status.IsError()) return;
  const std::vector<PodPtr> as_queued(request.pods.begin(), request.pods.end());
  const auto count = [&result](const Draft& draft) {
    result.cycles += draft.cycles();
    result.post_filters += draft.post_filters();
  };

  const bool may_help = MayAnyHelp(*request.framework, as_queued);
  // A member that may not preempt waits for nobody whom it could evict.
  bool gives_up = !may_help && absl::c_any_of(as_queued, [](const PodPtr& pod) {
    return pod->preemption_policy() != PreemptionPolicy::kNever;
  });
  absl::Time retry_at = absl::InfiniteFuture();
  int most = 0;
  // Those that fit first leave the least to be evicted; if they are in the way of the others, the
  // hardest are first.
  for (const bool who_fits_first : {true, false}) {
    if (!may_help) break;
    Draft draft(request, cluster_, pod_scheduler_);
    std::vector<PodPtr> order = as_queued;
    if (who_fits_first) {
      draft.PlaceWhoFits(order);
    } else {
      const std::vector<MemberClass> classes = ClassifyMembers(request, cluster_);
      if (classes.size() == 1) break;
      order.clear();
      for (const MemberClass& members : classes) {
        order.insert(order.end(), members.pods.begin(), members.pods.end());
      }
    }
    if (draft.PlaceByEvicting(order) && draft.SpareVictims()) {
      draft.Carry(result);
      count(draft);
      int victims = 0;
      for (const AttemptResult::Plan& plan : result.plans) {
        victims += static_cast<int>(plan.result.victims.size());
      }
      result.answer = GroupAnswer::kPlan;
      result.finding = absl::StrCat(victims, victims == 1 ? " pod is" : " pods are",
                                    " evicted to make room for it.");
      return;
    }
    count(draft);
    gives_up = draft.gives_up();
    retry_at = std::min(retry_at, draft.retry_at());
    if (draft.evicts()) most = std::max(most, draft.placed());
    if (!draft.evicts()) break;  // no more would go in another order
  }
  if (most > 0) {
    absl::StrAppend(&result.finding, result.finding.empty() ? "" : " ",
                    "Evictions would make room for ", most, " of ", request.minimum, ".");
  }
  if (retry_at < absl::InfiniteFuture()) {
    PodFailure& told = result.failed.front();
    told.waiting = WhyVictimsMayNotGoYet(*told.waiting, retry_at);
  }
  if (!gives_up) return;
  for (const PodPtr& pod : as_queued) {
    if (cluster_.nominations().NominatedNode(*pod).empty()) continue;
    FailureOf(pod, result).nominated_node = "";
  }
}

}  // namespace berth
