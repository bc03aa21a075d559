// SPDX-License-Identifier: Apache-2.0
// Implementation of binding_conditions.h.
#include "plugins/dynamic_resources/binding_conditions.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/time.h"

namespace berth {
namespace {

const api::AllocatedDeviceStatus* FindStatus(const api::ResourceClaim& claim,
                                             const api::DeviceRequestAllocationResult& result) {
  for (const api::AllocatedDeviceStatus& status : claim.status().devices()) {
    if (status.device() == result.device() && status.driver() == result.driver() &&
        status.pool() == result.pool()) {
      return &status;
    }
  }
  return nullptr;
}

const api::Condition* FindTrue(const api::AllocatedDeviceStatus& status, const std::string& type) {
  for (const api::Condition& condition : status.conditions()) {
    if (condition.type() == type) return condition.status() == "True" ? &condition : nullptr;
  }
  return nullptr;
}

}  // namespace

bool HasBindingConditions(const api::AllocationResult& allocation) {
  return absl::c_any_of(allocation.devices().results(),
                        [](const auto& result) { return !result.binding_conditions().empty(); });
}

absl::StatusOr<bool> IsReadyForBinding(const api::ResourceClaim& claim) {
  if (!claim.status().has_allocation()) return false;
  for (const auto& result : claim.status().allocation().devices().results()) {
    if (result.binding_conditions().empty()) continue;
    const api::AllocatedDeviceStatus* const status = FindStatus(claim, result);
    if (status == nullptr) return false;
    for (const std::string& type : result.binding_failure_conditions()) {
      const api::Condition* const failed = FindTrue(*status, type);
      if (failed == nullptr) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "claim ", claim.metadata().name(), " binding failed: reason=", failed->reason(),
          ", message=\"", absl::Utf8SafeCEscape(failed->message()), "\""));
    }
    const bool is_ready = absl::c_all_of(result.binding_conditions(), [&](const std::string& type) {
      return FindTrue(*status, type) != nullptr;
    });
    if (!is_ready) return false;
  }
  return true;
}

std::string AwaitedConditions(const api::ResourceClaim& claim) {
  std::vector<std::string> devices;
  for (const auto& result : claim.status().allocation().devices().results()) {
    const api::AllocatedDeviceStatus* const status = FindStatus(claim, result);
    std::vector<std::string> missing;
    for (const std::string& type : result.binding_conditions()) {
      if (status == nullptr || FindTrue(*status, type) == nullptr) missing.push_back(type);
    }
    if (missing.empty()) continue;
    devices.push_back(absl::StrCat(absl::StrJoin(missing, " and "), " of ", result.driver(), "/",
                                   result.pool(), "/", result.device(),
                                   missing.size() == 1 ? " is true" : " are true"));
  }
  return absl::StrJoin(devices, ", ");
}

bool IsBindingOverdue(const api::ResourceClaim& claim, absl::Duration timeout, absl::Time now) {
  const api::AllocationResult& allocation = claim.status().allocation();
  return allocation.has_allocation_timestamp() && HasBindingConditions(allocation) &&
         ToTime(allocation.allocation_timestamp()) + timeout < now;
}

std::string WhyLost(const api::ResourceClaim& claim, absl::Duration timeout, absl::Time now) {
  if (!claim.status().has_allocation()) return "";
  const absl::StatusOr<bool> ready = IsReadyForBinding(claim);
  if (!ready.ok()) return std::string(ready.status().message());
  if (*ready || !IsBindingOverdue(claim, timeout, now)) return "";
  return absl::StrCat("claim ", claim.metadata().name(), " binding timeout");
}

}  // namespace berth
