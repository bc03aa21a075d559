// SPDX-License-Identifier: Apache-2.0
// Implementation of cluster_devices.h.
#include "plugins/dynamic_resources/cluster_devices.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/types/span.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

// allocateddevices.go foreachAllocatedDevice.
std::vector<DeviceId> DevicesOf(const api::AllocationResult& allocation) {
  std::vector<DeviceId> devices;
  for (const api::DeviceRequestAllocationResult& result : allocation.devices().results()) {
    if (result.admin_access()) continue;
    devices.push_back(DeviceId::Of(result.driver(), result.pool(), result.device()));
  }
  return devices;
}

bool HasAllocation(const Object& claim) {
  return claim.As<api::ResourceClaim>().status().has_allocation();
}

// Versions are numbers that grow: of Kubernetes from 1.35 on officially.
bool IsLater(const Object& claim, const std::string& version) {
  uint64_t now = 0, then = 0;
  return absl::SimpleAtoi(claim.As<api::ResourceClaim>().metadata().resource_version(), &now) &&
         absl::SimpleAtoi(version, &then) && now > then;
}

}  // namespace

void ClusterDevices::Update(const ObjectStore& objects) {
  TakeNotes();
  UpdateSlices(objects);
  UpdateClaims(objects);
  // The watch may have been faster than the note.
  for (const std::string& claim_uid : std::exchange(noted_, {})) DropIfSeen(objects, claim_uid);
  DropOfUnassigned();
}

void ClusterDevices::UpdateSlices(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kResourceSlice);
  if (has_read_slices_ && version == slices_version_) return;
  const auto set = [this](const Object& slice) {
    slices_.emplace(slice.name());
    inventory_.SetSlice(slice.Share<api::ResourceSlice>());
  };
  std::optional<absl::Span<const IdentityPtr>> changes;
  if (has_read_slices_) changes = objects.ChangesSince(Kind::kResourceSlice, slices_version_);
  if (changes.has_value()) {
    for (const IdentityPtr& changed : *changes) {
      const Object* const slice = objects.Find(Kind::kResourceSlice, "", changed->name());
      if (slice != nullptr) {
        set(*slice);
      } else if (slices_.erase(changed->name()) > 0) {
        inventory_.RemoveSlice(changed->name());
      }
    }
  } else {
    for (const std::string& name : std::exchange(slices_, {})) inventory_.RemoveSlice(name);
    for (const Object* slice : objects.List(Kind::kResourceSlice)) set(*slice);
  }
  has_read_slices_ = true;
  slices_version_ = version;
}

void ClusterDevices::UpdateClaims(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kResourceClaim);
  if (has_read_claims_ && version == claims_version_) return;
  std::optional<absl::Span<const IdentityPtr>> changes;
  if (has_read_claims_) changes = objects.ChangesSince(Kind::kResourceClaim, claims_version_);
  if (changes.has_value()) {
    for (const IdentityPtr& changed : *changes) SetClaim(objects, *changed);
  } else {
    by_claim_.clear();
    held_.clear();
    for (const Object* claim : objects.List(Kind::kResourceClaim)) {
      SetClaim(objects, *claim->identity());
    }
    std::vector<std::string> in_flight;
    for (const auto& [uid, one] : in_flight_) in_flight.push_back(uid);
    for (const std::string& uid : in_flight) DropIfSeen(objects, uid);
  }
  has_read_claims_ = true;
  claims_version_ = version;
}

void ClusterDevices::SetClaim(const ObjectStore& objects, const Identity& claim) {
  RemoveClaim(claim.key());
  const Object* const now =
      objects.Find(Kind::kResourceClaim, claim.namespace_name(), claim.name());
  DropIfSeen(now, claim.uid());
  if (now == nullptr) return;
  const auto& status = now->As<api::ResourceClaim>().status();
  if (!status.has_allocation()) return;
  std::vector<DeviceId> devices = DevicesOf(status.allocation());
  Add(devices, held_);
  by_claim_.emplace(claim.key(), std::move(devices));
}

void ClusterDevices::RemoveClaim(const std::string& key) {
  const auto known = by_claim_.find(key);
  if (known == by_claim_.end()) return;
  Subtract(known->second, held_);
  by_claim_.erase(known);
}

// The cluster says so itself, or never will. `now` is the claim of that name.
void ClusterDevices::DropIfSeen(const Object* now, absl::string_view claim_uid) {
  const auto found = in_flight_.find(claim_uid);
  if (found == in_flight_.end()) return;
  const std::optional<std::string>& written_over = found->second.written_over;
  if (now == nullptr || now->uid() != claim_uid || HasAllocation(*now) ||
      (written_over.has_value() && IsLater(*now, *written_over))) {
    Drop(std::string(claim_uid));
  }
}

void ClusterDevices::DropIfSeen(const ObjectStore& objects, absl::string_view claim_uid) {
  const auto found = in_flight_.find(claim_uid);
  if (found == in_flight_.end()) return;
  const absl::string_view key = found->second.claim_key;
  const size_t slash = key.find('/');
  DropIfSeen(objects.Find(Kind::kResourceClaim, key.substr(0, slash), key.substr(slash + 1)),
             claim_uid);
}

void ClusterDevices::DropOfUnassigned() {
  for (const std::string& pod : std::exchange(unassigned_, {})) {
    const auto claims = in_flight_of_.find(pod);
    if (claims == in_flight_of_.end()) continue;
    for (const std::string& claim : Uids(claims->second)) Leave(pod, claim);
  }
}

ClusterDevices::Allocation ClusterDevices::InFlight(absl::string_view claim_uid) const {
  const auto found = in_flight_.find(claim_uid);
  return found == in_flight_.end() ? nullptr : found->second.allocation;
}

void ClusterDevices::Promise(absl::string_view pod_uid, const Object& claim,
                             const Allocation& allocation) {
  const auto [entry, is_new] = in_flight_.try_emplace(claim.uid());
  Flight& flight = entry->second;
  if (is_new) {
    flight.claim_key = std::string(claim.key());
    flight.allocation = allocation;
    flight.devices = DevicesOf(*allocation);
    Add(flight.devices, promised_);
  }
  flight.pods.emplace(pod_uid);
  in_flight_of_[pod_uid].emplace(claim.uid());
}

void ClusterDevices::GiveUp(absl::string_view pod_uid, absl::string_view claim_uid) {
  TakeNotes();
  const auto found = in_flight_.find(claim_uid);
  if (found == in_flight_.end() || !found->second.pods.contains(pod_uid)) return;
  Leave(std::string(pod_uid), std::string(claim_uid));
}

void ClusterDevices::Leave(const std::string& pod_uid, const std::string& claim_uid) {
  Flight& flight = in_flight_.at(claim_uid);
  // Somebody will see it.
  if (flight.written_over.has_value()) return;
  if (flight.pods.size() == 1) return Drop(claim_uid);
  flight.pods.erase(pod_uid);
  const auto of_pod = in_flight_of_.find(pod_uid);
  of_pod->second.erase(claim_uid);
  if (of_pod->second.empty()) in_flight_of_.erase(of_pod);
}

void ClusterDevices::NoteWritten(absl::string_view claim_uid, absl::string_view version) {
  const MutexLock lock(mutex_);
  written_.emplace_back(claim_uid, version);
}

void ClusterDevices::TakeNotes() {
  const MutexLock lock(mutex_);
  for (auto& [claim_uid, version] : std::exchange(written_, {})) {
    const auto found = in_flight_.find(claim_uid);
    if (found == in_flight_.end()) continue;
    found->second.written_over = std::move(version);
    noted_.push_back(claim_uid);
  }
}

void ClusterDevices::Drop(const std::string& claim_uid) {
  const auto found = in_flight_.find(claim_uid);
  Subtract(found->second.devices, promised_);
  for (const std::string& pod : found->second.pods) {
    const auto of_pod = in_flight_of_.find(pod);
    of_pod->second.erase(claim_uid);
    if (of_pod->second.empty()) in_flight_of_.erase(of_pod);
  }
  in_flight_.erase(found);
}

void ClusterDevices::OnPodAssigned(absl::string_view uid) {
  if (!unassigned_.empty()) unassigned_.erase(uid);
}

void ClusterDevices::OnPodUnassigned(absl::string_view uid) {
  if (in_flight_of_.contains(uid)) unassigned_.emplace(uid);
}

void ClusterDevices::Add(const std::vector<DeviceId>& devices, Holders& holders) {
  for (const DeviceId& device : devices) ++holders[device];
}

void ClusterDevices::Subtract(const std::vector<DeviceId>& devices, Holders& holders) {
  for (const DeviceId& device : devices) {
    const auto found = holders.find(device);
    if (--found->second == 0) holders.erase(found);
  }
}

}  // namespace berth
