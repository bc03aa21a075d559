// SPDX-License-Identifier: Apache-2.0
// A cluster that lives in memory: the default backend of an embedded scheduler, of `berth simulate`
// and of tests.
#ifndef BERTH_IN_MEMORY_CLUSTER_H_
#define BERTH_IN_MEMORY_CLUSTER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/identity.h"
#include "berth/api/symbol.h"
#include "berth/clock.h"
#include "berth/cluster.h"
#include "berth/cluster_faults.h"
#include "berth/mutex.h"

namespace berth {

class Admission;
class BindingFaults;
class ClusterObjects;
class Controllers;
class StoredObjects;
class WatchStream;
struct StoredObject;
struct StoredPodState;
namespace api {
class Pod;
}

// Behaves as an API server with well-behaved kubelets behind it: a bound pod runs, for as long as
// its annotation "simulation.berth/run-time" says ("90s"; else for ever); an evicted one is
// gone when its grace period (30 s if the pod names none) is over. Threads: any; what is due later
// happens in AdvanceTo(), which on a real clock has to be called now and then. Every object but
// a pod gets another metadata.resourceVersion with each change, and a claim a uid.
class InMemoryCluster final : public Cluster, public AttemptObserver {
 public:
  // `clock` must outlive the cluster.
  explicit InMemoryCluster(const Clock& clock);
  ~InMemoryCluster() override;

  // --- The outside world changes something ---

  // Adds or replaces an object. A pod keeps the uid it had if the new one names none. As an API
  // server does, it gives a pod that names none the priority it had or its PriorityClass has now,
  // and the condition SchedulingGated to one with gates.
  void Set(Object object);
  // The same of objects that come at one moment: controllers look when all of them are there.
  void Set(std::vector<Object> objects);
  // Removes it at once. Returns whether it was there. `key` is "namespace/name", or "name".
  bool Delete(Kind kind, absl::string_view key);
  // Lets a pod go as `kubectl delete` does: it is marked, and gone when its grace period is over;
  // at once if it is on no node. Returns whether it was there.
  bool DeleteGracefully(absl::string_view pod_key);
  // The pod finished by itself: phase Succeeded.
  bool Finish(absl::string_view pod_key);

  // From now on the status of every PodDisruptionBudget is what kube-controller-manager would make
  // of the pods, whatever a manifest says of it. See docs/simulate.md.
  void RunDisruptionController();
  // From now on claims and volumes are bound to each other, made and released as by
  // kube-controller-manager's volume controller and the provisioners. See docs/simulate.md.
  void RunVolumeController();

  // From now on claims are made of ResourceClaimTemplates, and released when no pod uses them any
  // more, as by kube-controller-manager's resourceclaim controller. See docs/simulate.md.
  void RunResourceClaimController();

  // --- Looking ---

  std::shared_ptr<const google::protobuf::Message> Find(Kind kind, absl::string_view key) const;
  // All objects of a kind, oldest first.
  std::vector<Object> List(Kind kind) const;
  // Where each bound pod is, in the order of binding: ("namespace/name", node).
  std::vector<std::pair<std::string, std::string>> Bindings() const;
  // Evicted pods, in order: "namespace/name".
  std::vector<std::string> Evictions() const;
  // The latest `kMaxRecordedEvents` events for people.
  std::vector<RecordedEvent> RecordedEvents() const;
  static constexpr size_t kMaxRecordedEvents = 1000;

  // What happened just now. Pointers are valid during the call, and null where they do not apply.
  struct Incident {
    enum class What {
      kCreated,
      kChanged,  // as of everything below, too: a bound pod has changed
      kDeleted,
      kBound,
      kBindRefused,
      kEvicted,
      kFinished,  // by itself
      kNominated,
      kEventRecorded,
    };
    What what;
    // Not of kCreated, kChanged, kDeleted. Of kEventRecorded what it is about, mostly a pod.
    const Identity* pod = nullptr;
    const Object* object = nullptr;  // kCreated, kChanged, kDeleted: as it is, or was last
    absl::string_view node = "";     // kBound, kBindRefused, kNominated ("": cleared)
    const absl::Status* refusal = nullptr;
    const RecordedEvent* event = nullptr;
  };
  // Calls `observe` for everything that happens, in order. It must not call the cluster.
  void Observe(std::function<void(const Incident&)> observe);

  // --- Time ---

  // When something is due next; InfiniteFuture if nothing is.
  absl::Time NextDue() const;
  // Does everything that is due by the clock's time.
  void AdvanceTo(absl::Time now);

  // --- Faults, for tests. Bindings sleep on the clock; see SimulatedExecutor ---

  // By chance, from here on. Simulation runs bindings that may sleep on threads of their own.
  void SetFaults(const ClusterFaults& faults);
  // The watch breaks: what was held back is lost, and everything is delivered again.
  void Relist();

  // Asked for each binding before it happens: a status that is not OK refuses it. It may change the
  // cluster, as another scheduler would that was faster. Threads: those of the bindings.
  using BindFault = std::function<absl::Status(const Identity& pod, const std::string& node)>;
  void SetBindFault(BindFault fault);
  // How long a binding takes, on top of what the faults say; asked first, and slept before the pod
  // is bound.
  using BindDelay = std::function<absl::Duration(const Identity& pod, const std::string& node)>;
  void SetBindDelay(BindDelay delay);
  // Whether a binding may sleep, here or since its answer is lost and the scheduler asks later.
  bool MayDelayBindings() const { return may_delay_bindings_; }

  // --- Cluster ---

  absl::Status Watch(WatchSink& sink, const std::vector<Kind>& kinds) override;
  void StopWatching() override;
  void OnAttempt(const Identity* pod, const Identity* next) override;
  absl::Status Bind(const PodBinding& binding) override;
  absl::StatusOr<std::string> AssignedNode(const Identity& pod) override;
  absl::Status Evict(const Identity& pod, const std::string& message) override;
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override;
  absl::Status Update(const ObjectUpdate& update) override;
  absl::Status Edit(const ObjectEdit& edit) override;
  // A generated name is the first one that is free of NAME0, NAME1 ...
  absl::StatusOr<Object> Create(const Object& object) override;
  absl::Status Delete(const Identity& object) override;
  void Record(RecordedEvent event) override;

 private:
  // A pod that ends by itself at some time, or is gone then.
  struct End {
    IdentityPtr pod;
    enum class Kind { kFinished, kDeleted } kind;
  };

  class ControllerObjects;

  // What Set() does of one object; the controllers have not looked yet.
  void Take(Object object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What the API server makes of a packed pod.
  Object Admitted(Object pod) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Put(Object object, const StoredPodState& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Replace(StoredObject& stored, Object object, const StoredPodState& state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Start(const Object& pod, const StoredPodState& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExpectDeletion(const Object& pod, const StoredPodState& state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Remove(Kind kind, absl::string_view key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishPod(const Object& pod) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChangePod(const Object& pod, absl::FunctionRef<void(api::Pod& own)> change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Marks a pod as going, or removes it if it may go at once. `change` alters the marked pod.
  void StartDeletion(const Object& pod, const std::function<void(api::Pod& own)>& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Reach(const End& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Assign(const PodBinding& binding);
  void PutBound(StoredObject& stored, const PodBinding& binding, Symbol node)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Announce(Incident::What what, Object object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the part of `message` that is named, in place of that of `current`.
  void PutPart(const Object& current, const google::protobuf::Message& message,
               ObjectUpdate::Part part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Tell(const Incident& incident) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::function<void(const Incident&)> observe_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<StoredObjects> objects_ ABSL_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<WatchStream> watch_ ABSL_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<Admission> admission_ ABSL_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<ClusterObjects> controller_objects_;
  const std::unique_ptr<Controllers> controllers_ ABSL_PT_GUARDED_BY(mutex_);
  std::multimap<absl::Time, End> ends_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<IdentityPtr, Symbol>> bindings_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> evictions_ ABSL_GUARDED_BY(mutex_);
  std::deque<RecordedEvent> recorded_events_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<BindingFaults> faults_ ABSL_PT_GUARDED_BY(mutex_);
  std::atomic<bool> may_delay_bindings_ = false;  // asked before each piece of work
};

}  // namespace berth

#endif  // BERTH_IN_MEMORY_CLUSTER_H_
