// SPDX-License-Identifier: Apache-2.0
// Implementation of group_preemption_draft.h: plans for members that have to be together in sets.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "engine/group_preemption_draft.h"
#include "framework/nominated_rows.h"

namespace berth {

void GroupPreemption::Draft::RollBackTo(const Transaction::Savepoint& savepoint, size_t victims) {
  transaction_.RollBackTo(savepoint);
  victims_.resize(victims);
}

bool GroupPreemption::Draft::IsNominatedTo(const PodInfo& pod,
                                           const NodePlacement* placement) const {
  const NodeRow row = NominatedRow(cluster_.nominations(), cluster_.nodes(), pod);
  return row >= 0 && (placement == nullptr || absl::c_binary_search(placement->rows, row));
}

bool GroupPreemption::Draft::PlacePodSetsByEvicting(const std::vector<PodSet>& pod_sets,
                                                    PodSetOrder order) {
  KeepTogether(pod_sets);
  steps_left_ = request_.group_search_steps;
  for (const PodSet& pod_set : pod_sets) {
    PlannedPodSet& added = planned_.emplace_back(
        PlannedPodSet{&pod_set, PodSetRoom(*request_.framework, cluster_.nodes(), pod_set)});
    added.is_nominated = absl::c_any_of(
        pod_set.pods, [&](const PodPtr& pod) { return IsNominatedTo(*pod, nullptr); });
  }
  ListMembers();
  SortPodSets(order);
  ListMembers();
  return PlacePodSetsFrom(0, nullptr, 0);
}

void GroupPreemption::Draft::ListMembers() {
  absl::flat_hash_map<const PodInfo*, int> part_of;
  for (size_t i = 0; i < request_.pods.size(); ++i) {
    part_of.emplace(request_.pods[i].get(), request_.PartOf(i));
  }
  order_.clear();
  parts_.clear();
  for (PlannedPodSet& planned : planned_) {
    planned.first = order_.size();
    for (const PodPtr& pod : planned.pod_set->pods) {
      order_.push_back(pod);
      parts_.push_back(part_of[pod.get()]);
    }
  }
}

// Those for which room is held first. Then the cheapest, since of the parts of a group not all may
// have to start; or those of which some member has the fewest places.
void GroupPreemption::Draft::SortPodSets(PodSetOrder order) {
  struct Rank {
    bool has_place = false;
    VictimsCost cost;
    int64_t places = 0;
  };
  std::vector<std::pair<Rank, size_t>> ranks;
  for (size_t i = 0; i < planned_.size(); ++i) {
    Rank rank;
    if (order == PodSetOrder::kHardestFirst) {
      rank = {true, {}, planned_[i].room.FewestIfEmpty(request_.placement)};
    } else if (request_.quorum.has_parts() && !planned_[i].is_nominated) {
      const std::vector<Option> options = OptionsOf(i, nullptr, 0);
      if (!options.empty()) rank = {true, options.front().cost, 0};
    }
    ranks.emplace_back(rank, i);
  }
  absl::c_stable_sort(ranks, [&](const auto& a, const auto& b) {
    const bool a_held = planned_[a.second].is_nominated, b_held = planned_[b.second].is_nominated;
    if (a_held != b_held) return a_held;
    if (a.first.has_place != b.first.has_place) return a.first.has_place;
    if (a.first.places != b.first.places) return a.first.places < b.first.places;
    return a.first.cost < b.first.cost;
  });
  std::vector<PlannedPodSet> sorted;
  for (const auto& [rank, i] : ranks) sorted.push_back(planned_[i]);
  planned_ = std::move(sorted);
  steps_left_ = request_.group_search_steps;
}

// Whether the group is whole if all members of the pod sets from `position` on are placed, and all
// those beyond the minima of the pod sets that are placed.
bool GroupPreemption::Draft::MayBeWhole(size_t position) const {
  const size_t first = position < planned_.size() ? planned_[position].first : order_.size();
  const bool has_parts = request_.quorum.has_parts();
  std::vector<int> by_part;
  if (has_parts) by_part = request_.CountByPart(trial_.placed);
  int members = placed();
  const auto add = [&](int part, int more) {
    members += more;
    if (has_parts) by_part[part] += more;
  };
  for (size_t i = first; i < order_.size(); ++i) add(parts_[i], 1);
  for (size_t i = 0; i < position; ++i) {
    const PodSet& pod_set = *planned_[i].pod_set;
    if (!planned_[i].is_placed) continue;
    add(parts_[planned_[i].first], static_cast<int>(pod_set.pods.size()) - pod_set.minimum);
  }
  if (members < request_.minimum) return false;
  return !has_parts || request_.quorum.IsReachedBy(by_part);
}

// Pod sets of alike members one after another go to the same placements.
bool GroupPreemption::Draft::IsLikeTheLast(size_t position) const {
  if (position == 0) return false;
  const PlannedPodSet& planned = planned_[position];
  const PlannedPodSet& last = planned_[position - 1];
  return planned.room.of_one_kind() && last.room.of_one_kind() &&
         planned.pod_set->minimum == last.pod_set->minimum &&
         planned.pod_set->pods.size() == last.pod_set->pods.size() &&
         AreEquivalent(*planned.pod_set->pods.front(), *last.pod_set->pods.front()) &&
         planned.pod_set->placements == last.pod_set->placements &&
         planned.pod_set->tiers == last.pod_set->tiers && planned.pod_set->scopes.empty() &&
         last.pod_set->scopes.empty();
}

bool GroupPreemption::Draft::PlacePodSetIn(size_t position, const NodePlacement* placement,
                                           int goal) {
  const PlannedPodSet& planned = planned_[position];
  const std::vector<PodPtr>& pods = planned.pod_set->pods;
  steps_left_ -= 1 + static_cast<int64_t>(pods.size()) / 16;
  const NodePlacement* const outer = std::exchange(request_.placement, placement);
  goal_ = placed() + goal;
  const Transaction::Savepoint before = transaction_.Save();
  const size_t victims = victims_.size();
  PlaceWithoutEvictions(pods);
  bool done = IsEnough() || PlaceByEvicting(order_, planned.first, planned.first + pods.size());
  if (!done && !planned.room.of_one_kind()) {
    RollBackTo(before, victims);
    const std::vector<PodPtr> hardest_first = planned.room.HardestFirst(placement);
    done = PlaceByEvicting(hardest_first, 0, hardest_first.size());
  }
  if (!done) RollBackTo(before, victims);
  request_.placement = outer;
  goal_ = -1;
  return done;
}

// Absent if the pod set has no place there, with whatever evictions.
std::optional<VictimsCost> GroupPreemption::Draft::CostIn(size_t position,
                                                          const NodePlacement* placement) {
  const Transaction::Savepoint before = transaction_.Save();
  const size_t victims = victims_.size();
  if (!PlacePodSetIn(position, placement, planned_[position].pod_set->minimum)) return std::nullopt;
  VictimsCost cost;
  for (size_t i = victims; i < victims_.size(); ++i) {
    cost.Add(*victims_[i].pod);
    cost.pdb_violations += victims_[i].violates_budget ? 1 : 0;
  }
  RollBackTo(before, victims);
  return cost;
}

// Where the pod set may go, the cheapest first. Where room is held for it already, no other pod has
// to go. `of_last`: those of a pod set that is like this one, of which the one at `last_chosen` was
// taken.
std::vector<GroupPreemption::Draft::Option> GroupPreemption::Draft::OptionsOf(
    size_t position, const std::vector<Option>* of_last, size_t last_chosen) {
  const PodSet& pod_set = *planned_[position].pod_set;
  std::vector<Option> options;
  const auto add = [&](const NodePlacement* placement) {
    if (!domains_.Allow(pod_set, placement)) return;
    const std::optional<VictimsCost> cost = CostIn(position, placement);
    if (cost.has_value()) options.push_back({placement, *cost});
  };
  if (of_last != nullptr) {
    for (size_t i = 0; i < of_last->size(); ++i) {
      if (i == last_chosen) {
        add((*of_last)[i].placement);
      } else {
        options.push_back((*of_last)[i]);
      }
    }
  } else {
    const auto is_nominated_to = [&](const NodePlacement* placement) {
      return absl::c_any_of(pod_set.pods,
                            [&](const PodPtr& pod) { return IsNominatedTo(*pod, placement); });
    };
    const bool any_nominated = absl::c_any_of(pod_set.placements, is_nominated_to);
    for (const NodePlacement* const placement : pod_set.placements) {
      if (steps_left_ <= 0) break;
      if (any_nominated && !is_nominated_to(placement)) continue;
      if (planned_[position].room.IfEmpty(placement) < pod_set.minimum) continue;
      add(placement);
    }
  }
  absl::c_stable_sort(options, [](const Option& a, const Option& b) { return a.cost < b.cost; });
  return options;
}

bool GroupPreemption::Draft::PlacePodSetsFrom(size_t position, const std::vector<Option>* of_last,
                                              size_t last_chosen) {
  if (position == planned_.size()) return IsWhole() || FillUp();
  if (!MayBeWhole(position)) return false;
  PlannedPodSet& planned = planned_[position];
  const bool is_like_the_last = of_last != nullptr && IsLikeTheLast(position);
  const std::vector<Option> options =
      OptionsOf(position, is_like_the_last ? of_last : nullptr, last_chosen);
  if (options.empty() && planned.is_nominated && !gives_up_) {  // no other pod goes meanwhile
    waits_ = true;
    return false;
  }
  for (size_t i = 0; i < options.size() && steps_left_ > 0; ++i) {
    const Transaction::Savepoint before = transaction_.Save();
    const size_t victims = victims_.size();
    if (!PlacePodSetIn(position, options[i].placement, planned.pod_set->minimum)) continue;
    planned.chosen = options[i].placement;
    planned.is_placed = true;
    domains_.Enter(*planned.pod_set, planned.chosen);
    if (PlacePodSetsFrom(position + 1, &options, i)) return true;
    domains_.Leave(*planned.pod_set);
    planned.is_placed = false;
    RollBackTo(before, victims);
    if (waits_) return false;
  }
  return PlacePodSetsFrom(position + 1, nullptr, 0);
}

// Places more members of the pod sets that are placed than their minima, until the group is whole.
bool GroupPreemption::Draft::FillUp() {
  const Transaction::Savepoint before = transaction_.Save();
  const size_t victims = victims_.size();
  const NodePlacement* const outer = request_.placement;
  for (const PlannedPodSet& planned : planned_) {
    if (!planned.is_placed) continue;
    request_.placement = planned.chosen;
    PlaceByEvicting(order_, planned.first, planned.first + planned.pod_set->pods.size());
    if (IsWhole()) break;
  }
  request_.placement = outer;
  if (IsWhole()) return true;
  RollBackTo(before, victims);
  return false;
}

}  // namespace berth
