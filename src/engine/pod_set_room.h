// SPDX-License-Identifier: Apache-2.0
// PodSetRoom: for how many members of a pod set there is room on some nodes, by sums.
#ifndef BERTH_SRC_ENGINE_POD_SET_ROOM_H_
#define BERTH_SRC_ENGINE_POD_SET_ROOM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/group_shortage.h"
#include "engine/pod_sets.h"

namespace berth {

// Upper bounds, as those of search/room.h. Members that request the same are summed up together.
class PodSetRoom {
 public:
  // `nodes` outlives this.
  PodSetRoom(const Framework& framework, const NodeTable& nodes, const PodSet& pod_set);

  struct Sums {
    int64_t members = 0;  // that have room, of the pod set
    double times = 0;  // how often the pod set has room, by the kind of members that has the least
  };
  // On the nodes of `placement`; null: on all.
  Sums Beside(const NodePlacement* placement) const;
  // How many members have room if there were no other pods.
  int64_t IfEmpty(const NodePlacement* placement) const;
  // The same of the kind of members with the fewest places, of whatever number of them.
  int64_t FewestIfEmpty(const NodePlacement* placement) const;

  bool of_one_kind() const { return kinds_.size() == 1; }
  // The members of the kind that has the least room first; of kinds with as much those that would
  // have the least if there were no other pods.
  std::vector<std::shared_ptr<const PodInfo>> HardestFirst(const NodePlacement* placement) const;
  // By what they would have if there were no other pods.
  std::vector<std::shared_ptr<const PodInfo>> HardestIfEmptyFirst(
      const NodePlacement* placement) const;

 private:
  struct Kind {
    std::vector<std::shared_ptr<const PodInfo>> pods;
    std::optional<PodNeed> need = std::nullopt;
  };
  template <class RoomOf>
  std::vector<std::shared_ptr<const PodInfo>> ByRoom(RoomOf room_of) const;
  int64_t RoomFor(const Kind& kind, const NodePlacement* placement) const;
  int64_t RoomIfEmptyFor(const Kind& kind, const NodePlacement* placement, int64_t enough) const;

  const NodeTable* nodes_;
  absl::InlinedVector<Kind, 2> kinds_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_POD_SET_ROOM_H_
