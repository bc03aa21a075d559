// SPDX-License-Identifier: Apache-2.0
// What kube-controller-manager's volume controller and the provisioners do: bind claims and volumes
// to each other, make volumes, release them.
#ifndef BERTH_SRC_CLUSTER_VOLUME_CONTROLLER_H_
#define BERTH_SRC_CLUSTER_VOLUME_CONTROLLER_H_

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/object.h"
#include "berth/api/storage_v1.pb.h"
#include "cluster/cluster_objects.h"
#include "cluster/volume_provisioner.h"

namespace berth {

// As kubernetes v1.35 pkg/controller/volume/persistentvolume/pv_controller.go syncClaim and
// syncVolume; what takes two writes there that follow each other at once is one here. Not
// thread-safe.
class VolumeController {
 public:
  explicit VolumeController(ClusterObjects& objects) : objects_(objects), provisioner_(objects) {}

  static bool IsConcernedWith(Kind kind) {
    return kind == Kind::kPersistentVolume || kind == Kind::kPersistentVolumeClaim ||
           kind == Kind::kStorageClass || kind == Kind::kCSIStorageCapacity || kind == Kind::kNode;
  }
  // An object is there, has changed, or is gone.
  void Follow(const Object& object, bool is_gone);

  // Does what there is to do at the time. Writes, which have to come back through Follow().
  void Reconcile(absl::Time now);
  bool has_work() const { return !claims_to_sync_.empty() || !volumes_to_sync_.empty(); }
  // When a volume is made.
  absl::Time NextDue() const {
    return making_.empty() ? absl::InfiniteFuture() : making_.begin()->first;
  }

 private:
  using Claim = api::PersistentVolumeClaim;
  using Volume = api::PersistentVolume;
  struct FollowedVolume {
    std::string claim;  // the key of the one it is promised to; "" if to none
    std::string class_name;
  };
  struct FollowedClaim {
    std::string volume;  // that its spec names
    std::string class_name;
  };
  struct Making {
    absl::Time due;
    std::string uid, node_name;  // of the claim
  };

  void FollowVolume(const Object& object, bool is_gone);
  void FollowClaim(const Object& object, bool is_gone);
  // The claims of that class that the provisioner failed for.
  void TryFailedAgain(const std::string& class_name);

  void SyncClaim(const std::string& key, absl::Time now);
  void SyncBoundClaim(const Claim& claim);
  void SyncUnboundClaim(const std::string& key, const Claim& claim, absl::Time now);
  void SyncVolume(const std::string& name);
  void SyncPromisedVolume(const Volume& volume);
  std::shared_ptr<const Volume> FindPromised(const std::string& claim_key,
                                             const Claim& claim) const;
  std::shared_ptr<const Volume> FindAvailable(const Claim& claim) const;
  void OfferToClaims(const Volume& volume);
  void Bind(const Volume& volume, const Claim& claim);
  void Release(const Volume& volume);
  void SetPhase(const Volume& volume, const char* phase);
  void SetPhase(const Claim& claim, const char* phase);

  // Tells the provisioner that the claim is for it.
  void NameProvisioner(const Claim& claim, const api::StorageClass& storage_class);
  void StartMaking(const std::string& key, const Claim& claim,
                   const api::StorageClass& storage_class, absl::Time now);
  void StopMaking(const std::string& key);
  void FinishMaking(const std::string& key);

  ClusterObjects& objects_;
  VolumeProvisioner provisioner_;
  std::map<std::string, FollowedVolume> volumes_;           // by name
  std::map<std::string, std::set<std::string>> promised_;   // volumes by the key of their claim
  std::map<std::string, std::set<std::string>> naming_;     // claims by the volume they name
  std::map<std::string, std::set<std::string>> available_;  // volumes by class
  std::map<std::string, FollowedClaim> claims_;             // by key
  std::map<std::string, std::set<std::string>> unbound_;    // claims by class
  std::set<std::string> claims_to_sync_, volumes_to_sync_;  // keys
  std::map<std::string, std::set<std::string>> failed_;     // claims without a node, by class
  std::map<std::string, Making> making_for_;                // by the claim's key
  std::set<std::pair<absl::Time, std::string>> making_;     // the same, by time
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_VOLUME_CONTROLLER_H_
