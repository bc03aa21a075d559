// SPDX-License-Identifier: Apache-2.0
// The two maps of assumptions.
#include "plugins/volume_binding/assumed_volumes.h"

#include <utility>
#include <vector>

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
  ++reverted_volumes_;
}

void AssumedVolumes::Prune(const ObjectStore& objects) {
  const uint64_t volumes = objects.version(Kind::kPersistentVolume);
  const uint64_t claims = objects.version(Kind::kPersistentVolumeClaim);
  if (volumes == pruned_volumes_ && claims == pruned_claims_) return;
  pruned_volumes_ = volumes;
  pruned_claims_ = claims;
  const bool other_claims = PruneKind(objects, claims_);
  const bool other_volumes = PruneKind(objects, volumes_);
  if (other_volumes) {
    volume_of_claim_.clear();
    for (const auto& [volume, assumption] : volumes_) {
      volume_of_claim_.emplace(assumption.value, volume);
    }
  }
  if (other_volumes || other_claims) ++version_;
}

template <class T>
bool AssumedVolumes::PruneKind(const ObjectStore& objects, Assumptions<T>& assumptions) {
  std::vector<Assumption<T>> again;
  const size_t gone = absl::erase_if(assumptions, [&](auto& entry) {
    const api::ObjectMeta& metadata = entry.second.object->metadata();
    const Object* const now = objects.Find(kKindOf<T>, metadata.namespace_(), metadata.name());
    std::shared_ptr<const T> current = now == nullptr ? nullptr : now->Share<T>();
    if (current.get() == entry.first) return false;
    if (current != nullptr && IsSameVersion(*current, *entry.second.object)) {
      again.push_back(std::move(entry.second));
      again.back().object = std::move(current);
    }
    return true;
  });
  for (Assumption<T>& assumption : again) {
    const T* const key = assumption.object.get();
    assumptions.emplace(key, std::move(assumption));
  }
  return gone > 0;
}

const std::string* AssumedVolumes::ClaimOf(const api::PersistentVolume& volume) const {
  if (volumes_.empty()) return nullptr;  // the usual case; asked for each node
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
