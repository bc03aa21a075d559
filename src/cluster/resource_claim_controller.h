// SPDX-License-Identifier: Apache-2.0
// What kube-controller-manager's resourceclaim controller does: make claims of templates, and
// release claims when no pod uses them any more.
#ifndef BERTH_SRC_CLUSTER_RESOURCE_CLAIM_CONTROLLER_H_
#define BERTH_SRC_CLUSTER_RESOURCE_CLAIM_CONTROLLER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/api/resource_v1.pb.h"
#include "cluster/cluster_objects.h"

namespace berth {

// As kubernetes v1.35 pkg/controller/resourceclaim/controller.go, but a claim is named
// POD-REFERENCE: without a random suffix, and with a number if that name is taken. A claim that a
// pod owns goes when the pod has ended, as with the garbage collector. Not thread-safe.
class ResourceClaimController {
 public:
  explicit ResourceClaimController(ClusterObjects& objects) : objects_(objects) {}

  // An object is there, has changed, or is gone.
  void Follow(const Object& object, bool is_gone);
  // Does what there is to do. Writes, which have to come back through Follow().
  void Reconcile();
  bool has_work() const { return !pods_.empty() || !claims_.empty(); }

 private:
  void SyncPod(const std::string& key);
  void SyncClaim(const std::string& key);
  // The pod has nothing to do with the claim any more.
  void Forget(const std::string& pod, const std::string& claim);
  // Whether there is such a pod that can still use a claim.
  bool IsUser(const std::string& namespace_name,
              const api::ResourceClaimConsumerReference& user) const;
  bool OwnerIsDone(const api::ResourceClaim& claim) const;
  // Whether a later pod of its owner's name says that the claim is its own. Then it stays, and the
  // scheduler says that the pod is not its owner.
  bool IsNamedByNewOwner(const api::ResourceClaim& claim) const;

  ClusterObjects& objects_;
  std::set<std::string> pods_, claims_;                       // to be synced
  std::map<std::string, std::set<std::string>> waiting_for_;  // pods by the template they miss
  std::map<std::string, std::set<std::string>> claims_of_;    // claims by pod: users and owner
};

// What the controller makes of the objects before anything else happens: claims of templates, pods
// with their status entries, claims without the reservations of pods that have ended or are not
// there, none that such a pod owns. For explaining a cluster without running it.
void RunResourceClaimController(std::vector<Object>& objects);

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_RESOURCE_CLAIM_CONTROLLER_H_
