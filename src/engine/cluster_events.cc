// Which events a changed pod or node means.
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

// Whether any request became smaller, which may make room.
bool ScaledDown(const PodInfo& old_pod, const PodInfo& new_pod) {
  bool smaller = false;
  old_pod.requests().ForEach([&](ResourceId id, int64_t amount) {
    if (new_pod.requests().Get(id) < amount) smaller = true;
  });
  return smaller;
}

bool SameTolerations(const PodInfo& a, const PodInfo& b) {
  if (a.tolerations().size() != b.tolerations().size()) return false;
  for (size_t i = 0; i < a.tolerations().size(); ++i) {
    if (a.tolerations()[i] != b.tolerations()[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<ClusterEvent> PodUpdateEvents(const PodInfo& old_pod, const PodInfo& new_pod) {
  const bool assigned = !new_pod.node_name().empty();
  const EventResource resource =
      assigned ? EventResource::AssignedPod() : EventResource::UnscheduledPod();
  const std::string prefix = assigned ? "AssignedPodUpdate" : "UnschedulablePodUpdate";
  std::vector<ClusterEvent> events;
  const auto add = [&](bool changed, ActionType action, absl::string_view what) {
    if (changed) events.push_back({resource, action, absl::StrCat(prefix, what)});
  };
  add(old_pod.labels() != new_pod.labels(), action::kUpdatePodLabel, "Label");
  add(ScaledDown(old_pod, new_pod), action::kUpdatePodScaleDown, "ScaleDown");
  add(!SameTolerations(old_pod, new_pod), action::kUpdatePodToleration, "Toleration");
  add(!old_pod.scheduling_gates().empty() && new_pod.scheduling_gates().empty(),
      action::kUpdatePodSchedulingGatesEliminated, "SchedulingGatesEliminated");
  return events;
}

std::vector<ClusterEvent> NodeUpdateEvents(const NodeSpec& old_node, const NodeSpec& new_node) {
  std::vector<ClusterEvent> events;
  const auto add = [&](bool changed, ActionType action, absl::string_view what) {
    if (changed)
      events.push_back({EventResource::Node(), action, absl::StrCat("NodeUpdate", what)});
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
