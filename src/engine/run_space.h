// SPDX-License-Identifier: Apache-2.0
// What AssignmentSearch moves in if a group's members have to be together in runs.
#ifndef BERTH_SRC_ENGINE_RUN_SPACE_H_
#define BERTH_SRC_ENGINE_RUN_SPACE_H_

#include <utility>
#include <vector>

#include "engine/group_space.h"
#include "engine/member_runs.h"

namespace berth {

// The classes of each run, hardest to place first; members of different runs are of different
// classes.
struct RunClasses {
  std::vector<MemberClass> classes;
  std::vector<int> run_of;  // by class
};
RunClasses ClassifyRuns(const AttemptRequest& request, const std::vector<MemberRun>& runs,
                        ClusterState& cluster);

// As GroupSpace, but a member only goes where its run still has a placement that holds all that is
// placed of it, and members of a run that misses its minimum count for nothing. Scheduling thread.
class RunSpace final : public GroupSpace {
 public:
  // Everything outlives this. Places into `result`.
  RunSpace(const AttemptRequest& request, const std::vector<MemberRun>& runs,
           const RunClasses& classes, ClusterState& cluster, PodScheduler& pod_scheduler,
           AttemptResult& result);

  std::vector<NodeRow> FeasibleRows(int pod_class) override;
  bool Place(int pod_class, NodeRow row) override;
  void Undo() override;
  bool IsEnough(absl::Span<const int> placed) const override;
  int Room(int pod_class, int enough) override;

  // Takes back the members of runs that miss their minimum. Returns how many they were.
  int TakeBackPartialRuns();

 private:
  // Whether the run may be in that one of its placements, beside runs that share a domain with it.
  bool IsWhereSiblingsAre(int run, size_t position) const;
  // By row: whether a member of the run may be there now.
  std::vector<bool> MayUse(int run) const;

  const std::vector<MemberRun>& runs_;
  const RunClasses& of_run_;
  std::vector<std::vector<NodeRow>> rows_;  // by run, of what is placed
  std::vector<int> placed_runs_;            // the run of each that is placed, in order
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_RUN_SPACE_H_
