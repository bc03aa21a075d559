// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_set_search.h.
#include "engine/pod_set_search.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "engine/pod_set_space.h"
#include "engine/shared_by_members.h"
#include "engine/transaction.h"
#include "search/assignment_search.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

class PodSetSearch {
 public:
  PodSetSearch(AttemptRequest& request, const std::vector<PodSet>& pod_sets, ClusterState& cluster,
               PodScheduler& pod_scheduler, AttemptResult& result)
      : request_(request),
        pod_sets_(pod_sets),
        pod_scheduler_(pod_scheduler),
        result_(result),
        transaction_(cluster, result.placed),
        left_(pod_sets_.size() + 1, 0) {
    for (size_t i = pod_sets_.size(); i-- > 0;) left_[i] = left_[i + 1] + pod_sets_[i].pods.size();
    for (const PodSet& pod_set : pod_sets_)
      rooms_.emplace_back(*request.framework, cluster.nodes(), pod_set);
  }

  PodSetsOutcome Run() {
    const bool is_placed = PlaceFrom(0);
    result_.possibilities += steps_;
    if (is_placed) return PodSetsOutcome::kPlaced;
    return undecided_ ? PodSetsOutcome::kUndecided : PodSetsOutcome::kExhausted;
  }

 private:
  // Places the pod sets from `i` on.
  bool PlaceFrom(size_t i) {
    if (static_cast<int>(result_.placed.size() + left_[i]) < request_.minimum) return false;
    if (i == pod_sets_.size()) return request_.IsReachedBy(result_.placed);
    for (const NodePlacement* const placement : PlacementsByRoom(pod_sets_[i], rooms_[i])) {
      if (++steps_ > request_.group_search_steps) undecided_ = true;
      if (undecided_) return false;
      if (!domains_.Allow(pod_sets_[i], placement)) continue;
      const Transaction::Savepoint before = transaction_.Save();
      if (PlacePodSet(i, *placement)) {
        domains_.Enter(pod_sets_[i], placement);
        if (PlaceFrom(i + 1)) return true;
        domains_.Leave(pod_sets_[i]);
      }
      transaction_.RollBackTo(before);
      if (undecided_) return false;
    }
    return PlaceFrom(i + 1);
  }

  // As the members come, or the hardest first.
  bool PlacePodSet(size_t i, const NodePlacement& placement) {
    request_.placement = &placement;
    const Transaction::Savepoint before = transaction_.Save();
    if (PlaceInOrder(pod_sets_[i], pod_sets_[i].pods)) return true;
    if (rooms_[i].of_one_kind()) return false;
    transaction_.RollBackTo(before);
    return PlaceInOrder(pod_sets_[i], rooms_[i].HardestFirst(&placement));
  }

  bool PlaceInOrder(const PodSet& pod_set, const std::vector<PodPtr>& order) {
    int placed = 0;
    int left = static_cast<int>(order.size());
    for (const PodPtr& pod : order) {
      --left;
      const auto outcome =
          pod_scheduler_.PlaceOrPlan(request_, pod, PodScheduler::AskPostFilter::kNo, result_);
      if (outcome.placed) {
        ++placed;
        transaction_.Nominate(pod, "");
      } else if (placed + left < pod_set.minimum) {
        return false;
      }
      if (request_.watch != nullptr &&
          !request_.watch->Continues(
              static_cast<int>(result_.placed.size()),
              static_cast<int>(request_.pods.size() - result_.placed.size()))) {
        return false;
      }
    }
    return placed > 0 && placed >= pod_set.minimum;
  }

  AttemptRequest& request_;
  const std::vector<PodSet>& pod_sets_;
  PodScheduler& pod_scheduler_;
  AttemptResult& result_;
  Transaction transaction_;
  std::vector<size_t> left_;  // pods from each pod set on
  std::vector<PodSetRoom> rooms_;
  SharedDomains domains_;
  int64_t steps_ = 0;
  bool undecided_ = false;
};

// Members that only compete, and of which a node holds as many in every order, in sets of which all
// have to be placed.
bool AnyOrderIsAsGood(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                      ClusterState& cluster) {
  const std::vector<MemberClass> classes = ClassifyMembers(request, cluster);
  return classes.size() == 1 && classes.front().only_competes &&
         absl::c_all_of(pod_sets, [](const PodSet& pod_set) {
           return pod_set.minimum == static_cast<int>(pod_set.pods.size());
         });
}

PodSetsOutcome PlaceByAssignment(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                                 ClusterState& cluster, PodScheduler& pod_scheduler,
                                 AttemptResult& result) {
  if (request.group_search_steps == 0) return PodSetsOutcome::kUndecided;
  const PodSetClasses classes = ClassifyPodSets(request, pod_sets, cluster);
  PodSetSpace space(request, pod_sets, classes, cluster, pod_scheduler, result);
  AssignmentSearch search(space, cluster.nodes().size(), request.group_search_steps);
  const AssignmentSearch::Outcome outcome = search.Run();
  result.possibilities += search.possibilities();
  result.most_placed = std::max(result.most_placed, search.most_placed());
  if (outcome == AssignmentSearch::Outcome::kExhausted) return PodSetsOutcome::kExhausted;
  if (outcome == AssignmentSearch::Outcome::kUndecided) return PodSetsOutcome::kUndecided;
  // Others may need those that are taken back.
  const bool all_compete = absl::c_all_of(
      classes.classes, [](const MemberClass& members) { return members.only_competes; });
  if (space.TakeBackPartialPodSets() == 0 || all_compete) return PodSetsOutcome::kPlaced;
  pod_scheduler.RollBack(result);
  return PodSetsOutcome::kUndecided;
}

// A part whose own subgroups do not all start that have to does not start half.
void TakeBackPartsThatMiss(const AttemptRequest& request, ClusterState& cluster,
                           AttemptResult& result) {
  if (!request.quorum.has_parts()) return;
  const std::vector<bool> starts = request.FindStartingParts(result.placed);
  Transaction transaction(cluster, result.placed);
  for (size_t i = result.placed.size(); i-- > 0;) {
    if (!starts[i]) transaction.TakeBack(i);
  }
}

}  // namespace

std::vector<const NodePlacement*> PlacementsByRoom(const PodSet& pod_set, const PodSetRoom& room) {
  struct Entry {
    int tier;
    PodSetRoom::Sums room;
    const NodePlacement* placement;
  };
  std::vector<Entry> entries;
  for (size_t k = 0; k < pod_set.placements.size(); ++k) {
    const PodSetRoom::Sums sums = room.Beside(pod_set.placements[k]);
    if (sums.members < std::max(pod_set.minimum, 1)) continue;
    entries.push_back({pod_set.tiers.empty() ? 0 : pod_set.tiers[k], sums, pod_set.placements[k]});
  }
  // All members of the pod set in one that has room for them, before its minimum in another.
  absl::c_stable_sort(entries, [](const Entry& a, const Entry& b) {
    const bool a_holds_all = a.room.times >= 1, b_holds_all = b.room.times >= 1;
    if (a.tier != b.tier) return a.tier < b.tier;
    if (a_holds_all != b_holds_all) return a_holds_all;
    return a_holds_all ? a.room.times < b.room.times : a.room.times > b.room.times;
  });
  std::vector<const NodePlacement*> placements;
  for (const Entry& entry : entries) placements.push_back(entry.placement);
  return placements;
}

PodSetsOutcome PlacePodSets(AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                            ClusterState& cluster, PodScheduler& pod_scheduler,
                            AttemptResult& result) {
  const NodePlacement* const outer = request.placement;
  PodSetsOutcome outcome = PodSetSearch(request, pod_sets, cluster, pod_scheduler, result).Run();
  request.placement = outer;
  if (outcome == PodSetsOutcome::kExhausted && request.watch == nullptr &&
      !AnyOrderIsAsGood(request, pod_sets, cluster)) {
    outcome = PlaceByAssignment(request, pod_sets, cluster, pod_scheduler, result);
  }
  if (outcome == PodSetsOutcome::kExhausted &&
      (request.watch != nullptr || !WhyNotAllTried(*request.framework, request.pods).empty())) {
    outcome = PodSetsOutcome::kUndecided;
  }
  if (outcome == PodSetsOutcome::kPlaced) TakeBackPartsThatMiss(request, cluster, result);
  return outcome;
}

}  // namespace berth
