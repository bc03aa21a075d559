// SPDX-License-Identifier: Apache-2.0
// A rule for each kind of storage object.
#include "plugins/volume_binding/volume_hints.h"

#include <string>

#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/storage_v1.pb.h"
#include "plugins/volume_binding/pod_volumes.h"

namespace berth {
namespace {

bool SameTopologies(const api::StorageClass& a, const api::StorageClass& b) {
  if (a.allowed_topologies_size() != b.allowed_topologies_size()) return false;
  for (int i = 0; i < a.allowed_topologies_size(); ++i) {
    if (a.allowed_topologies(i).SerializeAsString() !=
        b.allowed_topologies(i).SerializeAsString()) {
      return false;
    }
  }
  return true;
}

QueueingHint AfterClassChange(const PodInfo&, const ObjectChange& change) {
  if (change.old_object == nullptr) return QueueingHint::kQueue;
  return QueueIf(!SameTopologies(change.old_object->As<api::StorageClass>(),
                                 change.new_object->As<api::StorageClass>()));
}

QueueingHint AfterClaimChange(const PodInfo& pod, const ObjectChange& change) {
  const Object& claim = *change.new_object;
  if (claim.namespace_name() != pod.namespace_name().view()) return QueueingHint::kSkip;
  for (const std::string& name : pod.claims()) {
    if (name == claim.name()) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

std::string MigratedPlugins(const Object& node) {
  const auto& annotations = node.As<api::CSINode>().metadata().annotations();
  const auto found = annotations.find("storage.alpha.kubernetes.io/migrated-plugins");
  return found == annotations.end() ? std::string() : found->second;
}

QueueingHint AfterCsiNodeChange(const PodInfo&, const ObjectChange& change) {
  if (change.old_object == nullptr) return QueueingHint::kQueue;
  return QueueIf(MigratedPlugins(*change.old_object) != MigratedPlugins(*change.new_object));
}

// A driver that no longer counts its storage helps pods that use it inline.
QueueingHint AfterDriverUpdate(const PodInfo& pod, const ObjectChange& change) {
  if (!change.old_object->As<api::CSIDriver>().spec().storage_capacity() ||
      change.new_object->As<api::CSIDriver>().spec().storage_capacity()) {
    return QueueingHint::kSkip;
  }
  for (const api::Volume& volume : pod.spec().volumes()) {
    if (volume.volume_source().has_csi() &&
        volume.volume_source().csi().driver() == change.new_object->name()) {
      return QueueingHint::kQueue;
    }
  }
  return QueueingHint::kSkip;
}

QueueingHint AfterCapacityChange(const PodInfo&, const ObjectChange& change) {
  if (change.old_object == nullptr) return QueueingHint::kQueue;
  const auto before = VolumeLimit(change.old_object->As<api::CSIStorageCapacity>());
  const auto after = VolumeLimit(change.new_object->As<api::CSIStorageCapacity>());
  return QueueIf(after.has_value() && (!before.has_value() || after->Value() > before->Value()));
}

}  // namespace

std::vector<ClusterEventWithHint> VolumeBindingEvents() {
  constexpr ActionType kAddOrUpdate = action::kAdd | action::kUpdate;
  return {
      {{EventResource::Of(Kind::kStorageClass), kAddOrUpdate}, &AfterClassChange},
      {{EventResource::Of(Kind::kPersistentVolumeClaim), kAddOrUpdate}, &AfterClaimChange},
      {{EventResource::Of(Kind::kPersistentVolume), kAddOrUpdate}, nullptr},
      {{EventResource::Node(), action::kAdd | action::kUpdateNodeLabel}, nullptr},
      {{EventResource::Of(Kind::kCSINode), kAddOrUpdate}, &AfterCsiNodeChange},
      {{EventResource::Of(Kind::kCSIDriver), action::kUpdate}, &AfterDriverUpdate},
      {{EventResource::Of(Kind::kCSIStorageCapacity), kAddOrUpdate}, &AfterCapacityChange},
  };
}

}  // namespace berth
