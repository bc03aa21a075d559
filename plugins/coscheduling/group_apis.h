// SPDX-License-Identifier: Apache-2.0
// The groups of a profile, by whichever API their pods come: what Coscheduling and GangScheduling
// have in common.
#ifndef BERTH_PLUGINS_COSCHEDULING_GROUP_APIS_H_
#define BERTH_PLUGINS_COSCHEDULING_GROUP_APIS_H_

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
#include "plugins/coscheduling/group_api.h"

namespace berth {

// The group plugin that Coscheduling and GangScheduling are, with the APIs that each reads.
// Scheduling thread. `plugin` is the name that warns and rejects.
class GroupApis : public GroupPlugin {
 public:
  // What counts for groups that do not say it.
  struct Defaults {
    absl::Duration backoff;
    absl::Duration stale_after = absl::InfiniteDuration();
    absl::Duration reserve_after = absl::InfiniteDuration();
  };
  GroupApis(absl::string_view plugin, Handle& handle, std::vector<std::unique_ptr<GroupApi>> apis,
            const Defaults& defaults);

  std::optional<std::string> GroupOf(const PodInfo& pod) const override;
  std::vector<std::string> GroupsOf(const Object& object) const override;
  std::optional<GroupSpec> Spec(absl::string_view name) const override;
  int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const override;
  void AppendDeclaration(const PodInfo& pod, std::string& text) const override;
  bool ReservesForGroups() const override {
    return defaults_.reserve_after < absl::InfiniteDuration();
  }
  Status ReadyToSchedule(const GroupMembers& group) const override;
  Status GroupUnschedulable(const GroupMembers& group, int placed,
                            const Status& cause) const override;

  // For a pod whose group is absent: nothing to permit. If its group starts with it, its siblings
  // that wait are allowed, too; otherwise it waits for them, until the group's timeout or
  // `default_timeout`.
  Status Permit(const PodInfo& pod, absl::Duration default_timeout, absl::Duration& timeout);
  // A member is lost: those that wait are rejected if the group needed it.
  void Unreserve(const PodInfo& pod);
  // Objects that define the group of a pod.
  std::vector<ClusterEventWithHint> Events() const;
  void ExplainWaiting(const PodInfo& pod, WaitingFor& waiting) const;

 protected:
  // The group of a pod as it is now.
  struct Found {
    bool in_group = false;
    absl::string_view name;
    const GroupMembers* members = nullptr;        // null: none that the engine knows
    const GroupDefinition* definition = nullptr;  // null: not defined; valid until the next look

    MemberCounts counts() const { return members == nullptr ? MemberCounts() : members->counts(); }
  };
  Found FindGroup(const PodInfo& pod) const;

 private:
  // What an API said of a group, and by what.
  struct Known {
    std::string name;
    const GroupApi* api = nullptr;
    uint64_t kinds_version = 0;
    uint64_t objects_version = 0;
    std::optional<GroupDefinition> definition;
  };
  // `members` may be null.
  const Known& Find(absl::string_view name, const GroupMembers* members) const;
  const Known& Find(const GroupMembers& group) const { return Find(group.name(), &group); }
  const GroupMembers* MembersWith(const PodInfo& pod) const;
  const GroupApi* DoorOf(absl::string_view group) const;
  uint64_t ObjectsVersion(const GroupApi& api) const;
  // What its pods' annotations say of it, if the definition says nothing.
  static void AddTopology(const GroupApi& api, const GroupMembers* members,
                          GroupDefinition& definition);
  void WatchTimeout(const GroupMembers& group, const GroupDefinition& definition) const;
  void TellTimeout(const std::string& name) const;
  void WarnOnce(const GroupMembers& group, const GroupDefinition& definition) const;

  const std::string plugin_;
  Handle& handle_;
  const std::vector<std::unique_ptr<GroupApi>> apis_;
  const Defaults defaults_;
  // What was reported, or will be, of groups that were below their minimum.
  struct Told {
    std::optional<absl::Time> deadline;  // when the group's time is over
    std::set<std::string> texts;
  };
  Told& ToldOf(absl::string_view group) const;
  // Groups come and go: what is remembered of those that went is dropped now and then.
  template <class Map>
  void DropGone(Map& of_group, size_t& most) const;
  mutable absl::flat_hash_map<std::string, Told> told_;
  mutable size_t most_told_ = 1024;
  mutable absl::flat_hash_map<std::string, std::unique_ptr<Known>> known_;
  mutable size_t most_known_ = 1024;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_GROUP_APIS_H_
