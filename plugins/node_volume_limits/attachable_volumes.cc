// SPDX-License-Identifier: Apache-2.0
// From the volumes of a pod to the drivers that attach them.
#include "plugins/node_volume_limits/attachable_volumes.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"

namespace berth {
namespace {

AttachableVolume Attachable(absl::string_view driver, absl::string_view handle,
                            const MigratedPlugin* plugin = nullptr) {
  return {std::string(driver), absl::StrCat(driver, "/", handle), plugin};
}

// What the class of a claim will provision. The name cannot be that of a volume there is.
std::optional<AttachableVolume> FromClass(const api::PersistentVolumeClaim& claim,
                                          const ObjectStore& objects, VolumeSources& sources) {
  const auto& annotations = claim.metadata().annotations();
  const auto beta = annotations.find("volume.beta.kubernetes.io/storage-class");
  const std::string& class_name =
      beta != annotations.end() ? beta->second : claim.spec().storage_class_name();
  if (class_name.empty()) return std::nullopt;
  sources.classes = true;
  const auto* storage_class = objects.Find<api::StorageClass>("", class_name);
  if (storage_class == nullptr || storage_class->provisioner().empty()) return std::nullopt;
  const std::string handle = absl::StrCat(absl::string_view("\0", 1), claim.metadata().namespace_(),
                                          "/", claim.metadata().name());
  const MigratedPlugin* plugin = FindMigratedPlugin(storage_class->provisioner());
  if (plugin == nullptr) return Attachable(storage_class->provisioner(), handle);
  if (!plugin->counted) return std::nullopt;
  return Attachable(plugin->driver, handle, plugin);
}

std::optional<AttachableVolume> FromVolume(const api::PersistentVolume& volume) {
  const api::PersistentVolumeSource& source = volume.spec().persistent_volume_source();
  if (source.has_csi()) {
    if (source.csi().driver().empty() || source.csi().volume_handle().empty()) return std::nullopt;
    return Attachable(source.csi().driver(), source.csi().volume_handle());
  }
  const MigratedPlugin* plugin = FindMigratedPlugin(volume);
  if (plugin == nullptr || !plugin->counted) return std::nullopt;
  const std::optional<std::string> handle = CsiHandle(volume);
  if (!handle.has_value() || handle->empty()) return std::nullopt;
  return Attachable(plugin->driver, *handle, plugin);
}

std::optional<AttachableVolume> FromClaim(const api::PersistentVolumeClaim& claim,
                                          const ObjectStore& objects, VolumeSources& sources) {
  const std::string& name = claim.spec().volume_name();
  if (name.empty()) return FromClass(claim, objects, sources);
  sources.objects.push_back(ObjectHash(Kind::kPersistentVolume, "", name));
  const auto* volume = objects.Find<api::PersistentVolume>("", name);
  return volume == nullptr ? FromClass(claim, objects, sources) : FromVolume(*volume);
}

Status AddInline(const api::Volume& volume, std::vector<AttachableVolume>& volumes) {
  const MigratedPlugin* plugin = FindMigratedPlugin(volume.volume_source());
  if (plugin == nullptr || !plugin->counted) return Status::Success();
  const std::optional<std::string> handle = CsiHandle(volume.volume_source());
  if (!handle.has_value()) {
    return Status::Error(absl::StrCat("converting volume(", volume.name(),
                                      ") from inline to csi: its name is not valid"));
  }
  volumes.push_back(Attachable(plugin->driver, *handle, plugin));
  return Status::Success();
}

bool IsControlledBy(const api::PersistentVolumeClaim& claim, const PodInfo& pod) {
  for (const api::OwnerReference& owner : claim.metadata().owner_references()) {
    if (owner.controller()) return owner.uid() == pod.object().metadata().uid();
  }
  return false;
}

enum class ClaimKind { kNamed, kEphemeral };

Status AddClaim(const PodInfo& pod, const std::string& name, ClaimKind kind, PodAge age,
                const ObjectStore& objects, std::vector<AttachableVolume>& volumes,
                VolumeSources& sources) {
  const absl::string_view namespace_name = pod.namespace_name().view();
  if (name.empty()) return Status::Error("PersistentVolumeClaim had no name");
  sources.objects.push_back(ObjectHash(Kind::kPersistentVolumeClaim, namespace_name, name));
  const auto* claim = objects.Find<api::PersistentVolumeClaim>(namespace_name, name);
  if (claim == nullptr) {
    if (age == PodAge::kRunning) return Status::Success();
    return Status::UnschedulableAndUnresolvable(absl::StrCat("looking up PVC ", namespace_name, "/",
                                                             name, ": persistentvolumeclaim \"",
                                                             name, "\" not found"));
  }
  if (kind == ClaimKind::kEphemeral && !IsControlledBy(*claim, pod)) {
    return Status::Error(absl::StrCat("PVC ", namespace_name, "/", name,
                                      " was not created for pod ", pod.key(),
                                      " (pod is not owner)"));
  }
  if (auto attachable = FromClaim(*claim, objects, sources)) {
    volumes.push_back(*std::move(attachable));
  }
  return Status::Success();
}

}  // namespace

uint64_t ObjectHash(Kind kind, absl::string_view namespace_name, absl::string_view name) {
  return absl::HashOf(kind, namespace_name, name);
}

bool MayAttach(const PodInfo& pod) {
  if (!pod.claims().empty()) return true;
  if (!pod.has_other_storage()) return false;
  const auto& volumes = pod.spec().volumes();
  return std::any_of(volumes.begin(), volumes.end(), [](const api::Volume& volume) {
    return FindMigratedPlugin(volume.volume_source()) != nullptr;
  });
}

Status AddAttachableVolumes(const PodInfo& pod, PodAge age, const ObjectStore& objects,
                            std::vector<AttachableVolume>& volumes, VolumeSources& sources) {
  if (!pod.has_other_storage()) {  // a spec of many pods is not unpacked
    for (const std::string& claim : pod.claims()) {
      Status status = AddClaim(pod, claim, ClaimKind::kNamed, age, objects, volumes, sources);
      if (!status.ok()) return status;
    }
    return Status::Success();
  }
  for (const api::Volume& volume : pod.spec().volumes()) {
    const api::VolumeSource& source = volume.volume_source();
    Status status;
    if (source.has_persistent_volume_claim()) {
      status = AddClaim(pod, source.persistent_volume_claim().claim_name(), ClaimKind::kNamed, age,
                        objects, volumes, sources);
    } else if (source.has_ephemeral()) {
      status = AddClaim(pod, absl::StrCat(pod.name(), "-", volume.name()), ClaimKind::kEphemeral,
                        age, objects, volumes, sources);
    } else {
      status = AddInline(volume, volumes);
    }
    if (!status.ok()) return status;
  }
  return Status::Success();
}

std::optional<AttachableVolume> FindAttached(const api::VolumeAttachment& attachment,
                                             const ObjectStore& objects) {
  const api::VolumeAttachmentSpec& spec = attachment.spec();
  if (spec.attacher().empty() || !spec.source().has_persistent_volume_name()) return std::nullopt;
  const auto* volume =
      objects.Find<api::PersistentVolume>("", spec.source().persistent_volume_name());
  if (volume == nullptr || !volume->spec().persistent_volume_source().has_csi()) {
    return std::nullopt;
  }
  return Attachable(spec.attacher(),
                    volume->spec().persistent_volume_source().csi().volume_handle());
}

}  // namespace berth
