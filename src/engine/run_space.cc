// SPDX-License-Identifier: Apache-2.0
// Implementation of run_space.h.
#include "engine/run_space.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "search/room.h"

namespace berth {

RunClasses ClassifyRuns(const AttemptRequest& request, const std::vector<MemberRun>& runs,
                        ClusterState& cluster) {
  absl::flat_hash_map<const PodInfo*, int> part_of;
  for (size_t i = 0; i < request.pods.size(); ++i) {
    part_of.emplace(request.pods[i].get(), request.PartOf(i));
  }
  std::vector<std::pair<MemberClass, int>> found;
  for (size_t run = 0; run < runs.size(); ++run) {
    AttemptRequest of_run;
    of_run.framework = request.framework;
    of_run.placement = request.placement;
    for (const auto& pod : runs[run].pods) {
      of_run.pods.push_back(pod);
      of_run.parts.push_back(part_of[pod.get()]);
    }
    for (MemberClass& members : ClassifyMembers(of_run, cluster)) {
      found.emplace_back(std::move(members), static_cast<int>(run));
    }
  }
  absl::c_stable_sort(
      found, [](const auto& a, const auto& b) { return a.first.feasible < b.first.feasible; });
  RunClasses result;
  for (auto& [members, run] : found) {
    result.classes.push_back(std::move(members));
    result.run_of.push_back(run);
  }
  return result;
}

RunSpace::RunSpace(const AttemptRequest& request, const std::vector<MemberRun>& runs,
                   const RunClasses& classes, ClusterState& cluster, PodScheduler& pod_scheduler,
                   AttemptResult& result)
    : GroupSpace(request, classes.classes, cluster, pod_scheduler, result),
      runs_(runs),
      of_run_(classes),
      rows_(runs.size()) {}

bool RunSpace::IsWhereSiblingsAre(int run, size_t position) const {
  for (size_t other = 0; other < runs_.size(); ++other) {
    for (const int scope : runs_[other].scopes) {
      if (!IsInDomainOf(runs_[run], position, scope, rows_[other])) return false;
    }
  }
  return true;
}

std::vector<bool> RunSpace::MayUse(int run) const {
  std::vector<bool> may(nodes().size(), false);
  const MemberRun& of = runs_[run];
  for (size_t k = 0; k < of.placements.size(); ++k) {
    const NodePlacement* const placement = of.placements[k];
    const bool holds_all = absl::c_all_of(
        rows_[run], [&](NodeRow row) { return absl::c_binary_search(placement->rows, row); });
    if (!holds_all || !IsWhereSiblingsAre(run, k)) continue;
    for (const NodeRow row : placement->rows) may[row] = true;
  }
  return may;
}

std::vector<NodeRow> RunSpace::FeasibleRows(int pod_class) {
  std::vector<NodeRow> rows = GroupSpace::FeasibleRows(pod_class);
  const std::vector<bool> may = MayUse(of_run_.run_of[pod_class]);
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](NodeRow row) { return !may[row]; }),
             rows.end());
  return rows;
}

bool RunSpace::Place(int pod_class, NodeRow row) {
  if (!GroupSpace::Place(pod_class, row)) return false;
  placed_runs_.push_back(of_run_.run_of[pod_class]);
  rows_[placed_runs_.back()].push_back(row);
  return true;
}

void RunSpace::Undo() {
  GroupSpace::Undo();
  rows_[placed_runs_.back()].pop_back();
  placed_runs_.pop_back();
}

bool RunSpace::IsEnough(absl::Span<const int> placed) const {
  std::vector<int> of_run(runs_.size(), 0);
  for (size_t i = 0; i < placed.size(); ++i) of_run[of_run_.run_of[i]] += placed[i];
  std::vector<int> counted(placed.begin(), placed.end());
  for (size_t i = 0; i < placed.size(); ++i) {
    const int run = of_run_.run_of[i];
    if (of_run[run] < runs_[run].minimum) counted[i] = 0;
  }
  return GroupSpace::IsEnough(counted);
}

int RunSpace::Room(int pod_class, int enough) {
  const std::optional<PodNeed>& need = need_of(pod_class);
  if (!need.has_value()) return enough;
  const std::vector<bool> may = MayUse(of_run_.run_of[pod_class]);
  int64_t room = 0;
  for (NodeRow row = 0; row < nodes().size() && room < enough; ++row) {
    if (may[row]) room += RoomOnRow(need->needed, nodes(), row);
  }
  return static_cast<int>(std::min<int64_t>(room, enough));
}

int RunSpace::TakeBackPartialRuns() {
  int taken = 0;
  for (size_t i = placed_runs_.size(); i-- > 0;) {
    const int run = placed_runs_[i];
    if (static_cast<int>(rows_[run].size()) >= runs_[run].minimum) continue;
    TakeBack(i);
    ++taken;
  }
  return taken;
}

}  // namespace berth
