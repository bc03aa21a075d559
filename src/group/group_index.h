// SPDX-License-Identifier: Apache-2.0
// The members of every pod group, pending and assigned.
#ifndef BERTH_SRC_GROUP_GROUP_INDEX_H_
#define BERTH_SRC_GROUP_GROUP_INDEX_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/api/identity_map.h"
#include "berth/extensions/group.h"
#include "framework/running_groups.h"
#include "group/member_kinds.h"

namespace berth {

// In which order the members were tried when a group started: by importance, as single pods would
// be, or in another one, because so too few of them found a place.
enum class StartOrder : uint8_t { kByImportance, kOther };

// It gets every pod from the engine, before the queue does. Belongs to the scheduling thread.
class GroupIndex final : public Groups, public RunningGroups {
 public:
  // The group of a pod by the group plugin of its profile.
  using GroupOf = std::function<std::optional<std::string>(const PodInfo&)>;
  // What that plugin says of the group of that name that the pod is in.
  using SpecOfGroup =
      std::function<std::optional<GroupSpec>(const PodInfo& pod, absl::string_view name)>;
  explicit GroupIndex(GroupOf group_of, SpecOfGroup spec_of = nullptr,
                      AppendDeclaration declare = nullptr);
  ~GroupIndex() override;

  // The pod is there, new or changed, with or without a node; one that is terminal is a member no
  // more. A pod that is assumed keeps its node until it has one of its own. Returns the names of
  // the groups that changed, two at most, without repetition.
  std::vector<std::string> SetPod(std::shared_ptr<const PodInfo> pod);
  // Returns the name of the group it was in.
  std::optional<std::string> RemovePod(UidRef pod);
  // The scheduler placed it, or takes that back. Pods that are in no group are ignored.
  void Assume(UidRef pod, absl::string_view node_name);
  void Forget(UidRef pod);

  // A pod that is no member any more, since it has succeeded; until it is deleted.
  void NoteSucceeded(const PodInfo& pod);
  void ForgetSucceeded(const std::string& uid);
  bool AnySucceeded(absl::string_view name) const;

  // `placed` members of the group, which are assumed, were placed in that order and started it.
  void NoteStart(absl::string_view name, StartOrder order, int placed);
  // Whether some that run may have been placed in another order than by importance.
  bool StartedInOtherOrder(absl::string_view name) const;

  const GroupMembers* Find(absl::string_view name) const override;
  bool empty() const override { return groups_.empty(); }
  const GroupMembers* GroupWith(const PodInfo& pod) const override;
  std::optional<GroupSpec> SpecOf(const GroupMembers& group) const override;
  uint64_t version() const override { return version_; }
  // All groups that have members, by name.
  std::vector<const GroupMembers*> All() const;
  // The group the pod is in; absent if none.
  std::optional<std::string> GroupOfPod(absl::string_view uid) const override;
  std::optional<GroupSpec> Spec(absl::string_view name) const override;
  int size() const { return static_cast<int>(groups_.size()); }

 private:
  class Group;
  struct Place {
    Group* group;
    int position;  // in the group's list
  };
  void Remove(UidRef pod, Place place);

  const GroupOf group_of_;
  const SpecOfGroup spec_of_;
  const AppendDeclaration declare_;
  MemberKindKey key_;  // of the pod at hand; keeps its memory
  uint64_t kind_versions_ = 0;
  uint64_t version_ = 0;
  absl::flat_hash_map<std::string, std::unique_ptr<Group>> groups_;
  IdentityMap<Place, ByUid> places_;
  // The group of each pod that succeeded, by uid; and how many each group has.
  absl::flat_hash_map<std::string, std::string> group_of_succeeded_;
  absl::flat_hash_map<std::string, int> succeeded_;
};

}  // namespace berth

#endif  // BERTH_SRC_GROUP_GROUP_INDEX_H_
