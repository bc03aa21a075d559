// SPDX-License-Identifier: Apache-2.0
// Implementation of volumes_by_class.h.
#include "plugins/volume_binding/volumes_by_class.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr size_t kLeastSlots = 1024;

std::string ClaimKey(absl::string_view namespace_name, absl::string_view name) {
  return absl::StrCat(namespace_name, "/", name);
}

}  // namespace

ParsedVolume::ParsedVolume(std::shared_ptr<const api::PersistentVolume> of)
    : volume(std::move(of)), affinity(*volume), capacity(Storage(volume->spec().capacity())) {}

bool ParsedVolume::is_free() const {
  return !volume->spec().has_claim_ref() && !volume->metadata().has_deletion_timestamp() &&
         volume->status().phase() == "Available";
}

void VolumesOfClass::Insert(const ParsedVolumePtr& volume) {
  if (volume->is_free()) {
    free_.Insert(volume);
    ++became_free_;
  }
  const api::PersistentVolumeSpec& spec = volume->volume->spec();
  if (!spec.has_claim_ref()) return;
  std::vector<ParsedVolumePtr>& promised =
      by_claim_[ClaimKey(spec.claim_ref().namespace_(), spec.claim_ref().name())];
  promised.insert(std::upper_bound(promised.begin(), promised.end(), volume,
                                   SizedByNode<ParsedVolume>::BySize()),
                  volume);
}

void VolumesOfClass::Erase(const ParsedVolumePtr& volume) {
  if (volume->is_free()) free_.Erase(volume);
  const api::PersistentVolumeSpec& spec = volume->volume->spec();
  if (!spec.has_claim_ref()) return;
  const auto promised =
      by_claim_.find(ClaimKey(spec.claim_ref().namespace_(), spec.claim_ref().name()));
  std::erase(promised->second, volume);
  if (promised->second.empty()) by_claim_.erase(promised);
}

absl::Span<const ParsedVolumePtr> VolumesOfClass::PromisedTo(absl::string_view namespace_name,
                                                             absl::string_view name) const {
  const auto found = by_claim_.find(ClaimKey(namespace_name, name));
  if (found == by_claim_.end()) return {};
  return found->second;
}

const VolumesOfClass* VolumesByClass::Of(const std::string& class_name) const {
  const auto found = by_class_.find(class_name);
  return found == by_class_.end() ? nullptr : &found->second;
}

ParsedVolumePtr VolumesByClass::Find(const api::PersistentVolume& volume) const {
  const auto found = by_name_.find(volume.metadata().name());
  if (found == by_name_.end() || found->second->volume.get() != &volume) return nullptr;
  return found->second;
}

void VolumesByClass::Refresh(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kPersistentVolume);
  if (version_ == version) return;
  const auto changes = version_.has_value()
                           ? objects.ChangesSince(Kind::kPersistentVolume, *version_)
                           : std::nullopt;
  version_ = version;
  // There are at most as many slots that are not used any more as volumes.
  const bool has_room = free_by_slot_.size() <= 2 * by_name_.size() + kLeastSlots;
  if (!changes.has_value() || !has_room) {
    Read(objects);
    return;
  }
  for (const IdentityPtr& who : *changes) {
    ApplyChange(who->key(), objects.Find(Kind::kPersistentVolume, "", who->name()));
  }
}

// The plain form: all volumes as they are.
void VolumesByClass::Read(const ObjectStore& objects) {
  by_name_.clear();
  free_by_slot_.clear();
  ++slots_id_;
  for (auto& [name, volumes] : by_class_) volumes = VolumesOfClass();
  for (const Object* object : objects.List(Kind::kPersistentVolume)) Insert(*object);
}

void VolumesByClass::ApplyChange(const std::string& name, const Object* now) {
  if (const auto before = by_name_.find(name); before != by_name_.end()) {
    const ParsedVolumePtr volume = std::move(before->second);
    by_name_.erase(before);
    by_class_[ClassOf(*volume->volume)].Erase(volume);
    if (volume->slot >= 0) free_by_slot_[volume->slot] = nullptr;
  }
  if (now != nullptr) Insert(*now);
}

void VolumesByClass::Insert(const Object& object) {
  auto parsed = std::make_shared<ParsedVolume>(object.Share<api::PersistentVolume>());
  if (parsed->is_free()) {
    parsed->slot = static_cast<int>(free_by_slot_.size());
    free_by_slot_.push_back(parsed->volume.get());
  }
  const ParsedVolumePtr volume = std::move(parsed);
  by_class_[ClassOf(*volume->volume)].Insert(volume);
  by_name_.insert_or_assign(volume->name(), volume);
}

}  // namespace berth
