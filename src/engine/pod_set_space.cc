// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_set_space.h.
#include "engine/pod_set_space.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "search/room.h"

namespace berth {

PodSetClasses ClassifyPodSets(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                              ClusterState& cluster) {
  absl::flat_hash_map<const PodInfo*, int> part_of;
  for (size_t i = 0; i < request.pods.size(); ++i) {
    part_of.emplace(request.pods[i].get(), request.PartOf(i));
  }
  std::vector<std::pair<MemberClass, int>> found;
  for (size_t pod_set = 0; pod_set < pod_sets.size(); ++pod_set) {
    AttemptRequest of_pod_set;
    of_pod_set.framework = request.framework;
    of_pod_set.placement = request.placement;
    for (const auto& pod : pod_sets[pod_set].pods) {
      of_pod_set.pods.push_back(pod);
      of_pod_set.parts.push_back(part_of[pod.get()]);
    }
    for (MemberClass& members : ClassifyMembers(of_pod_set, cluster)) {
      found.emplace_back(std::move(members), static_cast<int>(pod_set));
    }
  }
  absl::c_stable_sort(
      found, [](const auto& a, const auto& b) { return a.first.feasible < b.first.feasible; });
  PodSetClasses result;
  for (auto& [members, pod_set] : found) {
    result.classes.push_back(std::move(members));
    result.pod_set_of.push_back(pod_set);
  }
  return result;
}

PodSetSpace::PodSetSpace(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                         const PodSetClasses& classes, ClusterState& cluster,
                         PodScheduler& pod_scheduler, AttemptResult& result)
    : GroupSpace(request, classes.classes, cluster, pod_scheduler, result),
      pod_sets_(pod_sets),
      classes_of_(classes),
      rows_(pod_sets.size()) {}

bool PodSetSpace::IsWhereSiblingsAre(int pod_set, size_t position) const {
  for (size_t other = 0; other < pod_sets_.size(); ++other) {
    for (const int scope : pod_sets_[other].scopes) {
      if (!IsInDomainOf(pod_sets_[pod_set], position, scope, rows_[other])) return false;
    }
  }
  return true;
}

std::vector<bool> PodSetSpace::MayUse(int pod_set) const {
  std::vector<bool> may(nodes().size(), false);
  const PodSet& of = pod_sets_[pod_set];
  for (size_t k = 0; k < of.placements.size(); ++k) {
    const NodePlacement* const placement = of.placements[k];
    const bool holds_all = absl::c_all_of(
        rows_[pod_set], [&](NodeRow row) { return absl::c_binary_search(placement->rows, row); });
    if (!holds_all || !IsWhereSiblingsAre(pod_set, k)) continue;
    for (const NodeRow row : placement->rows) may[row] = true;
  }
  return may;
}

std::vector<NodeRow> PodSetSpace::FeasibleRows(int pod_class) {
  std::vector<NodeRow> rows = GroupSpace::FeasibleRows(pod_class);
  const std::vector<bool> may = MayUse(classes_of_.pod_set_of[pod_class]);
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](NodeRow row) { return !may[row]; }),
             rows.end());
  return rows;
}

bool PodSetSpace::Place(int pod_class, NodeRow row) {
  if (!GroupSpace::Place(pod_class, row)) return false;
  placed_pod_sets_.push_back(classes_of_.pod_set_of[pod_class]);
  rows_[placed_pod_sets_.back()].push_back(row);
  return true;
}

void PodSetSpace::Undo() {
  GroupSpace::Undo();
  rows_[placed_pod_sets_.back()].pop_back();
  placed_pod_sets_.pop_back();
}

bool PodSetSpace::IsEnough(absl::Span<const int> placed) const {
  std::vector<int> of_pod_set(pod_sets_.size(), 0);
  for (size_t i = 0; i < placed.size(); ++i) of_pod_set[classes_of_.pod_set_of[i]] += placed[i];
  std::vector<int> counted(placed.begin(), placed.end());
  for (size_t i = 0; i < placed.size(); ++i) {
    const int pod_set = classes_of_.pod_set_of[i];
    if (of_pod_set[pod_set] < pod_sets_[pod_set].minimum) counted[i] = 0;
  }
  return GroupSpace::IsEnough(counted);
}

int PodSetSpace::Room(int pod_class, int enough) {
  const std::optional<PodNeed>& need = need_of(pod_class);
  if (!need.has_value()) return enough;
  const std::vector<bool> may = MayUse(classes_of_.pod_set_of[pod_class]);
  int64_t room = 0;
  for (NodeRow row = 0; row < nodes().size() && room < enough; ++row) {
    if (may[row]) room += RoomOnRow(need->needed, nodes(), row);
  }
  return static_cast<int>(std::min<int64_t>(room, enough));
}

int PodSetSpace::TakeBackPartialPodSets() {
  int taken = 0;
  for (size_t i = placed_pod_sets_.size(); i-- > 0;) {
    const int pod_set = placed_pod_sets_[i];
    if (static_cast<int>(rows_[pod_set].size()) >= pod_sets_[pod_set].minimum) continue;
    TakeBack(i);
    ++taken;
  }
  return taken;
}

}  // namespace berth
