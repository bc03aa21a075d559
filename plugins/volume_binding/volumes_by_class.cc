// SPDX-License-Identifier: Apache-2.0
// Implementation of volumes_by_class.h.
#include "plugins/volume_binding/volumes_by_class.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {

VolumesOfClass::VolumesOfClass(const std::vector<std::shared_ptr<const ParsedVolume>>& volumes)
    : by_size_(volumes) {
  int position = 0;
  for (const auto& volume : by_size_.items()) positions_.emplace(volume->volume.get(), position++);
  for (const auto& volume : volumes) {
    const api::PersistentVolumeSpec& spec = volume->volume->spec();
    if (!spec.has_claim_ref()) continue;
    by_claim_[absl::StrCat(spec.claim_ref().namespace_(), "/", spec.claim_ref().name())].push_back(
        Find(*volume->volume));
  }
}

absl::Span<const int> VolumesOfClass::PromisedTo(absl::string_view namespace_name,
                                                 absl::string_view name) const {
  const auto found = by_claim_.find(absl::StrCat(namespace_name, "/", name));
  if (found == by_claim_.end()) return {};
  return found->second;
}

int VolumesOfClass::Find(const api::PersistentVolume& volume) const {
  const auto found = positions_.find(&volume);
  return found == positions_.end() ? -1 : found->second;
}

std::shared_ptr<const VolumesOfClass> VolumesByClass::Of(const ObjectStore& objects,
                                                         const std::string& class_name) {
  const uint64_t version = objects.version(Kind::kPersistentVolume);
  if (version != version_) Read(objects);
  version_ = version;
  const auto found = by_class_.find(class_name);
  return found == by_class_.end() ? nullptr : found->second;
}

void VolumesByClass::Read(const ObjectStore& objects) {
  const auto before = std::exchange(parsed_, {});
  absl::flat_hash_map<std::string, std::vector<std::shared_ptr<const ParsedVolume>>> of_class;
  for (const Object* object : objects.List(Kind::kPersistentVolume)) {
    auto volume = object->Share<api::PersistentVolume>();
    std::shared_ptr<const ParsedVolume>& parsed = parsed_[volume.get()];
    if (const auto known = before.find(volume.get()); known != before.end()) {
      parsed = known->second;
    } else {
      parsed = std::make_shared<const ParsedVolume>(
          ParsedVolume{volume, VolumeAffinity(*volume), Storage(volume->spec().capacity())});
    }
    of_class[ClassOf(*volume)].push_back(parsed);
  }
  by_class_.clear();
  for (auto& [name, volumes] : of_class) {
    by_class_[name] = std::make_shared<const VolumesOfClass>(std::move(volumes));
  }
}

}  // namespace berth
