// SPDX-License-Identifier: Apache-2.0
// Members by group, kept by position so that every change costs the same.
#include "group/group_index.h"

#include <algorithm>
#include <utility>

namespace berth {

// The list has holes where members left; they are closed when somebody reads it.
class GroupIndex::Group final : public GroupMembers {
 public:
  Group(GroupIndex* index, std::string name) : index_(index), name_(std::move(name)) {}

  absl::string_view name() const override { return name_; }
  int assigned_count() const override { return assigned_; }
  absl::Span<const GroupMember> members() const override {
    if (holes_ > 0) CloseHoles();
    return members_;
  }
  void NoteStart(StartOrder order, int placed) {
    const bool had_members = assigned_ > placed;
    if (order == StartOrder::kOther || !had_members) start_order_ = order;
  }
  StartOrder start_order() const { return start_order_; }
  bool empty() const { return static_cast<int>(members_.size()) == holes_; }

  // Returns the position.
  int Add(std::shared_ptr<const PodInfo> pod) {
    if (2 * holes_ > static_cast<int>(members_.size())) CloseHoles();  // nobody may ever read it
    const std::string& node_name = pod->node_name();
    if (!node_name.empty()) ++assigned_;
    members_.push_back(GroupMember{std::move(pod), node_name});
    return static_cast<int>(members_.size()) - 1;
  }
  void Remove(int position) {
    SetNode(position, "");
    members_[position].pod = nullptr;
    ++holes_;
  }
  void SetPod(int position, std::shared_ptr<const PodInfo> pod) {
    if (!pod->node_name().empty()) SetNode(position, pod->node_name());
    members_[position].pod = std::move(pod);
  }
  void SetNode(int position, absl::string_view node_name) {
    std::string& of_member = members_[position].node_name;
    assigned_ += static_cast<int>(!node_name.empty()) - static_cast<int>(!of_member.empty());
    of_member = std::string(node_name);
  }
  const PodInfo& pod(int position) const { return *members_[position].pod; }
  const std::string& node_name(int position) const { return members_[position].node_name; }

 private:
  void CloseHoles() const {
    const auto is_hole = [](const GroupMember& member) { return member.pod == nullptr; };
    members_.erase(std::remove_if(members_.begin(), members_.end(), is_hole), members_.end());
    for (size_t i = 0; i < members_.size(); ++i) {
      index_->places_.Find(*members_[i].pod->identity())->position = static_cast<int>(i);
    }
    holes_ = 0;
  }

  GroupIndex* const index_;
  const std::string name_;
  mutable std::vector<GroupMember> members_;
  mutable int holes_ = 0;
  StartOrder start_order_ = StartOrder::kByImportance;
  int assigned_ = 0;
};

GroupIndex::GroupIndex(GroupOf group_of, SpecOfGroup spec_of)
    : group_of_(std::move(group_of)), spec_of_(std::move(spec_of)) {}
GroupIndex::~GroupIndex() = default;

std::vector<std::string> GroupIndex::SetPod(std::shared_ptr<const PodInfo> pod) {
  std::optional<std::string> name;
  if (!pod->terminal()) name = group_of_(*pod);
  std::vector<std::string> changed;
  std::string assumed_node;

  if (const Place* const place = places_.Find(*pod->identity()); place != nullptr) {
    Group& group = *place->group;
    changed.emplace_back(group.name());
    if (name == changed.front()) {
      group.SetPod(place->position, std::move(pod));
      return changed;
    }
    assumed_node = group.node_name(place->position);
    Remove(*pod->identity(), *place);
  }
  if (!name.has_value()) return changed;
  std::unique_ptr<Group>& group = groups_[*name];
  if (group == nullptr) group = std::make_unique<Group>(this, *name);
  const int position = group->Add(pod);
  if (pod->node_name().empty()) group->SetNode(position, assumed_node);
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
  group->Remove(place.position);
  places_.Erase(pod);
  if (group->empty()) groups_.erase(std::string(group->name()));
}

void GroupIndex::Assume(UidRef pod, absl::string_view node_name) {
  const Place* const place = places_.Find(pod);
  if (place != nullptr) place->group->SetNode(place->position, node_name);
}

void GroupIndex::Forget(UidRef pod) {
  const Place* const place = places_.Find(pod);
  if (place == nullptr) return;
  // The watch may have shown it with a node in the meantime; that counts.
  Group& group = *place->group;
  group.SetNode(place->position, group.pod(place->position).node_name());
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
