// SPDX-License-Identifier: Apache-2.0
// What an in-memory cluster stores: objects by kind and name, each with what is asked of it often.
#ifndef BERTH_SRC_CLUSTER_STORED_OBJECTS_H_
#define BERTH_SRC_CLUSTER_STORED_OBJECTS_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/identity_map.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"

namespace berth {

namespace api {
class Pod;
}

// What is asked of a pod at every turn.
struct StoredPodState {
  explicit StoredPodState(const api::Pod& pod);
  StoredPodState() = default;

  bool on_node = false, leaving = false, ended = false;
  absl::Time deletion_time = absl::InfiniteFuture();  // if it is leaving
  // Once it is on a node; from its annotation "simulation.berth/run-time".
  absl::Duration run_time = absl::InfiniteDuration();
  // Of its spec: how long it stays on its node once it is deleted.
  int64_t grace_seconds = 0;
};

struct StoredObject {
  Object object;
  uint64_t order;      // in which objects were created
  StoredPodState pod;  // if it is one
};

// Threads: guarded by the cluster's mutex.
class StoredObjects {
 public:
  using OfKind = IdentityMap<StoredObject, ByKey>;

  // By "namespace/name", or "name".
  OfKind& of(Kind kind) { return by_kind_[static_cast<size_t>(kind)]; }
  const OfKind& of(Kind kind) const { return by_kind_[static_cast<size_t>(kind)]; }
  // The pod if it is there with that uid.
  StoredObject* FindPod(const Identity& pod);

  // What is stored in the object's place, or is from now on, and whether it is new.
  std::pair<StoredObject*, bool> FindOrAdd(const Object& object, const StoredPodState& state);
  // The object as it is to be stored: with another metadata.resourceVersion, and a uid if it is a
  // claim.
  Object WithNextVersion(const Object& object);

  // Oldest first.
  std::vector<Object> List(Kind kind) const { return ListInOrder({&of(kind), 1}); }
  std::vector<Object> ListAll() const { return ListInOrder(by_kind_); }

 private:
  static std::vector<Object> ListInOrder(absl::Span<const OfKind> kinds);

  std::array<OfKind, kMostKinds> by_kind_;
  uint64_t next_order_ = 0;
  uint64_t last_version_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_STORED_OBJECTS_H_
