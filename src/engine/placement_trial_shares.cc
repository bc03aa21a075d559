// SPDX-License-Identifier: Apache-2.0
// Implementation of placement_trial.h: a group that no part of a placement holds, in few of them.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "engine/placement_trial.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// So many members over parts that have room for so many each, the largest first, as evenly as can
// be: what one cannot take the others share.
std::vector<int> EvenShares(const std::vector<int>& rooms, int members) {
  std::vector<int> sizes(rooms.size());
  int left = members;
  for (size_t i = rooms.size(); i-- > 0;) {
    sizes[i] = std::min(rooms[i], left / static_cast<int>(i + 1));
    left -= sizes[i];
  }
  for (size_t i = 0; i < rooms.size() && left > 0; ++i) {
    const int more = std::min(rooms[i] - sizes[i], left);
    sizes[i] += more;
    left -= more;
  }
  return sizes;
}

}  // namespace

bool PlacementTrial::TryShares(const Candidate& candidate, AttemptResult& other) {
  // Sums are too generous about unlike members: a few more parts than they say may be needed. It is
  // a wish only, and not worth a long search.
  constexpr size_t kMostMore = 3;
  constexpr int64_t kMostSteps = 200;
  const NodePlacement& placement = *candidate.placement;
  const int64_t steps = scoped_.group_search_steps;
  for (size_t more = 0; more < kMostMore; ++more) {
    const std::vector<PodSet> pod_sets =
        kinds_.size() == 1 ? EvenPodSets(placement) : PodSetsOfRoles(placement, more);
    if (pod_sets.empty()) return false;
    if (kinds_.size() > 1) scoped_.group_search_steps = std::min(steps, kMostSteps);
    TryPodSets(candidate, pod_sets, other);
    scoped_.group_search_steps = steps;
    if (other.placed.size() == request_.pods.size()) return true;
    pod_scheduler_.RollBack(other);
    other = AttemptResult();
    if (kinds_.size() == 1) return false;
  }
  return false;
}

// Over as few parts of the placement as can be, as evenly as can be. Empty if that is not wanted or
// not known to be possible; of members that are all alike.
std::vector<PodSet> PlacementTrial::EvenPodSets(const NodePlacement& placement) const {
  std::vector<PodSet> pod_sets;
  const int members = static_cast<int>(request_.pods.size());
  if (placement.parts.empty() || !kinds_.front().need.has_value() || !assigned_nodes_.empty()) {
    return pod_sets;
  }
  std::vector<std::pair<int, const NodePlacement*>> parts;  // with room for so many
  for (const NodePlacementPtr& part : placement.parts) {
    const int room = static_cast<int>(std::min<double>(RoomOf(kinds_.front(), *part), members));
    if (room > 0) parts.emplace_back(room, part.get());
  }
  const auto by_room = [](const auto& a, const auto& b) { return a.first > b.first; };
  absl::c_stable_sort(parts, by_room);
  size_t few = 0;
  for (int room = 0; room < members; ++few) {
    if (few == parts.size()) return pod_sets;
    room += parts[few].first;
  }
  // The tightest of those that have room for an even share; else the largest there are.
  const int share = (members + static_cast<int>(few) - 1) / static_cast<int>(few);
  const auto enough = absl::c_find_if(parts, [&](const auto& part) { return part.first < share; });
  const size_t with_room = static_cast<size_t>(enough - parts.begin());
  const size_t begin = with_room >= few ? with_room - few : 0;
  std::vector<int> rooms;
  for (size_t i = begin; i < begin + few; ++i) rooms.push_back(parts[i].first);
  const std::vector<int> sizes = EvenShares(rooms, members);
  const std::vector<PodPtr> ranked = ByRank(request_.pods);
  auto pod = ranked.begin();
  for (size_t i = 0; i < few; ++i) {
    PodSet& pod_set = pod_sets.emplace_back();
    pod_set.pods.assign(pod, pod + sizes[i]);
    pod_set.minimum = sizes[i];
    pod_set.placements = {parts[begin + i].second};
    pod += sizes[i];
  }
  return pod_sets;
}

// Of unlike members: those that request the same together, in one of as few parts as sums allow and
// `more`; as evenly as can be where no part holds all of them. Empty as above.
std::vector<PodSet> PlacementTrial::PodSetsOfRoles(const NodePlacement& placement,
                                                   size_t more) const {
  struct Part {
    const NodePlacement* placement;
    std::vector<int> rooms;  // by kind
    double times;            // for all kinds
  };
  std::vector<PodSet> pod_sets;
  const bool all_known =
      absl::c_all_of(kinds_, [](const RequestKind& kind) { return kind.room != nullptr; });
  if (placement.parts.empty() || !all_known || !assigned_nodes_.empty()) return pod_sets;
  std::vector<Part> parts;
  for (const NodePlacementPtr& part : placement.parts) {
    Part& added = parts.emplace_back(Part{part.get(), {}, 1});
    for (const RequestKind& kind : kinds_) {
      const double room = std::min<double>(RoomOf(kind, *part), kind.members);
      added.rooms.push_back(static_cast<int>(room));
      added.times = std::min(added.times, room / kind.members);
    }
  }
  absl::c_stable_sort(parts, [](const Part& a, const Part& b) { return a.times > b.times; });
  std::vector<int> in_all(kinds_.size(), 0);
  const auto hold_all = [&] {
    for (size_t k = 0; k < kinds_.size(); ++k) {
      if (in_all[k] < kinds_[k].members) return false;
    }
    return true;
  };
  size_t few = 0;
  for (; !hold_all(); ++few) {
    if (few == parts.size()) return pod_sets;
    for (size_t k = 0; k < kinds_.size(); ++k) in_all[k] += parts[few].rooms[k];
  }
  if (few + more > parts.size()) return pod_sets;
  parts.resize(few + more);
  const std::vector<PodPtr> ranked = ByRank(request_.pods);
  for (size_t k = 0; k < kinds_.size(); ++k) {
    const RequestKind& kind = kinds_[k];
    std::vector<PodPtr> members;
    for (const PodPtr& pod : ranked) {
      if (pod->requests() == (*kind.pod)->requests()) members.push_back(pod);
    }
    absl::c_stable_sort(parts,
                        [k](const Part& a, const Part& b) { return a.rooms[k] > b.rooms[k]; });
    if (parts.front().rooms[k] >= kind.members) {
      PodSet& pod_set = pod_sets.emplace_back();
      pod_set.pods = std::move(members);
      pod_set.minimum = kind.members;
      for (const Part& part : parts) pod_set.placements.push_back(part.placement);
      continue;
    }
    std::vector<int> rooms;
    for (const Part& part : parts) rooms.push_back(part.rooms[k]);
    const std::vector<int> sizes = EvenShares(rooms, kind.members);
    auto pod = members.begin();
    for (size_t i = 0; i < parts.size(); ++i) {
      if (sizes[i] == 0) continue;
      PodSet& pod_set = pod_sets.emplace_back();
      pod_set.pods.assign(pod, pod + sizes[i]);
      pod_set.minimum = sizes[i];
      pod_set.placements = {parts[i].placement};
      pod += sizes[i];
    }
  }
  return pod_sets;
}

}  // namespace berth
