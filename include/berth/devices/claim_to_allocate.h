// SPDX-License-Identifier: Apache-2.0
// A ResourceClaim that has no devices yet, parsed: what it asks for.
#ifndef BERTH_DEVICES_CLAIM_TO_ALLOCATE_H_
#define BERTH_DEVICES_CLAIM_TO_ALLOCATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/devices/device_features.h"

namespace berth {

class CompiledSelector;
class DeviceInventory;

// A taint of a device that a request tolerates. Empty: any key, any effect.
struct ToleratedTaint {
  std::string key, effect;
  std::optional<std::string> value;  // absent: any value
};

// The devices of a request, or of one alternative of a prioritised list.
struct DeviceRequirement {
  std::string name;       // of the request or subrequest
  std::string reference;  // "request" or "request/subrequest"
  std::shared_ptr<const api::DeviceClass> device_class;
  std::vector<std::shared_ptr<const CompiledSelector>> class_selectors, selectors;
  bool wants_all = false;  // that match, else `count`
  int64_t count = 0;
  bool admin_access = false;
  std::vector<ToleratedTaint> tolerations;  // with DRADeviceTaints
  ConsumedCapacity capacity;                // that it requests, with DRAConsumableCapacity
  // Why it cannot be satisfied on any node. The allocation says so when it is its turn.
  absl::Status problem;
};

struct ClaimedRequest {
  std::string name;
  bool is_list = false;                         // firstAvailable
  std::vector<DeviceRequirement> alternatives;  // one, unless it is a list
};

// All devices of these requests have one value of the attribute, or each another one.
struct AttributeConstraint {
  std::string attribute;              // "domain/name"
  bool is_distinct = false;           // with DRAConsumableCapacity
  std::vector<std::string> requests;  // by name or reference; empty: all of the claim
  bool is_known = true;               // else of a kind that is not supported

  bool Covers(absl::string_view request, absl::string_view reference) const;
};

struct ClaimToAllocate {
  // Looks up a class by its name; null if there is none.
  using FindClass =
      absl::FunctionRef<std::shared_ptr<const api::DeviceClass>(absl::string_view name)>;
  // Selectors are compiled by `inventory`.
  static ClaimToAllocate Parse(std::shared_ptr<const api::ResourceClaim> claim,
                               FindClass find_class, DeviceInventory& inventory);

  std::shared_ptr<const api::ResourceClaim> message;
  std::string key;  // "namespace/name"
  std::vector<ClaimedRequest> requests;
  std::vector<AttributeConstraint> constraints;
};

}  // namespace berth

#endif  // BERTH_DEVICES_CLAIM_TO_ALLOCATE_H_
