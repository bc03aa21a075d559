// SPDX-License-Identifier: Apache-2.0
// EnqueueExtensions: which changes of the cluster could make a rejected pod schedulable.
#ifndef BERTH_FRAMEWORK_ENQUEUE_H_
#define BERTH_FRAMEWORK_ENQUEUE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/api/object.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {

// What happened to an object; a bit set. The names are kube-scheduler's.
using ActionType = uint32_t;
namespace action {
inline constexpr ActionType kAdd = 1u << 0;
inline constexpr ActionType kDelete = 1u << 1;
inline constexpr ActionType kUpdateNodeAllocatable = 1u << 2;
inline constexpr ActionType kUpdateNodeLabel = 1u << 3;
inline constexpr ActionType kUpdateNodeTaint = 1u << 4;
inline constexpr ActionType kUpdateNodeCondition = 1u << 5;
inline constexpr ActionType kUpdateNodeAnnotation = 1u << 6;
inline constexpr ActionType kUpdatePodLabel = 1u << 7;
inline constexpr ActionType kUpdatePodScaleDown = 1u << 8;
inline constexpr ActionType kUpdatePodToleration = 1u << 9;
inline constexpr ActionType kUpdatePodSchedulingGatesEliminated = 1u << 10;
inline constexpr ActionType kUpdatePodGeneratedResourceClaim = 1u << 11;
inline constexpr ActionType kUpdateNodeDeclaredFeature = 1u << 12;
inline constexpr ActionType kUpdateOther = 1u << 13;  // any change that has no bit of its own
inline constexpr ActionType kUpdate = 0x3ffc;         // every update bit
inline constexpr ActionType kAll = 0x3fff;
}  // namespace action

// What it happened to. kPod covers assigned and unscheduled pods; the engine distinguishes them.
struct EventResource {
  enum Type : uint8_t { kPod, kAssignedPod, kUnscheduledPod, kNode, kObject, kWildcard };
  Type type = kWildcard;
  Kind kind = Kind::kPod;  // for kObject: which kind (PersistentVolumeClaim, PodGroup ...)

  static constexpr EventResource Pod() { return {kPod, Kind::kPod}; }
  static constexpr EventResource AssignedPod() { return {kAssignedPod, Kind::kPod}; }
  static constexpr EventResource UnscheduledPod() { return {kUnscheduledPod, Kind::kPod}; }
  static constexpr EventResource Node() { return {kNode, Kind::kNode}; }
  static constexpr EventResource Of(Kind kind) { return {kObject, kind}; }
  static constexpr EventResource Wildcard() { return {kWildcard, Kind::kPod}; }
  friend bool operator==(const EventResource&, const EventResource&) = default;
};

struct ClusterEvent {
  EventResource resource;
  ActionType action = action::kAll;
  std::string label;  // kube-scheduler's name of the event in metrics: "AssignedPodAdd" ...

  // Whether a plugin that registered this event is to be asked about `incoming`.
  bool Matches(const ClusterEvent& incoming) const;
  // Appends it in kube-scheduler's words, one for each action: "Node/Add", "Pod/Delete".
  void AppendNames(std::vector<std::string>& names) const;
};

// The object before and after; an addition has no before, a deletion no after. For pods and nodes
// the parsed forms are set, for everything else the messages.
struct ObjectChange {
  std::shared_ptr<const PodInfo> old_pod, new_pod;
  std::shared_ptr<const NodeInfo> old_node, new_node;  // without their pods
  const Object* old_object = nullptr;
  const Object* new_object = nullptr;
};

enum class QueueingHint { kSkip, kQueue };
inline QueueingHint QueueIf(bool useful) {
  return useful ? QueueingHint::kQueue : QueueingHint::kSkip;
}

// Whether `change` may make `pod` schedulable. An error counts as kQueue.
using QueueingHintFn =
    std::function<absl::StatusOr<QueueingHint>(const PodInfo& pod, const ObjectChange& change)>;

// Whether `change` may make any pod schedulable.
using EventFilterFn = std::function<bool(const ObjectChange& change)>;

struct ClusterEventWithHint {
  ClusterEvent event;
  QueueingHintFn hint;  // absent: always kQueue
  // Only for a plugin that rejects a node if less CPU or memory is free there than the pod requests
  // (PodInfo::requests()) or no more pods are allowed there, and that reads nothing of a node but
  // what is on it. If a pod left a node, it need not be asked again about pods that do not fit
  // there, whatever `hint` says.
  bool waits_for_room = false;
  // Asked once for an event, however many pods wait; if it returns false, `hint` is not asked.
  // Absent: always true.
  EventFilterFn filter = nullptr;
};

// Every event requeues the pods that a plugin without it rejected. After an empty list only the
// periodic flush requeues them.
class EnqueueExtensions {
 public:
  virtual ~EnqueueExtensions() = default;

  // Asked once, when the profile is built.
  virtual std::vector<ClusterEventWithHint> EventsToRegister() const = 0;

  // Whether its hints read nothing of a pod but what pods share that PodInfo::SharesSpec(), spec,
  // labels and namespace, and whether the change is one of that very pod, or of a ResourceClaim
  // that it controls. Then a hint is called once for all waiting pods that share these.
  // Always the same.
  virtual bool HintsReadSpecOnly() const { return false; }
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_ENQUEUE_H_
