// SPDX-License-Identifier: Apache-2.0
// A cluster that a client describes, as the scheduler sees it.
#ifndef BERTH_SRC_SERVE_SERVED_CLUSTER_H_
#define BERTH_SRC_SERVE_SERVED_CLUSTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "berth/api/identity_map.h"
#include "berth/api/symbol.h"
#include "berth/clock.h"
#include "berth/cluster.h"
#include "berth/mutex.h"
#include "serve/object_decoder.h"

namespace berth {

namespace api {
class ResourceClaim;
}  // namespace api

// Holds the objects as the client sent them, with what the scheduler has decided since: a pod that
// was bound keeps its node, one that was evicted stays marked, and one that waits keeps its
// condition, whatever the client sends of it, until it is deleted. What the scheduler decides is
// collected for the client. No controller runs here, and nothing ends by itself. Threads: any.
class ServedCluster final : public Cluster {
 public:
  // Holds `max_objects` at most. `clock` outlives the cluster.
  ServedCluster(const Clock& clock, size_t max_objects)
      : clock_(clock), max_objects_(max_objects) {}

  // --- The client's side ---

  // Everything is sent again, up to Sync().
  void BeginAnew();
  // In this order. What cannot be taken in is told to `refuse`.
  void Apply(std::vector<ClientChange> changes,
             absl::FunctionRef<void(const ClientChange& change, std::string why)> refuse);
  // Everything that there is has been sent: what was not goes.
  void Sync();
  // What the scheduler decided since the last call, in order, without revisions.
  v1::Events TakeDecisions();
  // Wakes a scheduler that waits.
  void Wake();

  // Everything, oldest first.
  std::vector<Object> Objects() const;

  // --- Cluster ---

  absl::Status Watch(WatchSink& sink, const std::vector<Kind>& kinds) override;
  void StopWatching() override;
  absl::Status Bind(const PodBinding& binding) override;
  absl::StatusOr<std::string> AssignedNode(const Identity& pod) override;
  absl::Status Evict(const Identity& pod, const std::string& message) override;
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override;
  absl::Status Update(const ObjectUpdate& update) override;
  absl::Status Edit(const ObjectEdit& edit) override;
  void Record(RecordedEvent event) override;

 private:
  struct Stored {
    Object object;
    uint64_t order = 0;
    uint32_t sent = 0;  // in which round
    // What was decided here of a pod, and not confirmed by the client yet. Null: nothing.
    std::shared_ptr<const PodBinding> binding;
    std::shared_ptr<const std::string> eviction;     // its message
    std::shared_ptr<const v1::Condition> condition;  // the latest of a pod without a node
    // The devices that a claim has were given to it here, and the client has not sent it with any.
    bool gives_devices = false;
  };
  using Store = IdentityMap<Stored, ByKey>;
  using Events = std::vector<WatchEvent>;

  Store& StoreOf(Kind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return objects_[static_cast<size_t>(kind)];
  }
  Stored* FindPod(const Identity& pod) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Set(Object object, Events& events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Discard(const Identity& who, Events& events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The pod as it was sent, with what was decided of it.
  Object WithDecisions(Object pod, Stored& stored) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The claim as it was sent, with the devices that were given to it, as long as a pod has it
  // reserved.
  Object WithDevices(Object claim, Stored& stored) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsReservedForAny(const api::ResourceClaim& claim) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const PackedPod> BoundPod(const PackedPod& pod, const PodBinding& binding) const;
  std::shared_ptr<const PackedPod> LeavingPod(const PackedPod& pod,
                                              const std::string& message) const;
  std::shared_ptr<const PackedPod> PodWithCondition(const PackedPod& pod,
                                                    const v1::Condition& condition) const;
  Object Versioned(const Object& object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReplaceBySelf(Stored& stored, Object object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PutPart(Stored& stored, const google::protobuf::Message& message, ObjectUpdate::Part part)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellWritten(const Object& object, bool status_only) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellPlacement(const PodBinding& binding) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellEviction(const Identity& pod, const std::string& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Append(WatchEvent::Type type, Object object, Events& events) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Deliver(Events events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const size_t max_objects_;
  mutable Mutex mutex_;
  std::array<Store, kMostKinds> objects_ ABSL_GUARDED_BY(mutex_);
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_order_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_version_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  bool anew_ ABSL_GUARDED_BY(mutex_) = false;    // in a round
  bool synced_ ABSL_GUARDED_BY(mutex_) = false;  // at least one round has ended
  v1::Events decisions_ ABSL_GUARDED_BY(mutex_);
  WatchSink* sink_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::array<bool, kMostKinds> wanted_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace berth

#endif  // BERTH_SRC_SERVE_SERVED_CLUSTER_H_
