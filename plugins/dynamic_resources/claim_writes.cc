// SPDX-License-Identifier: Apache-2.0
// Implementation of claim_writes.h.
#include "plugins/dynamic_resources/claim_writes.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/object_update.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/time.h"
#include "berth/cluster.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {
namespace {

using Claim = api::ResourceClaim;
using Part = ObjectUpdate::Part;

constexpr char kFinalizer[] = "resource.kubernetes.io/delete-protection";

template <class Change>
ObjectEdit EditOf(const Object& claim, Part part, Change change) {
  return {.object = claim.identity(),
          .part = part,
          .edit = [change = std::move(change)](google::protobuf::Message& latest) -> absl::Status {
            return change(static_cast<Claim&>(latest));
          }};
}

absl::Status Prefixed(absl::string_view prefix, const Object& claim, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(prefix, " claim ", claim.key(), ": ", status.message()));
}

// Compares parameters, which a cluster may give back with other spaces and in another order.
bool AreSameJson(const std::string& a, const std::string& b) {
  if (a == b) return true;
  google::protobuf::Value left, right;
  return google::protobuf::util::JsonStringToMessage(a, &left).ok() &&
         google::protobuf::util::JsonStringToMessage(b, &right).ok() &&
         google::protobuf::util::MessageDifferencer::Equals(left, right);
}

bool AreSameConfigurations(const api::DeviceAllocationConfiguration& a,
                           const api::DeviceAllocationConfiguration& b) {
  api::DeviceAllocationConfiguration left = a, right = b;
  const auto take_parameters = [](api::DeviceAllocationConfiguration& configuration) {
    if (!configuration.device_configuration().opaque().has_parameters()) return std::string();
    auto& opaque = *configuration.mutable_device_configuration()->mutable_opaque();
    std::string raw = opaque.parameters().raw();
    opaque.clear_parameters();
    return raw;
  };
  const std::string of_left = take_parameters(left), of_right = take_parameters(right);
  return left.SerializeAsString() == right.SerializeAsString() && AreSameJson(of_left, of_right);
}

// When the allocation was made is none of it.
bool AreSame(const api::AllocationResult& a, const api::AllocationResult& b) {
  const api::DeviceAllocationResult& left = a.devices();
  const api::DeviceAllocationResult& right = b.devices();
  return a.node_selector().SerializeAsString() == b.node_selector().SerializeAsString() &&
         absl::c_equal(left.results(), right.results(),
                       [](const auto& x, const auto& y) {
                         return x.SerializeAsString() == y.SerializeAsString();
                       }) &&
         absl::c_equal(left.config(), right.config(), AreSameConfigurations);
}

// It may have changed since it was reserved.
absl::Status CheckStill(const Claim& latest, const std::string& key,
                        const api::AllocationResult* allocation) {
  if (latest.metadata().has_deletion_timestamp()) {
    return absl::FailedPreconditionError(
        absl::StrCat("claim ", key, " got deleted in the meantime"));
  }
  if (allocation == nullptr || !latest.status().has_allocation()) return absl::OkStatus();
  // Ours: of a try whose answer was lost, or of another pod that shares what was in flight.
  if (AreSame(latest.status().allocation(), *allocation)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("claim ", key, " got allocated elsewhere in the meantime"));
}

// Whether what was sent may arrive, or have arrived.
bool MayBeWritten(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsUnknown(status) || absl::IsCancelled(status) ||
         absl::IsUnavailable(status) || absl::IsInternal(status);
}

}  // namespace

absl::Status WriteReservation(const Object& claim, const PodInfo& pod,
                              const std::shared_ptr<const api::AllocationResult>& allocation,
                              std::optional<absl::Time> time, Handle& handle,
                              std::optional<ClaimWrite>& write) {
  const std::string key(claim.key());
  if (allocation != nullptr) {
    const absl::Status added = handle.Edit(EditOf(claim, Part::kAllButStatus, [&](Claim& latest) {
      absl::Status still = CheckStill(latest, key, allocation.get());
      if (!still.ok()) return still;
      auto& finalizers = *latest.mutable_metadata()->mutable_finalizers();
      if (!absl::c_linear_search(finalizers, kFinalizer)) *finalizers.Add() = kFinalizer;
      return absl::OkStatus();
    }));
    if (!added.ok()) return Prefixed("add finalizer to", claim, added);
  }
  const absl::Status reserved = handle.Edit(EditOf(claim, Part::kStatus, [&](Claim& latest) {
    write.reset();
    absl::Status still = CheckStill(latest, key, allocation.get());
    if (!still.ok()) return still;
    api::ResourceClaimStatus& status = *latest.mutable_status();
    if (allocation == nullptr && !status.has_allocation()) {
      return absl::FailedPreconditionError(
          absl::StrCat("claim ", key, " got deallocated in the meantime"));
    }
    write = ClaimWrite{.version = latest.metadata().resource_version()};
    if (allocation != nullptr && !status.has_allocation()) {
      *status.mutable_allocation() = *allocation;
      write->is_change = true;
    }
    if (time.has_value() && !status.allocation().has_allocation_timestamp()) {
      // A cluster keeps whole seconds.
      SetTime(absl::FromUnixSeconds(absl::ToUnixSeconds(*time)),
              status.mutable_allocation()->mutable_allocation_timestamp());
      write->is_change = true;
    }
    if (IsReservedFor(latest, pod.uid())) return absl::OkStatus();
    write->is_change = true;
    api::ResourceClaimConsumerReference& user = *status.add_reserved_for();
    user.set_resource("pods");
    user.set_name(std::string(pod.name()));
    user.set_uid(pod.uid());
    return absl::OkStatus();
  }));
  if (write.has_value() && !reserved.ok()) {
    write->is_lost = true;
    if (!MayBeWritten(reserved)) write.reset();
  }
  return Prefixed(
      allocation != nullptr ? "add allocation and reservation to" : "add reservation to", claim,
      reserved);
}

void RemoveReservation(const Object& claim, absl::string_view pod_uid, Handle& handle,
                       std::function<void(const std::string& version)> on_read) {
  handle.EditSoon(EditOf(claim, Part::kStatus,
                         [uid = std::string(pod_uid), on_read = std::move(on_read)](Claim& latest) {
                           on_read(latest.metadata().resource_version());
                           auto& users = *latest.mutable_status()->mutable_reserved_for();
                           users.erase(
                               std::remove_if(users.begin(), users.end(),
                                              [&](const auto& user) { return user.uid() == uid; }),
                               users.end());
                           return absl::OkStatus();
                         }));
}

void Deallocate(const Object& claim, absl::string_view pod_uid, Handle& handle) {
  handle.EditSoon(EditOf(claim, Part::kStatus, [uid = std::string(pod_uid)](Claim& latest) {
    if (!MayBeDeallocated(latest, uid)) {
      return absl::FailedPreconditionError("the claim got reserved in the meantime");
    }
    latest.mutable_status()->clear_reserved_for();
    latest.mutable_status()->clear_allocation();
    latest.mutable_status()->clear_devices();
    return absl::OkStatus();
  }));
}

absl::StatusOr<Object> CreateSpecialClaim(const Claim& claim, Handle& handle) {
  auto made = std::make_shared<Claim>(claim);
  made->mutable_metadata()->clear_name();
  made->mutable_metadata()->clear_uid();
  absl::StatusOr<Object> created = handle.Create(Object::Of(std::move(made)));
  if (created.ok()) return created;
  return absl::Status(
      created.status().code(),
      absl::StrCat("create claim for extended resources ", claim.metadata().namespace_(), "/",
                   claim.metadata().generate_name(), ": ", created.status().message()));
}

absl::Status WriteSpecialClaim(const PodInfo& pod, const Object& claim,
                               const api::PodExtendedResourceClaimStatus& mappings,
                               Handle& handle) {
  auto status = std::make_shared<api::PodExtendedResourceClaimStatus>(mappings);
  status->set_resource_claim_name(std::string(claim.name()));
  absl::Status written =
      handle.PatchPodStatus({.pod = pod.identity(), .extended_resource_claim = std::move(status)});
  if (written.ok()) return written;
  return absl::Status(
      written.code(),
      absl::StrCat("update pod ", pod.key(), " ExtendedResourceClaimStatus: ", written.message()));
}

void DeleteClaim(const Object& claim, Handle& handle) {
  handle.DeleteSoon(EditOf(claim, Part::kAllButStatus, [](Claim& latest) {
    auto& finalizers = *latest.mutable_metadata()->mutable_finalizers();
    finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), kFinalizer),
                     finalizers.end());
    return absl::OkStatus();
  }));
}

bool MayBeDeallocated(const Claim& claim, absl::string_view pod_uid) {
  const auto& users = claim.status().reserved_for();
  return users.empty() || (users.size() == 1 && users[0].uid() == pod_uid);
}

}  // namespace berth
