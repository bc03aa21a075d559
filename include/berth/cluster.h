// SPDX-License-Identifier: Apache-2.0
// The port a cluster backend implements: a stream of object events in; bindings, evictions, status
// patches and events out.
#ifndef BERTH_CLUSTER_H_
#define BERTH_CLUSTER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/identity.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"
#include "berth/api/object_update.h"
#include "berth/api/symbol.h"

namespace berth {

namespace api {
class PodExtendedResourceClaimStatus;
}  // namespace api

// One change of one object.
struct WatchEvent {
  enum class Type {
    kSet,      // the object is there, new or changed, and looks like this
    kDeleted,  // it is gone; `object` is its last known state
    kSynced,   // everything that existed at the start has been delivered; no object
  };
  Type type;
  std::optional<Object> object;  // absent for kSynced only
};

// Where a backend delivers. Threads: any; events of one object must be delivered in order.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  virtual void Deliver(std::vector<WatchEvent> events) = 0;
  // Delivers a single event, as most of them come.
  virtual void DeliverOne(WatchEvent event) {
    std::vector<WatchEvent> events;
    events.push_back(std::move(event));
    Deliver(std::move(events));
  }
};

// A pod's new place.
struct PodBinding {
  IdentityPtr pod;
  std::string node_name;
  // Written to the pod in the same step, as Kubernetes does with those of a Binding's metadata.
  std::map<std::string, std::string> annotations = {};
  // Labels to be set; one that the pod has already stays as it is. Kubernetes does so from
  // 1.35 on (feature gate PodTopologyLabelsAdmission, there since 1.33) and leaves them out before.
  std::map<std::string, std::string> labels = {};
};

// What of a pod's status the scheduler writes.
struct PodStatusPatch {
  IdentityPtr pod;
  std::string condition_type;  // "PodScheduled"; empty: no condition is set
  bool condition_true = false;
  std::string condition_reason;  // "Unschedulable", "SchedulerError"
  std::string condition_message;
  std::optional<std::string> nominated_node_name;  // absent: unchanged, "": cleared
  // Which claim has the devices of its extended resources; null: unchanged.
  std::shared_ptr<const api::PodExtendedResourceClaimStatus> extended_resource_claim = nullptr;
};

// An event for people: `kubectl describe` of what it is about shows it.
struct RecordedEvent {
  IdentityPtr regarding;  // a pod, or an object of another kind that a plugin has to warn about
  // The profile that says so, which is the reporting controller in Kubernetes.
  Symbol scheduler_name;
  bool warning = false;
  // Valid until the process ends.
  absl::string_view reason;  // "Scheduled", "FailedScheduling", "Preempted"
  absl::string_view action;  // "Binding", "Scheduling", "Preempting"
  std::string text;          // at most 1024 bytes; of "Scheduled" it is empty
  Symbol assigned_to;        // the node of "Scheduled", which is about a pod
  IdentityPtr related;       // the pod for which one is "Preempted"; mostly null

  // For people: `text`, or the text of "Scheduled", which is made only when it is read.
  std::string note() const;
};

// Threads: Watch is called once, before anything else; the others from any thread, at once.
// They block until the cluster has answered. A backend must outlive the scheduler
// and the executor that its calls run on.
class Cluster {
 public:
  virtual ~Cluster() = default;

  // Starts delivering to `sink`, which lives until StopWatching(): first what exists, then kSynced,
  // then every change. `kinds` are those that the scheduler and its plugins look at, each once, in
  // the order of Kind; a cluster may deliver others too.
  virtual absl::Status Watch(WatchSink& sink, const std::vector<Kind>& kinds) = 0;
  // Ends the deliveries: when it returns, none is under way and none will come. The scheduler calls
  // it before it goes.
  virtual void StopWatching() = 0;

  // Assigns the pod to the node and annotates it, or does neither. FailedPrecondition or Aborted if
  // it is assigned elsewhere already, NotFound if it is gone. DeadlineExceeded, Cancelled and
  // Unknown mean that it may have happened: the scheduler asks AssignedNode() before it gives the
  // place away.
  virtual absl::Status Bind(const PodBinding& binding) = 0;

  // The node that the pod is assigned to now, "" if to none; NotFound if it is gone. As the cluster
  // has it, which the watch need not have shown yet. Any other error: asked again later.
  virtual absl::StatusOr<std::string> AssignedNode(const Identity& pod) = 0;

  // Deletes a pod to make room, gracefully; `message` names the pod that needs it. The deletion is
  // seen through the watch when it has happened. NotFound if it is gone already.
  virtual absl::Status Evict(const Identity& pod, const std::string& message) = 0;

  // NotFound if the pod is gone. Ok, too, if a newer patch of the pod came before this was written,
  // and what that one leaves unchanged is written with it.
  virtual absl::Status PatchPodStatus(const PodStatusPatch& patch) = 0;

  // Writes an object that is no pod: a volume that is given to a claim, the status of a group.
  // Aborted if it was changed since it was delivered as `update` has it: try again with what the
  // watch shows then. NotFound if it is gone. A cluster need not take updates.
  virtual absl::Status Update(const ObjectUpdate& update);

  // Changes parts of the object, whatever its state: Aborted only if others were faster
  // again and again. Ok, too, if the edit changes nothing. A cluster need not take edits.
  virtual absl::Status Edit(const ObjectEdit& edit);

  // Adds an object that is no pod, and returns it as the cluster has it: with its uid and, if it
  // has a generateName and no name, with a name that begins with it. AlreadyExists if there is one
  // of that name. DeadlineExceeded, Cancelled and Unknown mean that it may have happened. A cluster
  // need not take new objects.
  virtual absl::StatusOr<Object> Create(const Object& object);
  // Deletes an object that is no pod: at once, or when its last finalizer is gone. NotFound if it
  // is gone already, or if another one has its name. A cluster need not delete objects.
  virtual absl::Status Delete(const Identity& object);

  // Does not wait.
  virtual void Record(RecordedEvent event) = 0;
};

// Optional, implemented beside Cluster: hears which pods are tried, and so probably bound, next. A
// cluster may look them up while the scheduler decides where they go.
class AttemptObserver {
 public:
  virtual ~AttemptObserver() = default;
  // `pod` is tried now, `next` probably after it. Null: members of a group, or no pod. Scheduling
  // thread, before every attempt: returns almost at once.
  virtual void OnAttempt(const Identity* pod, const Identity* next) = 0;
};

}  // namespace berth

#endif  // BERTH_CLUSTER_H_
