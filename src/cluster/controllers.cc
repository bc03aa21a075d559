// SPDX-License-Identifier: Apache-2.0
// Implementation of controllers.h.
#include "cluster/controllers.h"

#include <algorithm>
#include <utility>

namespace berth {

// --- Disruption budgets --------------------------------------------------------------------------

void Controllers::RunDisruptionController(absl::Time now) {
  disruptions_ = std::make_unique<DisruptionController>();
  for (const Object& budget : objects_.List(Kind::kPodDisruptionBudget)) {
    disruptions_->Set(budget, now);
  }
  FeedPods([&](const Identity& pod) { return disruptions_->Follows(pod.namespace_name()); }, now);
  UpdateBudgets(now);
}

void Controllers::UpdateBudgets(const Object& object, bool is_gone, absl::Time now) {
  if (is_gone) {
    disruptions_->Remove(object);
  } else {
    const bool is_first = !disruptions_->Follows(object.namespace_name());
    disruptions_->Set(object, now);
    if (is_first) {
      FeedPods([&](const Identity& pod) { return pod.namespace_name() == object.namespace_name(); },
               now);
    }
  }
  UpdateBudgets(now);
}

void Controllers::UpdateBudgets(absl::Time now) {
  for (Object& budget : disruptions_->Reconcile(now)) objects_.Put(std::move(budget));
}

void Controllers::FeedPods(absl::FunctionRef<bool(const Identity& pod)> wanted, absl::Time now) {
  stored_.of(Kind::kPod).ForEach([&](const Identity& who, const StoredObject& stored) {
    if (wanted(who)) disruptions_->Set(stored.object, now);
  });
}

absl::Time Controllers::NextBudgetDue() const {
  return disruptions_ == nullptr ? absl::InfiniteFuture() : disruptions_->NextDue();
}

// --- Volumes and claims of devices ---------------------------------------------------------------

void Controllers::RunVolumeController(absl::Time now) {
  volumes_ = std::make_unique<VolumeController>(objects_);
  for (const Kind kind :
       {Kind::kPersistentVolume, Kind::kPersistentVolumeClaim, Kind::kCSIStorageCapacity}) {
    for (const Object& object : objects_.List(kind)) volumes_->Follow(object, false);
  }
  Reconcile(now);
}

void Controllers::RunResourceClaimController(absl::Time now) {
  claims_ = std::make_unique<ResourceClaimController>(objects_);
  for (const Kind kind : {Kind::kResourceClaimTemplate, Kind::kResourceClaim, Kind::kPod}) {
    for (const Object& object : objects_.List(kind)) claims_->Follow(object, false);
  }
  Reconcile(now);
}

void Controllers::Follow(const Object& object, bool is_gone) {
  if (volumes_ != nullptr && VolumeController::IsConcernedWith(object.kind())) {
    volumes_->Follow(object, is_gone);
  }
  if (claims_ != nullptr) claims_->Follow(object, is_gone);
}

void Controllers::Reconcile(absl::Time now) {
  if (volumes_ != nullptr && (volumes_->has_work() || volumes_->NextDue() <= now)) {
    volumes_->Reconcile(now);
  }
  if (claims_ != nullptr && claims_->has_work()) claims_->Reconcile();
}

absl::Time Controllers::NextDue() const {
  const absl::Time budgets = NextBudgetDue();
  return volumes_ == nullptr ? budgets : std::min(budgets, volumes_->NextDue());
}

}  // namespace berth
