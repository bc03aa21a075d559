// SPDX-License-Identifier: Apache-2.0
// Implementation of group_victims.h.
#include "group/group_victims.h"

#include <algorithm>
#include <optional>
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
  if (!spec.has_value()) return group.counts().running;  // nobody knows what it needs
  if (spec->disruption_mode == DisruptionMode::kAll || !spec->subgroups.empty()) return 0;
  return std::max(0, group.counts().running - spec->min_member);
}

bool GroupVictims::TakesOthers(const PodInfo& pod) const {
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

bool GroupVictims::EndGroup(absl::Span<const std::shared_ptr<const PodInfo>> victims) const {
  bool any = false;
  ForEachEndingGroup(victims, [&](const GroupMembers&) { any = true; });
  return any;
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
