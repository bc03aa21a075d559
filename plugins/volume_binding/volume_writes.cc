// SPDX-License-Identifier: Apache-2.0
// Implementation of volume_writes.h.
#include "plugins/volume_binding/volume_writes.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/object_update.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/framework/bind.h"
#include "plugins/volume_binding/assumed_volumes.h"
#include "plugins/volume_binding/volume_affinity.h"
#include "plugins/volume_binding/volumes_by_class.h"

namespace berth {
namespace {

using Claim = api::PersistentVolumeClaim;
using Volume = api::PersistentVolume;

constexpr char kBoundByController[] = "pv.kubernetes.io/bound-by-controller";

// component-helpers v0.35 pv_helpers.go GetBindVolumeToClaim. Null if the volume says so already.
std::shared_ptr<Volume> Promised(const Volume& volume, const Claim& claim) {
  const api::ObjectMeta& wanted = claim.metadata();
  const api::ObjectReference& ref = volume.spec().claim_ref();
  const bool same_name = volume.spec().has_claim_ref() && ref.name() == wanted.name() &&
                         ref.namespace_() == wanted.namespace_();
  const bool same = same_name && ref.uid() == wanted.uid();
  const bool by_user = same || (same_name && ref.uid().empty());
  if (same) return nullptr;
  auto promised = std::make_shared<Volume>(volume);
  api::ObjectReference& own = *promised->mutable_spec()->mutable_claim_ref();
  own.Clear();
  own.set_kind("PersistentVolumeClaim");
  own.set_api_version("v1");
  own.set_namespace_(wanted.namespace_());
  own.set_name(wanted.name());
  own.set_uid(wanted.uid());
  own.set_resource_version(wanted.resource_version());
  if (!by_user) {
    promised->mutable_metadata()->mutable_annotations()->insert({kBoundByController, "yes"});
  }
  return promised;
}

std::string KeyOf(const Claim& claim) {
  return absl::StrCat(claim.metadata().namespace_(), "/", claim.metadata().name());
}

absl::Status NotFound(absl::string_view what, Kind kind, absl::string_view name) {
  return absl::NotFoundError(absl::StrCat(what, ": ", Plural(kind), " \"", name, "\" not found"));
}

bool IsFullyBound(const Claim& claim) {
  return !claim.spec().volume_name().empty() &&
         claim.metadata().annotations().contains(kBindCompleted);
}

}  // namespace

// The node and what is known of it and its cluster.
struct VolumeWrites::Node {
  const ObjectStore& objects;
  const NodeInfo& info;
  const api::CSINode* csi_node;  // may be null

  absl::Status CheckAffinity(const Volume& volume) const {
    if (VolumeAffinity(volume).Matches(info.labels(), csi_node)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("pv \"", volume.metadata().name(), "\" node affinity doesn't match node \"",
                     info.name().view(), "\": no matching NodeSelectorTerms"));
  }
};

VolumeWrites::VolumeWrites(const VolumeChoice& choice) {
  for (const auto& [claim, volume] : choice.bindings) {
    bindings_.push_back({volume->volume, claim->claim});
  }
  for (const DelayedClaim* const claim : choice.provisions) provisions_.push_back({claim->claim});
}

absl::Status VolumeWrites::Write(absl::string_view node_name, Handle& handle) {
  for (Binding& binding : bindings_) {
    std::shared_ptr<Volume> promised = Promised(*binding.volume, *binding.claim);
    if (promised == nullptr) continue;
    absl::Status updated = handle.Update({.object = Object::Of(std::move(promised))});
    if (!updated.ok()) return updated;
    binding.written = true;
  }
  for (Provision& provision : provisions_) {
    if (Annotation(*provision.claim, kSelectedNode) == node_name) continue;
    auto claim = std::make_shared<Claim>(*provision.claim);
    (*claim->mutable_metadata()->mutable_annotations())[kSelectedNode] = std::string(node_name);
    absl::Status updated = handle.Update({.object = Object::Of(std::move(claim))});
    if (!updated.ok()) return updated;
    provision.written = true;
  }
  return absl::OkStatus();
}

void VolumeWrites::PollWhenTheyChange(CycleState& state) const {
  for (const Binding& binding : bindings_) {
    PollWhenChanged(state, Kind::kPersistentVolume, binding.volume->metadata().name());
    PollWhenChanged(state, Kind::kPersistentVolumeClaim, KeyOf(*binding.claim));
  }
  for (const Provision& provision : provisions_) {
    PollWhenChanged(state, Kind::kPersistentVolumeClaim, KeyOf(*provision.claim));
  }
}

absl::StatusOr<bool> VolumeWrites::AreBound(absl::string_view node_name,
                                            const Handle& handle) const {
  const NodeRow row = handle.nodes().FindRow(node_name);
  if (row < 0) {
    return absl::NotFoundError(
        absl::StrCat("failed to get node \"", node_name, "\": node \"", node_name, "\" not found"));
  }
  const Node node{handle.objects(), handle.nodes().node(row),
                  handle.objects().Find<api::CSINode>("", node_name)};
  const auto are_bound = [&node](const auto& writes) -> absl::StatusOr<bool> {
    for (const auto& write : writes) {
      absl::StatusOr<bool> bound = IsBound(write, node);
      if (!bound.ok() || !*bound) return bound;
    }
    return true;
  };
  absl::StatusOr<bool> bound = are_bound(bindings_);
  if (!bound.ok() || !*bound) return bound;
  return are_bound(provisions_);
}

absl::StatusOr<bool> VolumeWrites::IsBound(const Binding& binding, const Node& node) {
  constexpr char kFailed[] = "failed to check binding";
  const std::string& name = binding.volume->metadata().name();
  const auto* const volume = node.objects.Find<Volume>("", name);
  if (volume == nullptr) return NotFound(kFailed, Kind::kPersistentVolume, name);
  const api::ObjectMeta& wanted = binding.claim->metadata();
  const auto* const claim = node.objects.Find<Claim>(wanted.namespace_(), wanted.name());
  if (claim == nullptr) {
    return NotFound(kFailed, Kind::kPersistentVolumeClaim, KeyOf(*binding.claim));
  }
  // The watch has not shown yet what was written.
  if (binding.written && IsSameVersion(*volume, *binding.volume)) return false;
  absl::Status fits = node.CheckAffinity(*volume);
  if (!fits.ok()) return fits;
  if (volume->spec().claim_ref().uid().empty()) {
    return absl::FailedPreconditionError(absl::StrCat("ClaimRef got reset for pv \"", name, "\""));
  }
  return IsFullyBound(*claim);
}

absl::StatusOr<bool> VolumeWrites::IsBound(const Provision& provision, const Node& node) {
  const api::ObjectMeta& wanted = provision.claim->metadata();
  const auto* const claim = node.objects.Find<Claim>(wanted.namespace_(), wanted.name());
  if (claim == nullptr) {
    return NotFound("failed to check provisioning pvc", Kind::kPersistentVolumeClaim,
                    KeyOf(*provision.claim));
  }
  if (provision.written && IsSameVersion(*claim, *provision.claim)) return false;
  if (claim->metadata().annotations().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("selectedNode annotation reset for PVC \"", wanted.name(), "\""));
  }
  // A provisioner that fails takes the node back, so that another one is chosen.
  if (Annotation(*claim, kSelectedNode) != node.info.name().view()) {
    return absl::FailedPreconditionError(
        absl::StrCat("provisioning failed for PVC \"", wanted.name(), "\""));
  }
  if (!claim->spec().volume_name().empty()) {
    const auto* const volume = node.objects.Find<Volume>("", claim->spec().volume_name());
    if (volume == nullptr) return false;  // the watch may not have shown it yet
    absl::Status fits = node.CheckAffinity(*volume);
    if (!fits.ok()) return fits;
  }
  return IsFullyBound(*claim);
}

}  // namespace berth
