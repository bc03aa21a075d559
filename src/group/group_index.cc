// SPDX-License-Identifier: Apache-2.0
// Members by group, kept by position so that every change costs the same.
#include "group/group_index.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {

// The list has holes where members left; they are closed when it is read.
class GroupIndex::Group final : public GroupMembers {
 public:
  Group(GroupIndex* index, std::string name)
      : index_(index), name_(std::move(name)), kinds_(index->kind_versions_) {}

  absl::string_view name() const override { return name_; }
  const MemberCounts& counts() const override { return kinds_.counts(); }
  absl::Span<const MemberKind> kinds() const override { return kinds_.kinds(); }
  uint64_t kinds_version() const override { return kinds_.version(); }
  absl::Span<const GroupMember> members() const override {
    if (holes_ > 0) CloseHoles();
    return members_;
  }
  void NoteStart(StartOrder order, int placed) {
    const bool had_members = assigned_count() > placed;
    if (order == StartOrder::kOther || !had_members) start_order_ = order;
  }
  StartOrder start_order() const { return start_order_; }
  bool empty() const { return counts().members == 0; }

  // Returns the position. `node_name`: where it is assumed, if it has no node of its own.
  int Add(std::shared_ptr<const PodInfo> pod, const MemberKindKey& key, std::string node_name) {
    if (2 * holes_ > static_cast<int>(members_.size())) CloseHoles();  // it may never be read
    if (!pod->node_name().empty()) node_name = pod->node_name();
    members_.push_back(GroupMember{std::move(pod), std::move(node_name)});
    kind_of_.push_back(kinds_.Add(members_.back(), key));
    return static_cast<int>(members_.size()) - 1;
  }
  void Remove(int position) {
    GroupMember& member = members_[position];
    kinds_.Subtract(member, kind_of_[position]);
    member = GroupMember();
    kind_of_[position] = nullptr;
    ++holes_;
  }
  void SetPod(int position, std::shared_ptr<const PodInfo> pod, const MemberKindKey& key) {
    GroupMember& member = members_[position];
    const auto change = [&](GroupMember& changed) {
      if (!pod->node_name().empty()) changed.node_name = pod->node_name();
      changed.pod = std::move(pod);
    };
    MemberKinds::Kind*& kind = kind_of_[position];
    if (kind->key == key) return kinds_.Recount(member, kind, change);
    kinds_.Subtract(member, kind);
    change(member);
    kind = kinds_.Add(member, key);
  }
  // The same, if the plugin says of the pod what it said before.
  void SetPodOfSameKind(int position, std::shared_ptr<const PodInfo> pod) {
    kinds_.Recount(members_[position], kind_of_[position], [&](GroupMember& member) {
      if (!pod->node_name().empty()) member.node_name = pod->node_name();
      member.pod = std::move(pod);
    });
  }
  void SetNode(int position, absl::string_view node_name) {
    kinds_.Recount(members_[position], kind_of_[position],
                   [&](GroupMember& member) { member.node_name = std::string(node_name); });
  }
  const PodInfo& pod(int position) const { return *members_[position].pod; }
  const std::string& node_name(int position) const { return members_[position].node_name; }

 private:
  void CloseHoles() const {
    const auto is_hole = [](const GroupMember& member) { return member.pod == nullptr; };
    members_.erase(std::remove_if(members_.begin(), members_.end(), is_hole), members_.end());
    kind_of_.erase(std::remove(kind_of_.begin(), kind_of_.end(), nullptr), kind_of_.end());
    for (size_t i = 0; i < members_.size(); ++i) {
      index_->places_.Find(*members_[i].pod->identity())->position = static_cast<int>(i);
    }
    holes_ = 0;
  }

  GroupIndex* const index_;
  const std::string name_;
  mutable std::vector<GroupMember> members_;
  mutable std::vector<MemberKinds::Kind*> kind_of_;  // by position
  mutable int holes_ = 0;
  MemberKinds kinds_;
  StartOrder start_order_ = StartOrder::kByImportance;
};

GroupIndex::GroupIndex(GroupOf group_of, SpecOfGroup spec_of, AppendDeclaration declare)
    : group_of_(std::move(group_of)), spec_of_(std::move(spec_of)), declare_(std::move(declare)) {}
GroupIndex::~GroupIndex() = default;

namespace {

// Whether `pod` is `before`, seen again with another status or nodeName: then its group and what it
// says of it are the same. The very same pod is set again when its group may be another one.
bool IsSeenAgain(const PodInfo& before, const PodInfo& pod) {
  if (&pod == &before || !pod.SharesSpec(before)) return false;
  const PackedPod& packed = *pod.packed();
  return packed.BoundSince(*before.packed()) != nullptr ||
         packed.EvictedSince(*before.packed()) != nullptr ||
         (pod.deletion_time() == before.deletion_time() && packed.HasMetadataOf(*before.packed()));
}

}  // namespace

std::vector<std::string> GroupIndex::SetPod(std::shared_ptr<const PodInfo> pod) {
  const Place* const known = places_.Find(*pod->identity());
  if (known != nullptr && !pod->terminal() &&
      IsSeenAgain(known->group->pod(known->position), *pod)) {
    ++version_;
    known->group->SetPodOfSameKind(known->position, std::move(pod));
    return {std::string(known->group->name())};
  }
  std::optional<std::string> name;
  if (!pod->terminal()) name = group_of_(*pod);
  if (name.has_value()) MemberKindKey::Read(*pod, declare_, key_);
  std::vector<std::string> changed;
  std::string assumed_node;

  if (known != nullptr) {
    Group& group = *known->group;
    ++version_;
    changed.emplace_back(group.name());
    if (name == changed.front()) {
      group.SetPod(known->position, std::move(pod), key_);
      return changed;
    }
    assumed_node = group.node_name(known->position);
    Remove(*pod->identity(), *known);
  }
  if (!name.has_value()) return changed;
  std::unique_ptr<Group>& group = groups_[*name];
  if (group == nullptr) group = std::make_unique<Group>(this, *name);
  ++version_;
  const int position = group->Add(pod, key_, std::move(assumed_node));
  *places_.FindOrAdd(pod->identity()).first = Place{group.get(), position};
  changed.push_back(*std::move(name));
  return changed;
}

std::optional<std::string> GroupIndex::RemovePod(UidRef pod) {
  const Place* const place = places_.Find(pod);
  if (place == nullptr) return std::nullopt;
  std::string name(place->group->name());
  Remove(pod, *place);
  return name;
}

void GroupIndex::Remove(UidRef pod, Place place) {
  Group* const group = place.group;
  ++version_;
  group->Remove(place.position);
  places_.Erase(pod);
  if (group->empty()) groups_.erase(std::string(group->name()));
}

void GroupIndex::Assume(UidRef pod, absl::string_view node_name) {
  const Place* const place = places_.Find(pod);
  if (place == nullptr) return;
  ++version_;
  place->group->SetNode(place->position, node_name);
}

void GroupIndex::Forget(UidRef pod) {
  const Place* const place = places_.Find(pod);
  if (place == nullptr) return;
  // The watch may have shown it with a node in the meantime; that counts.
  Group& group = *place->group;
  ++version_;
  group.SetNode(place->position, group.pod(place->position).node_name());
}

void GroupIndex::NoteSucceeded(const PodInfo& pod) {
  std::optional<std::string> name = group_of_(pod);
  if (!name.has_value()) return;
  if (group_of_succeeded_.try_emplace(pod.uid(), *name).second) ++succeeded_[*name];
}

void GroupIndex::ForgetSucceeded(const std::string& uid) {
  const auto known = group_of_succeeded_.find(uid);
  if (known == group_of_succeeded_.end()) return;
  const auto count = succeeded_.find(known->second);
  if (--count->second == 0) succeeded_.erase(count);
  group_of_succeeded_.erase(known);
}

bool GroupIndex::AnySucceeded(absl::string_view name) const {
  return !succeeded_.empty() && succeeded_.contains(name);
}

void GroupIndex::NoteStart(absl::string_view name, StartOrder order, int placed) {
  const auto it = groups_.find(name);
  if (it != groups_.end()) it->second->NoteStart(order, placed);
}

bool GroupIndex::StartedInOtherOrder(absl::string_view name) const {
  const auto it = groups_.find(name);
  return it != groups_.end() && it->second->start_order() == StartOrder::kOther;
}

const GroupMembers* GroupIndex::Find(absl::string_view name) const {
  const auto group = groups_.find(name);
  return group == groups_.end() ? nullptr : group->second.get();
}

std::vector<const GroupMembers*> GroupIndex::All() const {
  std::vector<const GroupMembers*> all;
  for (const auto& [name, group] : groups_) all.push_back(group.get());
  std::sort(all.begin(), all.end(),
            [](const GroupMembers* a, const GroupMembers* b) { return a->name() < b->name(); });
  return all;
}

const GroupMembers* GroupIndex::GroupWith(const PodInfo& pod) const {
  const Place* const place = places_.Find(*pod.identity());
  return place == nullptr ? nullptr : place->group;
}

std::optional<GroupSpec> GroupIndex::SpecOf(const GroupMembers& group) const {
  return Spec(group.name());
}

std::optional<std::string> GroupIndex::GroupOfPod(absl::string_view uid) const {
  const Place* const place = places_.Find(uid);
  if (place == nullptr) return std::nullopt;
  return std::string(place->group->name());
}

std::optional<GroupSpec> GroupIndex::Spec(absl::string_view name) const {
  const GroupMembers* const group = Find(name);
  if (group == nullptr || group->members().empty() || spec_of_ == nullptr) return std::nullopt;
  return spec_of_(*group->members().front().pod, name);
}

}  // namespace berth
