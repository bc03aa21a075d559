// SPDX-License-Identifier: Apache-2.0
// The two maps of assumptions.
#include "plugins/volume_binding/assumed_volumes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"

namespace berth {

void AssumedVolumes::TakeVolume(absl::string_view pod_uid,
                                std::shared_ptr<const api::PersistentVolume> volume,
                                std::string claim) {
  ++version_;
  const api::PersistentVolume* key = volume.get();
  volume_of_claim_.try_emplace(claim, key);
  volumes_.try_emplace(key, Assumption<api::PersistentVolume>{std::string(pod_uid),
                                                              std::move(volume), std::move(claim)});
}

void AssumedVolumes::SelectNode(absl::string_view pod_uid,
                                std::shared_ptr<const api::PersistentVolumeClaim> claim,
                                absl::string_view node_name) {
  ++version_;
  const api::PersistentVolumeClaim* key = claim.get();
  claims_.try_emplace(key, Assumption<api::PersistentVolumeClaim>{
                               std::string(pod_uid), std::move(claim), std::string(node_name)});
}

void AssumedVolumes::Revert(absl::string_view pod_uid, const api::PersistentVolumeClaim& claim,
                            const std::string& identity) {
  ++version_;
  const auto of_claim = claims_.find(&claim);
  if (of_claim != claims_.end() && of_claim->second.pod_uid == pod_uid) claims_.erase(of_claim);
  const auto taken = volume_of_claim_.find(identity);
  if (taken == volume_of_claim_.end()) return;
  const auto volume = volumes_.find(taken->second);
  if (volume == volumes_.end() || volume->second.pod_uid != pod_uid) return;
  volumes_.erase(volume);
  volume_of_claim_.erase(taken);
}

void AssumedVolumes::Prune(const ObjectStore& objects) {
  const uint64_t volumes = objects.version(Kind::kPersistentVolume);
  const uint64_t claims = objects.version(Kind::kPersistentVolumeClaim);
  if (volumes == pruned_volumes_ && claims == pruned_claims_) return;
  pruned_volumes_ = volumes;
  pruned_claims_ = claims;
  size_t gone = absl::erase_if(volumes_, [&](const auto& entry) {
    const std::string& name = entry.second.object->metadata().name();
    if (objects.Find<api::PersistentVolume>("", name) == entry.first) return false;
    volume_of_claim_.erase(entry.second.value);
    return true;
  });
  gone += absl::erase_if(claims_, [&objects](const auto& entry) {
    const api::ObjectMeta& metadata = entry.second.object->metadata();
    return objects.Find<api::PersistentVolumeClaim>(metadata.namespace_(), metadata.name()) !=
           entry.first;
  });
  if (gone > 0) ++version_;
}

const std::string* AssumedVolumes::ClaimOf(const api::PersistentVolume& volume) const {
  const auto found = volumes_.find(&volume);
  return found == volumes_.end() ? nullptr : &found->second.value;
}

const api::PersistentVolume* AssumedVolumes::VolumeOf(const std::string& claim_identity) const {
  const auto found = volume_of_claim_.find(claim_identity);
  return found == volume_of_claim_.end() ? nullptr : found->second;
}

const std::string* AssumedVolumes::NodeOf(const api::PersistentVolumeClaim& claim) const {
  const auto found = claims_.find(&claim);
  return found == claims_.end() ? nullptr : &found->second.value;
}

std::string ClaimIdentity(absl::string_view namespace_name, absl::string_view name,
                          absl::string_view uid) {
  return absl::StrCat(namespace_name, "/", name, "/", uid);
}

}  // namespace berth
