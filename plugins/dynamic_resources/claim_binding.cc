// SPDX-License-Identifier: Apache-2.0
// Implementation of claim_binding.h.
#include "plugins/dynamic_resources/claim_binding.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "plugins/dynamic_resources/binding_conditions.h"
#include "plugins/dynamic_resources/claim_writes.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {
namespace {

// Whether a device that a claim has, or is about to have, has binding conditions.
bool HasConditions(const ClaimsState& data) {
  for (size_t i = 0; i < data.pod->claims.size(); ++i) {
    const ClusterDevices::Allocation& made = data.allocations[i];
    if (HasBindingConditions(made != nullptr ? *made
                                             : data.pod->claims[i].claim().status().allocation())) {
      return true;
    }
  }
  return false;
}

}  // namespace

ClaimBinding::ClaimBinding(Handle& handle, std::shared_ptr<ClusterDevices> devices,
                           std::optional<absl::Duration> binding_timeout)
    : handle_(handle), devices_(std::move(devices)), binding_timeout_(binding_timeout) {}

Status ClaimBinding::Write(ClaimsState& data, const PodInfo& pod) {
  const ClaimsOfPod& claims = *data.pod;
  std::optional<absl::Time> now;
  if (binding_timeout_.has_value()) now = handle_.clock().Now();
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    // Also if the pod seems to have a reservation, which it may have given up since.
    const Object& claim = claims.claims[i].object;
    data.written[i] = true;
    if (claims.is_special(i)) {
      const absl::Status bound = WriteSpecial(data, pod, now);
      if (!bound.ok()) return Status::Error(bound);
      continue;
    }
    std::optional<ClaimWrite> write;
    const absl::Status written =
        WriteReservation(claim, pod, data.allocations[i], now, handle_, write);
    if (write.has_value() && data.allocations[i] != nullptr) {
      devices_->NoteWritten(pod.uid(), claim.uid(), *std::move(write));
    }
    if (!written.ok()) return Status::Error(written);
  }
  if (!binding_timeout_.has_value() || !HasConditions(data)) return Status::Success();
  data.bind_deadline = *now + *binding_timeout_;
  return Status::Wait();
}

absl::Status ClaimBinding::WriteSpecial(ClaimsState& data, const PodInfo& pod,
                                        std::optional<absl::Time> now) {
  const ClaimsOfPod& claims = *data.pod;
  const int position = claims.special->position();
  const ClusterDevices::Allocation& allocation = data.allocations[position];
  if (allocation == nullptr) return absl::OkStatus();  // the node has the resources by itself
  const ClaimsToAllocate& reserved = *data.reserved;
  absl::StatusOr<Object> created = CreateSpecialClaim(*reserved.claims.back().message, handle_);
  if (!created.ok()) return created.status();
  devices_->NoteCreated(claims.claims[position].object.uid(), *created);
  data.created = *created;
  std::optional<ClaimWrite> write;
  absl::Status written = WriteReservation(*created, pod, allocation, now, handle_, write);
  if (write.has_value()) devices_->NoteWritten(pod.uid(), created->uid(), *std::move(write));
  if (!written.ok()) return written;
  return WriteSpecialClaim(pod, *created, *reserved.mappings, handle_);
}

Status ClaimBinding::IsReady(const ClaimsState& data) const {
  const absl::Time now = handle_.clock().Now();
  for (const Object& claim : ClaimsInCluster(data)) {
    const auto* const latest =
        handle_.objects().Find<api::ResourceClaim>(claim.namespace_name(), claim.name());
    if (latest == nullptr) {
      return Status::Error(absl::StrCat("could not find ResourceClaim \"", claim.key(), "\""));
    }
    std::string lost = WhyLost(*latest, *binding_timeout_, now);
    if (!lost.empty()) return Status::Error(std::move(lost));
    if (*IsReadyForBinding(*latest)) continue;
    return now < data.bind_deadline ? Status::Wait() : Status::Error("device binding timeout");
  }
  return Status::Success();
}

void ClaimBinding::TakeBack(ClaimsState& data, const PodInfo& pod) {
  const ClaimsOfPod& claims = *data.pod;
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    const Object& object = claims.claims[i].object;
    devices_->GiveUp(pod.uid(), object.uid());
    if (claims.is_special(i)) continue;
    const bool is_written = i < data.written.size() && data.written[i];
    if (is_written || (claims.claims[i].claim().status().has_allocation() &&
                       IsReservedFor(claims.claims[i].claim(), pod.uid()))) {
      RemoveReservation(object, pod.uid(), handle_,
                        [devices = devices_, uid = object.uid()](const std::string& version) {
                          devices->NoteRead(uid, version);
                        });
    }
  }
  if (data.created.has_value()) {
    devices_->GiveUp(pod.uid(), data.created->uid());
    DeleteClaim(*data.created, handle_);
    data.created.reset();
  }
  data.allocations.clear();
  data.written.clear();
}

std::vector<Object> ClaimBinding::ClaimsInCluster(const ClaimsState& data) {
  std::vector<Object> claims;
  for (const PodClaim& claim : data.pod->claims) {
    if (!IsInMemory(claim.object)) claims.push_back(claim.object);
  }
  if (data.created.has_value()) claims.push_back(*data.created);
  return claims;
}

}  // namespace berth
