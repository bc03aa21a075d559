// SPDX-License-Identifier: Apache-2.0
// Which events a changed node means.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/api/core_v1.pb.h"
#include "engine/cluster_state.h"

namespace berth {
namespace {

template <class Map>
bool SameMap(const Map& a, const Map& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a) {
    const auto it = b.find(key);
    if (it == b.end() || it->second != value) return false;
  }
  return true;
}

// Type and status of each condition; heartbeats do not count.
std::string Conditions(const api::Node& node) {
  std::string text;
  for (const api::NodeCondition& condition : node.status().conditions()) {
    absl::StrAppend(&text, condition.type(), "=", condition.status(), ",");
  }
  return text;
}

}  // namespace

ClusterEvents NodeUpdateEvents(const NodeSpec& old_node, const NodeSpec& new_node) {
  ClusterEvents events;
  const auto add = [&](bool changed, ActionType action, absl::string_view what) {
    if (changed)
      events.push_back({EventResource::Node(), action, absl::StrCat("NodeUpdateNode", what)});
  };
  add(old_node.allocatable != new_node.allocatable ||
          old_node.allowed_pods != new_node.allowed_pods,
      action::kUpdateNodeAllocatable, "Allocatable");
  add(old_node.labels != new_node.labels, action::kUpdateNodeLabel, "Label");
  add(old_node.taints != new_node.taints || old_node.unschedulable != new_node.unschedulable,
      action::kUpdateNodeTaint, "Taint");
  add(Conditions(*old_node.object) != Conditions(*new_node.object), action::kUpdateNodeCondition,
      "Condition");
  add(!SameMap(old_node.object->metadata().annotations(),
               new_node.object->metadata().annotations()),
      action::kUpdateNodeAnnotation, "Annotation");
  return events;
}

}  // namespace berth
