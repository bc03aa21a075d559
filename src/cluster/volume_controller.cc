// SPDX-License-Identifier: Apache-2.0
// Implementation of volume_controller.h.
#include "cluster/volume_controller.h"

#include <memory>
#include <optional>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/labels.h"
#include "berth/api/quantity.h"

namespace berth {
namespace {

using Claim = api::PersistentVolumeClaim;
using Volume = api::PersistentVolume;

constexpr char kBindCompleted[] = "pv.kubernetes.io/bind-completed";
constexpr char kBoundByController[] = "pv.kubernetes.io/bound-by-controller";
constexpr char kProvisionedBy[] = "pv.kubernetes.io/provisioned-by";
constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";
constexpr char kStorageProvisioner[] = "volume.kubernetes.io/storage-provisioner";
constexpr char kBetaStorageProvisioner[] = "volume.beta.kubernetes.io/storage-provisioner";
constexpr char kBetaClass[] = "volume.beta.kubernetes.io/storage-class";

template <class T>
bool HasAnnotation(const T& object, const char* key) {
  return object.metadata().annotations().contains(key);
}

template <class T>
std::string ClassOf(const T& object) {
  const auto beta = object.metadata().annotations().find(kBetaClass);
  return beta == object.metadata().annotations().end() ? object.spec().storage_class_name()
                                                       : beta->second;
}

std::string Key(const std::string& namespace_name, const std::string& name) {
  return absl::StrCat(namespace_name, "/", name);
}

template <class Map>
Quantity Storage(const Map& resources) {
  const auto found = resources.find("storage");
  if (found == resources.end()) return Quantity();
  return Quantity::Parse(found->second.string()).value_or(Quantity());
}

bool NamesClaim(const Volume& volume, const Claim& claim) {
  const api::ObjectReference& ref = volume.spec().claim_ref();
  return volume.spec().has_claim_ref() && ref.name() == claim.metadata().name() &&
         ref.namespace_() == claim.metadata().namespace_();
}

// pv_helpers.go IsVolumeBoundToClaim.
bool IsPromisedTo(const Volume& volume, const Claim& claim) {
  const std::string& uid = volume.spec().claim_ref().uid();
  return NamesClaim(volume, claim) && (uid.empty() || uid == claim.metadata().uid());
}

// Whether they are bound to each other by what they say. The uid does not count: manifests may have
// lost that of the claim.
bool AreBound(const Volume& volume, const Claim& claim) {
  return HasAnnotation(claim, kBindCompleted) && NamesClaim(volume, claim) &&
         claim.spec().volume_name() == volume.metadata().name();
}

template <class Spec>
std::string VolumeMode(const Spec& spec) {
  return spec.has_volume_mode() ? spec.volume_mode() : "Filesystem";
}

// Whether the claim can use a volume that is promised to it.
bool Suits(const Volume& volume, const Claim& claim) {
  return !volume.metadata().has_deletion_timestamp() &&
         !(Storage(volume.spec().capacity()) < Storage(claim.spec().resources().requests())) &&
         VolumeMode(volume.spec()) == VolumeMode(claim.spec()) &&
         volume.spec().volume_attributes_class_name() ==
             claim.spec().volume_attributes_class_name();
}

// A new one is about to be available: claims that come at the same moment may have it.
bool IsOrWillBeAvailable(const Volume& volume) {
  return volume.status().phase() == "Available" || volume.status().phase().empty();
}

// Whether it may take one that is promised to no claim.
bool MayTake(const Volume& volume, const Claim& claim) {
  if (volume.spec().has_claim_ref() || !IsOrWillBeAvailable(volume) ||
      ClassOf(volume) != ClassOf(claim) || !Suits(volume, claim)) {
    return false;
  }
  const bool has_modes = absl::c_all_of(claim.spec().access_modes(), [&](const auto& mode) {
    return absl::c_linear_search(volume.spec().access_modes(), mode);
  });
  if (!has_modes || !claim.spec().has_selector()) return has_modes;
  const auto selector = LabelSelector::FromProto(&claim.spec().selector());
  return selector.ok() && selector->Matches(LabelSet::FromMap(volume.metadata().labels()));
}

bool WaitsForConsumer(const api::StorageClass* storage_class) {
  return storage_class != nullptr && storage_class->volume_binding_mode() == "WaitForFirstConsumer";
}

}  // namespace

// --- Following -----------------------------------------------------------------------------------

void VolumeController::Follow(const Object& object, bool is_gone) {
  switch (object.kind()) {
    case Kind::kPersistentVolume:
      return FollowVolume(object, is_gone);
    case Kind::kPersistentVolumeClaim:
      return FollowClaim(object, is_gone);
    case Kind::kStorageClass: {
      const auto claims = unbound_.find(std::string(object.name()));
      if (claims == unbound_.end()) return;
      claims_to_sync_.insert(claims->second.begin(), claims->second.end());
      return;
    }
    case Kind::kCSIStorageCapacity:
      if (!provisioner_.FollowCapacity(object, is_gone)) return;
      return TryFailedAgain(object.As<api::CSIStorageCapacity>().storage_class_name());
    default:
      while (!failed_.empty()) TryFailedAgain(std::string(failed_.begin()->first));
  }
}

void VolumeController::TryFailedAgain(const std::string& class_name) {
  const auto claims = failed_.find(class_name);
  if (claims == failed_.end()) return;
  claims_to_sync_.merge(claims->second);
  failed_.erase(claims);
}

void VolumeController::FollowVolume(const Object& object, bool is_gone) {
  const std::string name(object.name());
  if (const auto before = volumes_.find(name); before != volumes_.end()) {
    const FollowedVolume& known = before->second;
    if (!known.claim.empty()) {
      promised_[known.claim].erase(name);
      claims_to_sync_.insert(known.claim);
    }
    available_[known.class_name].erase(name);
    volumes_.erase(before);
  }
  if (const auto claims = naming_.find(name); claims != naming_.end()) {
    claims_to_sync_.insert(claims->second.begin(), claims->second.end());
  }
  if (is_gone) return;
  const auto& volume = object.As<Volume>();
  FollowedVolume& known = volumes_[name];
  known.class_name = ClassOf(volume);
  if (volume.spec().has_claim_ref()) {
    const api::ObjectReference& ref = volume.spec().claim_ref();
    known.claim = Key(ref.namespace_(), ref.name());
    promised_[known.claim].insert(name);
    claims_to_sync_.insert(known.claim);
  } else if (IsOrWillBeAvailable(volume)) {
    available_[known.class_name].insert(name);
  }
  volumes_to_sync_.insert(name);
}

void VolumeController::FollowClaim(const Object& object, bool is_gone) {
  const std::string key(object.key());
  if (const auto before = claims_.find(key); before != claims_.end()) {
    unbound_[before->second.class_name].erase(key);
    naming_[before->second.volume].erase(key);
    claims_.erase(before);
  }
  const auto& claim = object.As<Claim>();
  if (const auto volumes = promised_.find(key); volumes != promised_.end()) {
    volumes_to_sync_.insert(volumes->second.begin(), volumes->second.end());
  }
  if (!is_gone) {
    const FollowedClaim& known = claims_[key] = {claim.spec().volume_name(), ClassOf(claim)};
    if (!known.volume.empty()) naming_[known.volume].insert(key);
    if (!HasAnnotation(claim, kBindCompleted)) unbound_[known.class_name].insert(key);
  }
  claims_to_sync_.insert(key);
}

void VolumeController::Reconcile(absl::Time now) {
  while (true) {
    if (!claims_to_sync_.empty()) {
      SyncClaim(claims_to_sync_.extract(claims_to_sync_.begin()).value(), now);
    } else if (!volumes_to_sync_.empty()) {
      SyncVolume(volumes_to_sync_.extract(volumes_to_sync_.begin()).value());
    } else if (NextDue() <= now) {
      FinishMaking(std::string(making_.begin()->second));
    } else {
      return;
    }
  }
}

// --- Claims --------------------------------------------------------------------------------------

void VolumeController::SyncClaim(const std::string& key, absl::Time now) {
  const auto claim = objects_.Share<Claim>(key);
  const auto making = making_for_.find(key);
  if (making != making_for_.end() &&
      (claim == nullptr || claim->metadata().uid() != making->second.uid)) {
    StopMaking(key);
  }
  if (claim == nullptr) return;
  if (HasAnnotation(*claim, kBindCompleted)) return SyncBoundClaim(*claim);
  SyncUnboundClaim(key, *claim, now);
}

void VolumeController::SyncBoundClaim(const Claim& claim) {
  const std::string& name = claim.spec().volume_name();
  const auto volume = name.empty() ? nullptr : objects_.Share<Volume>(name);
  const bool is_lost =
      volume == nullptr || (volume->spec().has_claim_ref() && !AreBound(*volume, claim));
  if (is_lost) return SetPhase(claim, "Lost");
  Bind(*volume, claim);
}

void VolumeController::SyncUnboundClaim(const std::string& key, const Claim& claim,
                                        absl::Time now) {
  if (!claim.spec().volume_name().empty()) {
    const auto volume = objects_.Share<Volume>(claim.spec().volume_name());
    const bool is_free =
        volume != nullptr && (!volume->spec().has_claim_ref() || IsPromisedTo(*volume, claim));
    if (is_free && Suits(*volume, claim)) return Bind(*volume, claim);
    return SetPhase(claim, "Pending");
  }
  if (const auto promised = FindPromised(key, claim); promised != nullptr) {
    return Bind(*promised, claim);
  }
  const std::string class_name = ClassOf(claim);
  const auto storage_class =
      class_name.empty() ? nullptr : objects_.Share<api::StorageClass>(class_name);
  const bool waits = WaitsForConsumer(storage_class.get());
  if (!waits) {
    const auto available = FindAvailable(claim);
    if (available != nullptr) return Bind(*available, claim);
  }
  const bool is_wanted = !waits || HasAnnotation(claim, kSelectedNode);
  if (is_wanted && storage_class != nullptr && VolumeProvisioner::Serves(*storage_class)) {
    if (!HasAnnotation(claim, kStorageProvisioner)) return NameProvisioner(claim, *storage_class);
    StartMaking(key, claim, *storage_class, now);
  }
  SetPhase(claim, "Pending");
}

std::shared_ptr<const Volume> VolumeController::FindPromised(const std::string& claim_key,
                                                             const Claim& claim) const {
  const auto names = promised_.find(claim_key);
  if (names == promised_.end()) return nullptr;
  for (const std::string& name : names->second) {
    auto volume = objects_.Share<Volume>(name);
    if (IsPromisedTo(*volume, claim) && Suits(*volume, claim)) return volume;
  }
  return nullptr;
}

// The smallest, of these the one with the fewest access modes.
std::shared_ptr<const Volume> VolumeController::FindAvailable(const Claim& claim) const {
  const auto names = available_.find(ClassOf(claim));
  if (names == available_.end()) return nullptr;
  std::shared_ptr<const Volume> best;
  for (const std::string& name : names->second) {
    auto volume = objects_.Share<Volume>(name);
    if (!MayTake(*volume, claim)) continue;
    const auto rank = [](const Volume& one) {
      return std::make_tuple(one.spec().access_modes_size(), Storage(one.spec().capacity()));
    };
    if (best == nullptr || rank(*volume) < rank(*best)) best = std::move(volume);
  }
  return best;
}

void VolumeController::Bind(const Volume& volume, const Claim& claim) {
  if (volume.spec().claim_ref().uid().empty() || volume.status().phase() != "Bound") {
    auto bound = std::make_shared<Volume>(volume);
    api::ObjectReference& ref = *bound->mutable_spec()->mutable_claim_ref();
    if (!volume.spec().has_claim_ref()) {
      (*bound->mutable_metadata()->mutable_annotations())[kBoundByController] = "yes";
      ref.set_kind("PersistentVolumeClaim");
      ref.set_api_version("v1");
      ref.set_namespace_(claim.metadata().namespace_());
      ref.set_name(claim.metadata().name());
    }
    if (ref.uid().empty()) ref.set_uid(claim.metadata().uid());
    bound->mutable_status()->set_phase("Bound");
    objects_.Put(Object::Of(std::move(bound)));
  }
  if (HasAnnotation(claim, kBindCompleted) && claim.status().phase() == "Bound") return;
  auto bound = std::make_shared<Claim>(claim);
  auto& annotations = *bound->mutable_metadata()->mutable_annotations();
  if (claim.spec().volume_name().empty()) {
    bound->mutable_spec()->set_volume_name(volume.metadata().name());
    annotations[kBoundByController] = "yes";
  }
  annotations[kBindCompleted] = "yes";
  api::PersistentVolumeClaimStatus& status = *bound->mutable_status();
  status.set_phase("Bound");
  *status.mutable_access_modes() = volume.spec().access_modes();
  *status.mutable_capacity() = volume.spec().capacity();
  objects_.Put(Object::Of(std::move(bound)));
}

void VolumeController::SetPhase(const Claim& claim, const char* phase) {
  if (claim.status().phase() == phase) return;
  auto changed = std::make_shared<Claim>(claim);
  changed->mutable_status()->set_phase(phase);
  objects_.Put(Object::Of(std::move(changed)));
}

// --- Volumes -------------------------------------------------------------------------------------

void VolumeController::SyncVolume(const std::string& name) {
  const auto volume = objects_.Share<Volume>(name);
  if (volume == nullptr) return;
  if (volume->spec().has_claim_ref()) return SyncPromisedVolume(*volume);
  if (volume->status().phase() != "Available") return SetPhase(*volume, "Available");
  OfferToClaims(*volume);
}

void VolumeController::SyncPromisedVolume(const Volume& volume) {
  const api::ObjectReference& ref = volume.spec().claim_ref();
  if (ref.uid().empty()) return SetPhase(volume, "Available");  // its user may bind it yet
  const auto claim = objects_.Share<Claim>(Key(ref.namespace_(), ref.name()));
  const bool is_there =
      claim != nullptr && (claim->metadata().uid() == ref.uid() || AreBound(volume, *claim));
  if (!is_there) return Release(volume);
  const std::string& taken = claim->spec().volume_name();
  if (taken == volume.metadata().name()) return SetPhase(volume, "Bound");
  if (taken.empty()) return;  // the claim is about to take it
  // The claim has another one.
  if (HasAnnotation(volume, kProvisionedBy) &&
      volume.spec().persistent_volume_reclaim_policy() == "Delete") {
    return Release(volume);
  }
  if (!HasAnnotation(volume, kBoundByController)) return;
  auto free = std::make_shared<Volume>(volume);
  free->mutable_spec()->clear_claim_ref();
  free->mutable_metadata()->mutable_annotations()->erase(kBoundByController);
  free->mutable_status()->set_phase("Available");
  objects_.Put(Object::Of(std::move(free)));
}

// To the first claim that waits for such a volume.
void VolumeController::OfferToClaims(const Volume& volume) {
  const std::string class_name = ClassOf(volume);
  const auto keys = unbound_.find(class_name);
  if (keys == unbound_.end()) return;
  const auto storage_class =
      class_name.empty() ? nullptr : objects_.Share<api::StorageClass>(class_name);
  if (WaitsForConsumer(storage_class.get())) return;
  for (const std::string& key : keys->second) {
    const auto claim = objects_.Share<Claim>(key);
    if (claim->spec().volume_name().empty() && MayTake(volume, *claim)) {
      return Bind(volume, *claim);
    }
  }
}

void VolumeController::Release(const Volume& volume) {
  if (volume.spec().persistent_volume_reclaim_policy() == "Delete") {
    return provisioner_.Delete(std::string(volume.metadata().name()));
  }
  if (volume.status().phase() != "Failed") SetPhase(volume, "Released");
}

void VolumeController::SetPhase(const Volume& volume, const char* phase) {
  if (volume.status().phase() == phase) return;
  auto changed = std::make_shared<Volume>(volume);
  changed->mutable_status()->set_phase(phase);
  objects_.Put(Object::Of(std::move(changed)));
}

// --- Provisioning --------------------------------------------------------------------------------

void VolumeController::NameProvisioner(const Claim& claim, const api::StorageClass& storage_class) {
  auto changed = std::make_shared<Claim>(claim);
  for (const char* const key : {kStorageProvisioner, kBetaStorageProvisioner}) {
    (*changed->mutable_metadata()->mutable_annotations())[key] = storage_class.provisioner();
  }
  objects_.Put(Object::Of(std::move(changed)));
}

void VolumeController::StartMaking(const std::string& key, const Claim& claim,
                                   const api::StorageClass& storage_class, absl::Time now) {
  if (making_for_.contains(key)) return;
  Making making;
  making.due = now + VolumeProvisioner::Time(storage_class);
  making.uid = claim.metadata().uid();
  const auto node = claim.metadata().annotations().find(kSelectedNode);
  if (node != claim.metadata().annotations().end()) making.node_name = node->second;
  making_.emplace(making.due, key);
  making_for_.emplace(key, std::move(making));
}

void VolumeController::StopMaking(const std::string& key) {
  const auto making = making_for_.find(key);
  making_.erase({making->second.due, key});
  making_for_.erase(making);
}

// A provisioner that fails for the selected node takes it back. One that fails for a claim without
// tries again when a node, the class or its storage changes.
void VolumeController::FinishMaking(const std::string& key) {
  const std::string node_name = making_for_.at(key).node_name;
  StopMaking(key);
  const auto claim = objects_.Share<Claim>(key);
  const auto storage_class = objects_.Share<api::StorageClass>(ClassOf(*claim));
  if (!claim->spec().volume_name().empty() || storage_class == nullptr) return;
  if (provisioner_.Provision(*claim, *storage_class, node_name)) return;
  if (node_name.empty()) {
    failed_[ClassOf(*claim)].insert(key);
    return;
  }
  auto changed = std::make_shared<Claim>(*claim);
  changed->mutable_metadata()->mutable_annotations()->erase(kSelectedNode);
  objects_.Put(Object::Of(std::move(changed)));
}

}  // namespace berth
