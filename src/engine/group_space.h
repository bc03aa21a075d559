// SPDX-License-Identifier: Apache-2.0
// What AssignmentSearch moves in: the members of a group, placed by real cycles in a transaction.
#ifndef BERTH_SRC_ENGINE_GROUP_SPACE_H_
#define BERTH_SRC_ENGINE_GROUP_SPACE_H_

#include <optional>
#include <vector>

#include "engine/group_classes.h"
#include "engine/group_shortage.h"
#include "engine/pod_scheduler.h"
#include "engine/transaction.h"
#include "search/assignment_search.h"

namespace berth {

// Every filter is asked on the node where a pod is to go, and Reserve: what is found holds,
// whatever the plugins. Scheduling thread.
class GroupSpace : public AssignmentSpace {
 public:
  // Everything outlives this. Places into `result`.
  GroupSpace(const AttemptRequest& request, const std::vector<MemberClass>& members,
             ClusterState& cluster, PodScheduler& pod_scheduler, AttemptResult& result);

  absl::Span<const AssignmentClass> classes() const override { return classes_; }
  std::vector<NodeRow> FeasibleRows(int pod_class) override;
  bool Place(int pod_class, NodeRow row) override;
  void Undo() override;
  bool IsEnough(absl::Span<const int> placed) const override;
  int Room(int pod_class, int enough) override;

 protected:
  const NodeTable& nodes() const { return cluster_.nodes(); }
  const std::optional<PodNeed>& need_of(int pod_class) const { return needs_[pod_class]; }
  // Takes back one of those that are placed, of that position. Nothing else may be done then.
  void TakeBack(size_t position) { transaction_.TakeBack(first_ + position); }

 private:
  const AttemptRequest& request_;
  const std::vector<MemberClass>& members_;
  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  AttemptResult& result_;
  Transaction transaction_;
  const size_t first_;  // of its placements
  std::vector<AssignmentClass> classes_;
  std::vector<std::optional<PodNeed>> needs_;  // by class
  std::vector<int> placed_of_;                 // by class
  struct Step {
    int pod_class;
    Transaction::Savepoint before;
  };
  std::vector<Step> steps_;  // what is placed
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_SPACE_H_
