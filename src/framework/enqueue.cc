// SPDX-License-Identifier: Apache-2.0
// Which incoming events a registered event stands for.
#include "berth/framework/enqueue.h"

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

bool Covers(EventResource registered, EventResource incoming) {
  if (registered.type == EventResource::kWildcard || registered == incoming) return true;
  return registered.type == EventResource::kPod &&
         (incoming.type == EventResource::kAssignedPod ||
          incoming.type == EventResource::kUnscheduledPod);
}

std::string ResourceText(EventResource resource) {
  switch (resource.type) {
    case EventResource::kPod:
      return "Pod";
    case EventResource::kAssignedPod:
      return "AssignedPod";
    case EventResource::kUnscheduledPod:
      return "UnscheduledPod";
    case EventResource::kNode:
      return "Node";
    case EventResource::kObject:
      return std::string(KindName(resource.kind));
    case EventResource::kWildcard:
      break;
  }
  return "*";
}

struct NamedAction {
  ActionType action;
  absl::string_view name;
};
// kube-scheduler v1.35 kube-scheduler/framework/types.go ActionType.String.
constexpr NamedAction kActions[] = {
    {action::kAdd, "Add"},
    {action::kDelete, "Delete"},
    {action::kUpdateNodeAllocatable, "UpdateNodeAllocatable"},
    {action::kUpdateNodeLabel, "UpdateNodeLabel"},
    {action::kUpdateNodeTaint, "UpdateNodeTaint"},
    {action::kUpdateNodeCondition, "UpdateNodeCondition"},
    {action::kUpdateNodeAnnotation, "UpdateNodeAnnotation"},
    {action::kUpdatePodLabel, "UpdatePodLabel"},
    {action::kUpdatePodScaleDown, "UpdatePodScaleDown"},
    {action::kUpdatePodToleration, "UpdatePodToleration"},
    {action::kUpdatePodSchedulingGatesEliminated, "UpdatePodSchedulingGatesEliminated"},
    {action::kUpdatePodGeneratedResourceClaim, "UpdatePodGeneratedResourceClaim"},
    {action::kUpdateNodeDeclaredFeature, "UpdateNodeDeclaredFeature"},
    {action::kUpdateOther, "UpdateOther"},
};

}  // namespace

void ClusterEvent::AppendNames(std::vector<std::string>& names) const {
  const std::string what = ResourceText(resource);
  if (action == action::kAll) {
    names.push_back(absl::StrCat(what, "/*"));
    return;
  }
  ActionType left = action;
  for (const NamedAction& named : kActions) {
    if ((left & action::kUpdate) == action::kUpdate && (named.action & action::kUpdate) != 0) {
      names.push_back(absl::StrCat(what, "/Update"));
      left &= ~action::kUpdate;
    }
    if (left & named.action) names.push_back(absl::StrCat(what, "/", named.name));
  }
}

// kube-scheduler v1.35 framework/types.go MatchClusterEvents. Its comparison of the actions as
// numbers, which keeps a general update from plugins that registered special ones, is not needed:
// here a general update has a bit of its own.
bool ClusterEvent::Matches(const ClusterEvent& incoming) const {
  return Covers(resource, incoming.resource) && (action & incoming.action) != 0;
}

}  // namespace berth
