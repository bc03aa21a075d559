// SPDX-License-Identifier: Apache-2.0
// Implementation of run_search.h.
#include "engine/run_search.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "engine/run_space.h"
#include "engine/transaction.h"
#include "search/assignment_search.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

class RunSearch {
 public:
  RunSearch(AttemptRequest& request, const std::vector<MemberRun>& runs, ClusterState& cluster,
            PodScheduler& pod_scheduler, AttemptResult& result)
      : request_(request),
        runs_(runs),
        pod_scheduler_(pod_scheduler),
        result_(result),
        transaction_(cluster, result.placed),
        left_(runs_.size() + 1, 0) {
    for (size_t i = runs_.size(); i-- > 0;) left_[i] = left_[i + 1] + runs_[i].pods.size();
    for (const MemberRun& run : runs_)
      rooms_.emplace_back(*request.framework, cluster.nodes(), run);
  }

  RunsOutcome Run() {
    if (PlaceFrom(0)) return RunsOutcome::kPlaced;
    return undecided_ ? RunsOutcome::kUndecided : RunsOutcome::kExhausted;
  }

 private:
  // Places the runs from `i` on.
  bool PlaceFrom(size_t i) {
    if (static_cast<int>(result_.placed.size() + left_[i]) < request_.minimum) return false;
    if (i == runs_.size()) return request_.IsReachedBy(result_.placed);
    for (const NodePlacement* const placement : PlacementsByRoom(runs_[i], rooms_[i])) {
      if (++steps_ > request_.group_search_steps) undecided_ = true;
      if (undecided_) return false;
      if (!domains_.Allow(runs_[i], placement)) continue;
      const Transaction::Savepoint before = transaction_.Save();
      if (PlaceRun(i, *placement)) {
        domains_.Enter(runs_[i], placement);
        if (PlaceFrom(i + 1)) return true;
        domains_.Leave(runs_[i]);
      }
      transaction_.RollBackTo(before);
      if (undecided_) return false;
    }
    return PlaceFrom(i + 1);
  }

  // As the members come, or the hardest first.
  bool PlaceRun(size_t i, const NodePlacement& placement) {
    request_.placement = &placement;
    const Transaction::Savepoint before = transaction_.Save();
    if (PlaceInOrder(runs_[i], runs_[i].pods)) return true;
    if (rooms_[i].of_one_kind()) return false;
    transaction_.RollBackTo(before);
    return PlaceInOrder(runs_[i], rooms_[i].HardestFirst(&placement));
  }

  bool PlaceInOrder(const MemberRun& run, const std::vector<PodPtr>& order) {
    int placed = 0;
    int left = static_cast<int>(order.size());
    for (const PodPtr& pod : order) {
      --left;
      const auto outcome =
          pod_scheduler_.PlaceOrPlan(request_, pod, PodScheduler::AskPostFilter::kNo, result_);
      if (outcome.placed) {
        ++placed;
        transaction_.Nominate(pod, "");
      } else if (placed + left < run.minimum) {
        return false;
      }
      if (request_.watch != nullptr &&
          !request_.watch->Continues(
              static_cast<int>(result_.placed.size()),
              static_cast<int>(request_.pods.size() - result_.placed.size()))) {
        return false;
      }
    }
    return placed > 0 && placed >= run.minimum;
  }

  AttemptRequest& request_;
  const std::vector<MemberRun>& runs_;
  PodScheduler& pod_scheduler_;
  AttemptResult& result_;
  Transaction transaction_;
  std::vector<size_t> left_;  // pods from each run on
  std::vector<RunRoom> rooms_;
  SharedDomains domains_;
  int64_t steps_ = 0;
  bool undecided_ = false;
};

// Members that only compete, and of which a node holds as many in every order, in runs of which all
// have to be placed.
bool AnyOrderIsAsGood(const AttemptRequest& request, const std::vector<MemberRun>& runs,
                      ClusterState& cluster) {
  const std::vector<MemberClass> classes = ClassifyMembers(request, cluster);
  return classes.size() == 1 && classes.front().only_competes &&
         absl::c_all_of(runs, [](const MemberRun& run) {
           return run.minimum == static_cast<int>(run.pods.size());
         });
}

RunsOutcome PlaceByAssignment(const AttemptRequest& request, const std::vector<MemberRun>& runs,
                              ClusterState& cluster, PodScheduler& pod_scheduler,
                              AttemptResult& result) {
  if (request.group_search_steps == 0) return RunsOutcome::kUndecided;
  const RunClasses classes = ClassifyRuns(request, runs, cluster);
  RunSpace space(request, runs, classes, cluster, pod_scheduler, result);
  AssignmentSearch search(space, cluster.nodes().size(), request.group_search_steps);
  const AssignmentSearch::Outcome outcome = search.Run();
  result.possibilities += search.possibilities();
  result.most_placed = std::max(result.most_placed, search.most_placed());
  if (outcome == AssignmentSearch::Outcome::kExhausted) return RunsOutcome::kExhausted;
  if (outcome == AssignmentSearch::Outcome::kUndecided) return RunsOutcome::kUndecided;
  // Others may need those that are taken back.
  const bool all_compete = absl::c_all_of(
      classes.classes, [](const MemberClass& members) { return members.only_competes; });
  if (space.TakeBackPartialRuns() == 0 || all_compete) return RunsOutcome::kPlaced;
  pod_scheduler.RollBack(result);
  return RunsOutcome::kUndecided;
}

// A part whose own subgroups do not all start that have to does not start half.
void TakeBackPartsThatMiss(const AttemptRequest& request, ClusterState& cluster,
                           AttemptResult& result) {
  if (!request.quorum.has_parts()) return;
  const std::vector<bool> starts =
      request.quorum.PartsThatStart(request.CountByPart(result.placed));
  absl::flat_hash_map<const PodInfo*, int> part_of;
  for (size_t i = 0; i < request.pods.size(); ++i) {
    part_of.emplace(request.pods[i].get(), request.PartOf(i));
  }
  Transaction transaction(cluster, result.placed);
  for (size_t i = result.placed.size(); i-- > 0;) {
    if (!starts[part_of[result.placed[i].placement.pod.get()]]) transaction.TakeBack(i);
  }
}

}  // namespace

std::vector<const NodePlacement*> PlacementsByRoom(const MemberRun& run, const RunRoom& room) {
  struct Entry {
    int tier;
    RunRoom::Sums room;
    const NodePlacement* placement;
  };
  std::vector<Entry> entries;
  for (size_t k = 0; k < run.placements.size(); ++k) {
    const RunRoom::Sums sums = room.Beside(run.placements[k]);
    if (sums.members < std::max(run.minimum, 1)) continue;
    entries.push_back({run.tiers.empty() ? 0 : run.tiers[k], sums, run.placements[k]});
  }
  // All members of the run in one that has room for them, before its minimum in another.
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

RunsOutcome PlaceRuns(AttemptRequest& request, const std::vector<MemberRun>& runs,
                      ClusterState& cluster, PodScheduler& pod_scheduler, AttemptResult& result) {
  const NodePlacement* const outer = request.placement;
  RunsOutcome outcome = RunSearch(request, runs, cluster, pod_scheduler, result).Run();
  request.placement = outer;
  if (outcome == RunsOutcome::kExhausted && request.watch == nullptr &&
      !AnyOrderIsAsGood(request, runs, cluster)) {
    outcome = PlaceByAssignment(request, runs, cluster, pod_scheduler, result);
  }
  if (outcome == RunsOutcome::kPlaced) TakeBackPartsThatMiss(request, cluster, result);
  return outcome;
}

}  // namespace berth
