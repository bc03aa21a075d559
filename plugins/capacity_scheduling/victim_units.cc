// SPDX-License-Identifier: Apache-2.0
// Implementation of victim_units.h.
#include "plugins/capacity_scheduling/victim_units.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace berth {

int SurplusOf(const Handle& handle, const std::string& group, int coming) {
  const std::optional<GroupSpec> spec = handle.groups().Spec(group);
  const GroupMembers* const members = handle.groups().Find(group);
  if (!spec.has_value() || members == nullptr || spec->disruption_mode != DisruptionMode::kSingle ||
      !spec->subgroups.empty()) {
    return 0;
  }
  int staying = 0;
  for (const GroupMember& member : members->members()) {
    if (!member.node_name.empty() && !member.pod->deletion_time().has_value()) ++staying;
  }
  return staying + coming - spec->min_member;
}

std::shared_ptr<const PodInfo> FindOn(const NodeTable& nodes, Symbol node, UidRef pod) {
  const NodeRow row = nodes.FindRow(node);
  if (row < 0) return nullptr;
  for (const std::shared_ptr<const PodInfo>& on_node : nodes.node(row).pods()) {
    if (pod.Means(*on_node->identity())) return on_node;
  }
  return nullptr;
}

std::vector<VictimUnit> UnitsOf(const Handle& handle, const std::vector<RunningPod>& pods) {
  std::map<std::string, int> surplus;
  std::map<std::string, size_t> core;  // positions of the units of whole gangs
  std::vector<VictimUnit> units;
  units.reserve(pods.size());
  for (const RunningPod& running : pods) {
    const std::optional<std::string> group = handle.groups().GroupOfPod(running.pod->uid());
    if (!group.has_value()) {
      units.push_back({{running.pod}, {running.node}, ""});
      continue;
    }
    const auto [left, is_new] = surplus.try_emplace(*group, 0);
    if (is_new) left->second = SurplusOf(handle, *group);
    if (left->second > 0) {
      --left->second;
      units.push_back({{running.pod}, {running.node}, *group});
      continue;
    }
    const auto [whole, is_first] = core.try_emplace(*group, units.size());
    if (is_first) units.push_back({{}, {}, *group});
    units[whole->second].pods.push_back(running.pod);
    units[whole->second].nodes.push_back(running.node);
  }
  return units;
}

}  // namespace berth
