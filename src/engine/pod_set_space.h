// SPDX-License-Identifier: Apache-2.0
// What AssignmentSearch moves in if a group's members have to be together in sets.
#ifndef BERTH_SRC_ENGINE_POD_SET_SPACE_H_
#define BERTH_SRC_ENGINE_POD_SET_SPACE_H_

#include <utility>
#include <vector>

#include "engine/group_space.h"
#include "engine/pod_sets.h"

namespace berth {

// The classes of each pod set, hardest to place first; members of different pod sets are of
// different classes.
struct PodSetClasses {
  std::vector<MemberClass> classes;
  std::vector<int> pod_set_of;  // by class
};
PodSetClasses ClassifyPodSets(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                              ClusterState& cluster);

// As GroupSpace, but a member only goes where its pod set still has a placement that holds all that
// is placed of it, and members of a pod set that misses its minimum count for nothing. Scheduling
// thread.
class PodSetSpace final : public GroupSpace {
 public:
  // Everything outlives this. Places into `result`.
  PodSetSpace(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
              const PodSetClasses& classes, ClusterState& cluster, PodScheduler& pod_scheduler,
              AttemptResult& result);

  std::vector<NodeRow> FeasibleRows(int pod_class) override;
  bool Place(int pod_class, NodeRow row) override;
  void Undo() override;
  bool IsEnough(absl::Span<const int> placed) const override;
  int Room(int pod_class, int enough) override;

  // Takes back the members of pod sets that miss their minimum. Returns how many they were.
  int TakeBackPartialPodSets();

 private:
  // Whether the pod set may be in that one of its placements, beside pod sets that share a domain
  // with it.
  bool IsWhereSiblingsAre(int pod_set, size_t position) const;
  // By row: whether a member of the pod set may be there now.
  std::vector<bool> MayUse(int pod_set) const;

  const std::vector<PodSet>& pod_sets_;
  const PodSetClasses& classes_of_;
  std::vector<std::vector<NodeRow>> rows_;  // by pod set, of what is placed
  std::vector<int> placed_pod_sets_;        // the pod set of each that is placed, in order
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_POD_SET_SPACE_H_
