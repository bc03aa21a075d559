// SPDX-License-Identifier: Apache-2.0
// Which members of running groups may go alone, and which take the others with them.
#ifndef BERTH_SRC_GROUP_GROUP_VICTIMS_H_
#define BERTH_SRC_GROUP_GROUP_VICTIMS_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/extensions/group.h"
#include "berth/preemption/victim_rules.h"
#include "framework/running_groups.h"

namespace berth {

// Members of a group beyond its minimum may be evicted one by one; to evict more is to end the
// group, and then all of it goes. A group with parts, or with DisruptionMode::kAll, has none to
// spare. Members that are leaving already, or run nowhere, do not count. Scheduling thread.
class GroupVictims {
 public:
  using Pods = std::vector<std::shared_ptr<const PodInfo>>;

  // Without groups no pod takes others along. What `groups` is outlives this.
  explicit GroupVictims(const Groups& groups)
      : groups_(dynamic_cast<const RunningGroups*>(&groups)) {}

  bool any_groups() const { return groups_ != nullptr && !groups_->empty(); }
  // Null for a pod on its own.
  const GroupMembers* GroupWith(const PodInfo& pod) const {
    return any_groups() ? groups_->GroupWith(pod) : nullptr;
  }
  // Whether the pod alone can go only with its group, which has other members.
  bool EvictionEndsGroup(const PodInfo& pod) const;
  // Whether a group would end if all of these go: one with other members than a single one.
  bool EvictionsEndGroup(absl::Span<const std::shared_ptr<const PodInfo>> victims) const;
  // The victims in units: of groups that end all that run, the others one by one; as they come.
  std::vector<VictimUnit> UnitsOf(absl::Span<const std::shared_ptr<const PodInfo>> victims,
                                  Symbol node) const;
  // Adds the pods of a node that stay if no more of the group goes than can without its end: all
  // of the group but the least important.
  void AddStaying(absl::Span<const std::shared_ptr<const PodInfo>> on_node, absl::string_view group,
                  std::vector<const PodInfo*>& staying) const;
  // Adds the other members of groups that end.
  void AddWholeGroups(Pods& victims) const;
  // How many more of the group's members can go without its end.
  int Surplus(const GroupMembers& group) const;

 private:
  template <class Visit>
  void ForEachEndingGroup(absl::Span<const std::shared_ptr<const PodInfo>> victims,
                          Visit visit) const;

  const RunningGroups* groups_;
};

}  // namespace berth

#endif  // BERTH_SRC_GROUP_GROUP_VICTIMS_H_
