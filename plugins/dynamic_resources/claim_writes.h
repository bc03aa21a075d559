// SPDX-License-Identifier: Apache-2.0
// What is written to claims: allocations, reservations, and their end.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_WRITES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_WRITES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"

namespace berth {

namespace api {
class AllocationResult;
class PodExtendedResourceClaimStatus;
class ResourceClaim;
}  // namespace api

// What was written to a claim.
struct ClaimWrite {
  std::string version;     // of the claim, as it was found
  bool is_change = false;  // or it was so already, and nothing had to be written
  bool is_lost = false;    // no answer came: it may have been written, or not
};

// Reserves the claim for the pod, and gives it the allocation if it is to have one (not null): with
// the finalizer that keeps an allocated claim, and the time, if any, as that of the allocation. As
// kube-scheduler v1.35 dynamicresources bindClaim, with its texts. `write` is absent if the claim's
// status certainly is not written. Blocks; any thread.
absl::Status WriteReservation(const Object& claim, const PodInfo& pod,
                              const std::shared_ptr<const api::AllocationResult>& allocation,
                              std::optional<absl::Time> time, Handle& handle,
                              std::optional<ClaimWrite>& write);

// The pod has no reservation any more. `on_read` is told the version of the claim that this was
// decided on. Does not wait.
void RemoveReservation(const Object& claim, absl::string_view pod_uid, Handle& handle,
                       std::function<void(const std::string& version)> on_read);

// The claim has no devices any more, if only the pod has it reserved. Does not wait.
void Deallocate(const Object& claim, absl::string_view pod_uid, Handle& handle);

// Makes the special claim with the requests that it has on the node, and returns it as the cluster
// has it. Blocks; any thread.
absl::StatusOr<Object> CreateSpecialClaim(const api::ResourceClaim& claim, Handle& handle);

// Writes to the pod which claim is its special one, and which container has what of it. Blocks; any
// thread.
absl::Status WriteSpecialClaim(const PodInfo& pod, const Object& claim,
                               const api::PodExtendedResourceClaimStatus& mappings, Handle& handle);

// Deletes it, with its finalizer. Does not wait.
void DeleteClaim(const Object& claim, Handle& handle);

// Whether no pod has it reserved, or only this one.
bool MayBeDeallocated(const api::ResourceClaim& claim, absl::string_view pod_uid);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_WRITES_H_
