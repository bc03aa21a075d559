// SPDX-License-Identifier: Apache-2.0
// What pods on their way to their nodes take for themselves before the cluster says so.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_ASSUMED_VOLUMES_H_
#define BERTH_PLUGINS_VOLUME_BINDING_ASSUMED_VOLUMES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/handle/object_store.h"

namespace berth {

// Each assumption is about one version of a volume or claim and ends with it: whatever the cluster
// says next is the truth. Threads: the scheduling thread.
class AssumedVolumes {
 public:
  // The pod's claim ("namespace/name" and uid, see ClaimIdentity) takes the volume. Keeps an
  // assumption that another pod made for the same claim.
  void TakeVolume(absl::string_view pod_uid, std::shared_ptr<const api::PersistentVolume> volume,
                  std::string claim);
  // The claim gets a new volume on the node.
  void SelectNode(absl::string_view pod_uid,
                  std::shared_ptr<const api::PersistentVolumeClaim> claim,
                  absl::string_view node_name);
  // Forgets what the pod assumed of that claim.
  void Revert(absl::string_view pod_uid, const api::PersistentVolumeClaim& claim,
              const std::string& identity);
  // Forgets what was assumed of versions that are no longer those in `objects`. Nothing to do if
  // neither volumes nor claims changed since the last call.
  void Prune(const ObjectStore& objects);

  // Another one whenever something changed.
  uint64_t version() const { return version_; }
  // Grows with each volume that Revert() makes free again.
  uint64_t reverted_volumes() const { return reverted_volumes_; }
  // The claim that takes this volume, or null.
  const std::string* ClaimOf(const api::PersistentVolume& volume) const;
  // The volume that the claim takes, or null.
  const api::PersistentVolume* VolumeOf(const std::string& claim_identity) const;
  // The node selected for the claim, or null.
  const std::string* NodeOf(const api::PersistentVolumeClaim& claim) const;

 private:
  template <class T>
  struct Assumption {
    std::string pod_uid;
    std::shared_ptr<const T> object;
    std::string value;
  };

  uint64_t version_ = 0, reverted_volumes_ = 0;
  uint64_t pruned_volumes_ = 0, pruned_claims_ = 0;  // the versions of these kinds
  // By the message, which the assumption keeps alive.
  template <class T>
  using Assumptions = absl::flat_hash_map<const T*, Assumption<T>>;
  // Keeps what is about the versions in `objects`. Returns whether anything has changed.
  template <class T>
  static bool PruneKind(const ObjectStore& objects, Assumptions<T>& assumptions);

  Assumptions<api::PersistentVolume> volumes_;
  Assumptions<api::PersistentVolumeClaim> claims_;
  absl::flat_hash_map<std::string, const api::PersistentVolume*> volume_of_claim_;
};

// Whether the cluster has changed nothing from one to the other, which have the same name. A watch
// that starts again delivers a version again.
template <class T>
bool IsSameVersion(const T& a, const T& b) {
  if (&a == &b) return true;
  return !a.metadata().resource_version().empty() && a.metadata().uid() == b.metadata().uid() &&
         a.metadata().resource_version() == b.metadata().resource_version();
}

// What tells one claim from another of the same name.
std::string ClaimIdentity(absl::string_view namespace_name, absl::string_view name,
                          absl::string_view uid);

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_ASSUMED_VOLUMES_H_
