// SPDX-License-Identifier: Apache-2.0
// Implementation of claim_to_allocate.h.
#include "berth/devices/claim_to_allocate.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_inventory.h"

namespace berth {
namespace {

// For a subrequest, which has no admin access.
bool WantsAdminAccess(const api::DeviceSubRequest&) { return false; }
bool WantsAdminAccess(const api::ExactDeviceRequest& request) { return request.admin_access(); }
absl::string_view KindOf(const api::DeviceSubRequest&) { return "subrequest"; }
absl::string_view KindOf(const api::ExactDeviceRequest&) { return "request"; }
bool SaysAdminAccess(const api::DeviceSubRequest&) { return false; }
bool SaysAdminAccess(const api::ExactDeviceRequest& request) { return request.has_admin_access(); }

class Parser {
 public:
  Parser(ClaimToAllocate::FindClass find_class, DeviceInventory& inventory, const std::string& key)
      : find_class_(find_class), inventory_(inventory), claim_(key) {}

  ClaimedRequest Parse(const api::DeviceRequest& request) const {
    ClaimedRequest parsed{.name = request.name()};
    if (!request.first_available().empty() && !inventory_.features().prioritized_list) {
      parsed.alternatives.emplace_back().problem = absl::InvalidArgumentError(
          absl::StrCat("claim ", claim_, ", request ", request.name(),
                       ": has subrequests, but the DRAPrioritizedList feature is disabled"));
      return parsed;
    }
    if (request.first_available().empty()) {
      parsed.alternatives.push_back(
          Parse(request.exactly(), request.name(), /*reference=*/request.name()));
      return parsed;
    }
    parsed.is_list = true;
    for (const api::DeviceSubRequest& sub : request.first_available()) {
      parsed.alternatives.push_back(
          Parse(sub, sub.name(), absl::StrCat(request.name(), "/", sub.name())));
    }
    return parsed;
  }

 private:
  // In the order in which kube-scheduler v1.35 allocator_stable.go validateDeviceRequest looks.
  template <class Request>
  DeviceRequirement Parse(const Request& request, const std::string& name,
                          const std::string& reference) const {
    DeviceRequirement parsed{.name = name, .reference = reference};
    parsed.admin_access = WantsAdminAccess(request);
    const auto fail = [&](const auto&... what) {
      if (!parsed.problem.ok()) return;
      parsed.problem =
          absl::InvalidArgumentError(absl::StrCat("claim ", claim_, ", request ", name, what...));
    };
    // kube-scheduler v1.35 structured/internal/experimental, which is used where binding conditions
    // are on; its other allocators ignore requests for capacity.
    const DeviceFeatures& features = inventory_.features();
    if (features.binding_conditions && !features.consumable_capacity && request.has_capacity()) {
      parsed.problem = absl::InvalidArgumentError(absl::StrCat(
          "claim ", claim_, ", ", KindOf(request), " ", name,
          ": has capacity requests, but the DRAConsumableCapacity feature is disabled"));
    }
    for (int i = 0; i < request.selectors_size(); ++i) {
      if (!request.selectors(i).has_cel()) {
        fail(", selector #", i, ": CEL expression empty (unsupported selector type?)");
      }
      parsed.selectors.push_back(inventory_.Compile(request.selectors(i).cel().expression()));
    }
    const std::string& class_name = request.device_class_name();
    if (class_name.empty()) {
      fail(": missing device class name (unsupported request type?)");
    } else {
      parsed.device_class = find_class_(class_name);
      if (parsed.device_class == nullptr) {
        fail(": could not retrieve device class ", class_name, ": deviceclass.resource.k8s.io \"",
             class_name, "\" not found");
      }
    }
    if (parsed.device_class != nullptr) {
      for (const api::DeviceSelector& selector : parsed.device_class->spec().selectors()) {
        parsed.class_selectors.push_back(inventory_.Compile(selector.cel().expression()));
      }
    }
    ParseGated(request, parsed);
    if (!inventory_.features().admin_access && SaysAdminAccess(request)) {
      fail(": admin access is requested, but the feature is disabled");
    }
    // An API server sets both where they are left out.
    const std::string& mode = request.allocation_mode();
    if (mode.empty() || mode == "ExactCount") {
      parsed.count = request.count() == 0 ? 1 : request.count();
      if (parsed.count < 0) fail(": count ", parsed.count, " is negative");
    } else if (mode == "All") {
      parsed.wants_all = true;
    } else {
      fail(": unsupported count mode ", mode);
    }
    return parsed;
  }

  // What counts only if its feature is on.
  template <class Request>
  void ParseGated(const Request& request, DeviceRequirement& parsed) const {
    if (inventory_.features().device_taints) {
      for (const api::DeviceToleration& toleration : request.tolerations()) {
        ToleratedTaint& tolerated = parsed.tolerations.emplace_back();
        tolerated.key = toleration.key();
        tolerated.effect = toleration.effect();
        if (toleration.operator_() != "Exists") tolerated.value = toleration.value();
      }
    }
    if (inventory_.features().consumable_capacity) {
      for (const auto& [capacity, amount] : request.capacity().requests()) {
        parsed.capacity.emplace(capacity, Quantity::Parse(amount.string()).value_or(Quantity()));
      }
    }
  }

  const ClaimToAllocate::FindClass find_class_;
  DeviceInventory& inventory_;
  const std::string& claim_;
};

}  // namespace

bool AttributeConstraint::Covers(absl::string_view request, absl::string_view reference) const {
  return requests.empty() || absl::c_any_of(requests, [&](const std::string& name) {
           return name == request || name == reference;
         });
}

ClaimToAllocate ClaimToAllocate::Parse(std::shared_ptr<const api::ResourceClaim> claim,
                                       FindClass find_class, DeviceInventory& inventory) {
  ClaimToAllocate parsed;
  parsed.key = absl::StrCat(claim->metadata().namespace_(), "/", claim->metadata().name());
  const Parser parser(find_class, inventory, parsed.key);
  for (const api::DeviceRequest& request : claim->spec().devices().requests()) {
    parsed.requests.push_back(parser.Parse(request));
  }
  const DeviceFeatures& features = inventory.features();
  const bool knows_distinct = features.consumable_capacity || features.binding_conditions;
  for (const api::DeviceConstraint& constraint : claim->spec().devices().constraints()) {
    const bool is_distinct =
        constraint.has_distinct_attribute() && !constraint.has_match_attribute() && knows_distinct;
    parsed.constraints.push_back(
        {.attribute = is_distinct ? constraint.distinct_attribute() : constraint.match_attribute(),
         .is_distinct = is_distinct,
         .requests = {constraint.requests().begin(), constraint.requests().end()},
         .is_known = constraint.has_match_attribute() || is_distinct});
  }
  parsed.message = std::move(claim);
  return parsed;
}

}  // namespace berth
