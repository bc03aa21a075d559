// SPDX-License-Identifier: Apache-2.0
// The controllers of kube-controller-manager that run in an in-memory cluster.
#ifndef BERTH_SRC_CLUSTER_CONTROLLERS_H_
#define BERTH_SRC_CLUSTER_CONTROLLERS_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "berth/api/object.h"
#include "cluster/cluster_objects.h"
#include "cluster/disruption_controller.h"
#include "cluster/resource_claim_controller.h"
#include "cluster/stored_objects.h"
#include "cluster/volume_controller.h"

namespace berth {

// None runs at first. Each follows the objects that it is concerned with from its start on; volumes
// and claims are reconciled when a change is complete, budgets with each change. Threads: guarded
// by the cluster's mutex.
class Controllers {
 public:
  // Writes to `objects`, which are those that are `stored`.
  Controllers(ClusterObjects& objects, const StoredObjects& stored)
      : objects_(objects), stored_(stored) {}

  void RunDisruptionController(absl::Time now);
  void RunVolumeController(absl::Time now);
  void RunResourceClaimController(absl::Time now);

  // An object was created or changed, or deleted if it `is_gone`.
  void Follow(const Object& object, bool is_gone);
  // Whether UpdateBudgets() is to be called for it, once the watch has the change.
  bool AffectsBudgets(const Object& object) const {
    return disruptions_ != nullptr && disruptions_->IsConcernedWith(object);
  }
  void UpdateBudgets(const Object& object, bool is_gone, absl::Time now);
  // Budgets that are due by now.
  void UpdateBudgets(absl::Time now);
  // After every change that volumes or claims may depend on, when it is complete: not where a pod
  // is bound or its status is patched, which changes neither whether it is there nor whether it has
  // ended.
  void Reconcile(absl::Time now);

  // When budgets, or anything, are due next; InfiniteFuture if nothing is.
  absl::Time NextBudgetDue() const;
  absl::Time NextDue() const;

 private:
  void FeedPods(absl::FunctionRef<bool(const Identity& pod)> wanted, absl::Time now);

  ClusterObjects& objects_;
  const StoredObjects& stored_;
  // Null: not run.
  std::unique_ptr<DisruptionController> disruptions_;
  std::unique_ptr<VolumeController> volumes_;
  std::unique_ptr<ResourceClaimController> claims_;
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_CONTROLLERS_H_
