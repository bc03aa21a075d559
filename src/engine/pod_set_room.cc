// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_set_room.h.
#include "engine/pod_set_room.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "search/room.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

}  // namespace

PodSetRoom::PodSetRoom(const Framework& framework, const NodeTable& nodes, const PodSet& pod_set)
    : nodes_(&nodes) {
  for (const PodPtr& pod : pod_set.pods) {
    const auto known = absl::c_find_if(kinds_, [&](const Kind& kind) {
      return pod->SharesSpec(*kind.pods.front()) ||
             pod->requests() == kind.pods.front()->requests();
    });
    if (known != kinds_.end()) {
      known->pods.push_back(pod);
    } else {
      kinds_.push_back({{pod}, FindNeed(framework, nodes, *pod)});
    }
  }
}

int64_t PodSetRoom::RoomFor(const Kind& kind, const NodePlacement* placement) const {
  if (!kind.need.has_value()) return kAny;
  return placement == nullptr ? Room(kind.need->needed, *nodes_, kAny)
                              : Room(kind.need->needed, *nodes_, placement->rows, kAny);
}

PodSetRoom::Sums PodSetRoom::Beside(const NodePlacement* placement) const {
  Sums sums{.times = std::numeric_limits<double>::infinity()};
  for (const Kind& kind : kinds_) {
    const int64_t room = RoomFor(kind, placement);
    const auto pods = static_cast<int64_t>(kind.pods.size());
    sums.members += std::min(room, pods);
    if (room < kAny) {
      sums.times = std::min(sums.times, static_cast<double>(room) / static_cast<double>(pods));
    }
  }
  return sums;
}

int64_t PodSetRoom::RoomIfEmptyFor(const Kind& kind, const NodePlacement* placement,
                                   int64_t enough) const {
  if (!kind.need.has_value()) return enough;
  return placement == nullptr ? RoomIfEmpty(kind.need->needed, *nodes_, enough)
                              : RoomIfEmpty(kind.need->needed, *nodes_, placement->rows, enough);
}

int64_t PodSetRoom::IfEmpty(const NodePlacement* placement) const {
  int64_t members = 0;
  for (const Kind& kind : kinds_) {
    members += RoomIfEmptyFor(kind, placement, static_cast<int64_t>(kind.pods.size()));
  }
  return members;
}

int64_t PodSetRoom::FewestIfEmpty(const NodePlacement* placement) const {
  int64_t fewest = kAny;
  for (const Kind& kind : kinds_) fewest = std::min(fewest, RoomIfEmptyFor(kind, placement, kAny));
  return fewest;
}

// `room_of`: what of a kind to compare.
template <class RoomOf>
std::vector<PodPtr> PodSetRoom::ByRoom(RoomOf room_of) const {
  std::vector<std::pair<std::pair<int64_t, int64_t>, const Kind*>> by_room;
  for (const Kind& kind : kinds_) by_room.emplace_back(room_of(kind), &kind);
  absl::c_stable_sort(by_room, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PodPtr> pods;
  for (const auto& [room, kind] : by_room) {
    pods.insert(pods.end(), kind->pods.begin(), kind->pods.end());
  }
  return pods;
}

std::vector<PodPtr> PodSetRoom::HardestFirst(const NodePlacement* placement) const {
  return ByRoom([&](const Kind& kind) {
    return std::pair(RoomFor(kind, placement), RoomIfEmptyFor(kind, placement, kAny));
  });
}

std::vector<PodPtr> PodSetRoom::HardestIfEmptyFirst(const NodePlacement* placement) const {
  return ByRoom([&](const Kind& kind) {
    return std::pair(RoomIfEmptyFor(kind, placement, kAny), RoomFor(kind, placement));
  });
}

}  // namespace berth
