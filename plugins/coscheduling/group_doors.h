// SPDX-License-Identifier: Apache-2.0
// The groups of a profile, by whichever door their pods come: what Coscheduling and GangScheduling
// have in common.
#ifndef BERTH_PLUGINS_COSCHEDULING_GROUP_DOORS_H_
#define BERTH_PLUGINS_COSCHEDULING_GROUP_DOORS_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/extensions/group.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "plugins/coscheduling/group_door.h"

namespace berth {

// The group plugin that Coscheduling and GangScheduling are, with the doors that each reads.
// Scheduling thread. `plugin` is who warns and rejects.
class GroupDoors : public GroupPlugin {
 public:
  GroupDoors(absl::string_view plugin, Handle& handle,
             std::vector<std::unique_ptr<GroupDoor>> doors);

  std::optional<std::string> GroupOf(const PodInfo& pod) const override;
  std::vector<std::string> GroupsOf(const Object& object) const override;
  std::optional<GroupSpec> Spec(absl::string_view name) const override;
  int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const override;
  Status ReadyToSchedule(const GroupMembers& group) const override;
  Status GroupUnschedulable(const GroupMembers& group, int placed,
                            const Status& cause) const override;

  // Of a pod whose group is absent: nothing to permit. If its group starts with it, its siblings
  // that wait are allowed, too; otherwise it waits for them, until the group's timeout or
  // `default_timeout`.
  Status Permit(const PodInfo& pod, absl::Duration default_timeout, absl::Duration& timeout);
  // A member is lost: those that wait are rejected if the group needed it.
  void Unreserve(const PodInfo& pod);
  // Objects that define the group of a pod.
  std::vector<ClusterEventWithHint> Events() const;
  void ExplainWaiting(const PodInfo& pod, WaitingFor& waiting) const;

 private:
  const GroupDoor* DoorOf(absl::string_view group) const;
  // What its pods' annotations say of it, if the definition says nothing.
  void AddTopology(const GroupDoor& door, absl::string_view name,
                   GroupDefinition& definition) const;
  void WatchTimeout(const GroupMembers& group, const GroupDefinition& definition) const;
  void TellTimeout(const std::string& name) const;
  void WarnOnce(const GroupMembers& group, const GroupDefinition& definition) const;

  const std::string plugin_;
  Handle& handle_;
  const std::vector<std::unique_ptr<GroupDoor>> doors_;
  // What people were told, or will be, of groups that were below their minimum.
  struct Told {
    std::optional<absl::Time> deadline;  // when the group's time is over
    std::set<std::string> texts;
  };
  Told& ToldOf(absl::string_view group) const;
  mutable absl::flat_hash_map<std::string, Told> told_;
  mutable size_t most_told_ = 1024;  // with more, those of groups that are gone are dropped
};

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_GROUP_DOORS_H_
