// SPDX-License-Identifier: Apache-2.0
// Implementation of group_victims.h.
#include "group/group_victims.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

bool Runs(const GroupMember& member) {
  return !member.node_name.empty() && !member.pod->deletion_time().has_value();
}

}  // namespace

int GroupVictims::Surplus(const GroupMembers& group) const {
  const std::optional<GroupSpec> spec = groups_->SpecOf(group);
  if (!spec.has_value()) return group.counts().running;  // what it needs is not known
  if (spec->disruption_mode == DisruptionMode::kAll || !spec->subgroups.empty()) return 0;
  return std::max(0, group.counts().running - spec->min_member);
}

bool GroupVictims::EvictionEndsGroup(const PodInfo& pod) const {
  if (!any_groups()) return false;
  const GroupMembers* const group = groups_->GroupWith(pod);
  return group != nullptr && group->counts().running > 1 && Surplus(*group) == 0;
}

template <class Visit>
void GroupVictims::ForEachEndingGroup(absl::Span<const std::shared_ptr<const PodInfo>> victims,
                                      Visit visit) const {
  if (!any_groups()) return;
  std::vector<std::pair<const GroupMembers*, int>> counts;
  for (const auto& victim : victims) {
    if (victim->deletion_time().has_value()) continue;
    const GroupMembers* const group = groups_->GroupWith(*victim);
    if (group == nullptr) continue;
    const auto known = absl::c_find_if(counts, [&](const auto& c) { return c.first == group; });
    if (known == counts.end()) {
      counts.emplace_back(group, 1);
    } else {
      ++known->second;
    }
  }
  for (const auto& [group, count] : counts) {
    if (group->counts().running > 1 && count > Surplus(*group)) visit(*group);
  }
}

bool GroupVictims::EvictionsEndGroup(
    absl::Span<const std::shared_ptr<const PodInfo>> victims) const {
  bool any = false;
  ForEachEndingGroup(victims, [&](const GroupMembers&) { any = true; });
  return any;
}

std::vector<VictimUnit> GroupVictims::UnitsOf(
    absl::Span<const std::shared_ptr<const PodInfo>> victims, Symbol node) const {
  std::vector<const GroupMembers*> ending;
  ForEachEndingGroup(victims, [&](const GroupMembers& group) { ending.push_back(&group); });
  std::vector<VictimUnit> units;
  for (const std::shared_ptr<const PodInfo>& victim : victims) {
    const GroupMembers* const group = GroupWith(*victim);
    if (group == nullptr || !absl::c_linear_search(ending, group)) {
      units.push_back({{victim}, {node}, ""});
      continue;
    }
    const bool is_there =
        absl::c_any_of(units, [&](const VictimUnit& unit) { return unit.group == group->name(); });
    if (is_there) continue;
    VictimUnit& unit = units.emplace_back();
    unit.group = std::string(group->name());
    for (const GroupMember& member : group->members()) {
      if (!Runs(member)) continue;
      unit.pods.push_back(member.pod);
      unit.nodes.push_back(Symbol::Intern(member.node_name));
    }
  }
  return units;
}

void GroupVictims::AddStaying(absl::Span<const std::shared_ptr<const PodInfo>> on_node,
                              absl::string_view name, std::vector<const PodInfo*>& staying) const {
  const GroupMembers* of_name = nullptr;
  std::vector<const PodInfo*> members;
  for (const std::shared_ptr<const PodInfo>& pod : on_node) {
    const GroupMembers* const group = GroupWith(*pod);
    if (group == nullptr || group->name() != name || pod->deletion_time().has_value()) continue;
    of_name = group;
    members.push_back(pod.get());
  }
  if (of_name == nullptr) return;
  absl::c_stable_sort(
      members, [](const PodInfo* a, const PodInfo* b) { return a->priority() > b->priority(); });
  const size_t going = std::min(members.size(), static_cast<size_t>(Surplus(*of_name)));
  staying.insert(staying.end(), members.begin(), members.end() - going);
}

void GroupVictims::AddWholeGroups(Pods& victims) const {
  Pods others;
  ForEachEndingGroup(victims, [&](const GroupMembers& group) {
    for (const GroupMember& member : group.members()) {
      const bool is_there = absl::c_any_of(
          victims, [&](const auto& victim) { return victim->uid() == member.pod->uid(); });
      if (Runs(member) && !is_there) others.push_back(member.pod);
    }
  });
  victims.insert(victims.end(), others.begin(), others.end());
}

}  // namespace berth
