// SPDX-License-Identifier: Apache-2.0
// Implementation of fields_of_gates.h.
#include "plugins/dynamic_resources/fields_of_gates.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

UnreadField Off(absl::string_view gate, absl::string_view what) {
  return {gate, absl::StrCat(what, ": feature gate ", gate,
                             " of DynamicResources is off (featureGates in its arguments)")};
}

template <class Test>
bool AnyDevice(const api::ResourceSliceSpec& spec, const Test& test) {
  return absl::c_any_of(spec.devices(), test);
}

void AddOfSlice(const DeviceFeatures& features, const api::ResourceSliceSpec& spec,
                std::vector<UnreadField>& fields) {
  const auto is_tainted = [](const api::SliceDevice& device) {
    return absl::c_any_of(device.taints(), [](const api::DeviceTaint& taint) {
      return taint.effect() == "NoSchedule" || taint.effect() == "NoExecute";
    });
  };
  if (!features.device_taints && AnyDevice(spec, is_tainted)) {
    fields.push_back(Off("DRADeviceTaints", "taints of its devices keep no claim off"));
  }
  const auto is_shared = [](const api::SliceDevice& device) {
    return device.allow_multiple_allocations();
  };
  if (!features.consumable_capacity && AnyDevice(spec, is_shared)) {
    fields.push_back(Off("DRAConsumableCapacity",
                         "each of its devices with allowMultipleAllocations goes to one claim"));
  }
  const auto is_partition = [](const api::SliceDevice& device) {
    return device.consumes_counters_size() > 0;
  };
  if (!features.partitionable_devices &&
      (spec.per_device_node_selection() || AnyDevice(spec, is_partition))) {
    fields.push_back(Off("DRAPartitionableDevices",
                         spec.per_device_node_selection()
                             ? "its devices, which say for which nodes they are, go to no claim"
                             : "its partitions go to no claim"));
  }
  const auto has_conditions = [](const api::SliceDevice& device) {
    return device.binding_conditions_size() > 0;
  };
  if (!features.binding_conditions && AnyDevice(spec, has_conditions)) {
    fields.push_back(
        Off("DRADeviceBindingConditions", "its devices with bindingConditions go to no claim"));
  }
}

void AddOfClaim(const DeviceFeatures& features, const api::ResourceClaimSpec& spec,
                std::vector<UnreadField>& fields) {
  const auto& requests = spec.devices().requests();
  const auto wants_admin_access = [](const api::DeviceRequest& request) {
    return request.exactly().has_admin_access();
  };
  if (!features.admin_access && absl::c_any_of(requests, wants_admin_access)) {
    fields.push_back(Off("DRAAdminAccess", "its adminAccess is an error for its pods"));
  }
  const auto is_list = [](const api::DeviceRequest& request) {
    return !request.first_available().empty();
  };
  if (!features.prioritized_list && absl::c_any_of(requests, is_list)) {
    fields.push_back(Off("DRAPrioritizedList", "its firstAvailable keeps its pods from all nodes"));
  }
  if (features.consumable_capacity) return;
  const bool is_distinct = absl::c_any_of(
      spec.devices().constraints(),
      [](const api::DeviceConstraint& constraint) { return constraint.has_distinct_attribute(); });
  if (is_distinct && !features.binding_conditions) {
    fields.push_back(
        Off("DRAConsumableCapacity", "its distinctAttribute is an error for its pods"));
    return;
  }
  const bool has_capacity = absl::c_any_of(requests, [](const api::DeviceRequest& request) {
    return request.exactly().has_capacity() ||
           absl::c_any_of(request.first_available(),
                          [](const auto& alternative) { return alternative.has_capacity(); });
  });
  // With DRADeviceBindingConditions alone it is an error, of which the pod is told.
  if (!has_capacity || features.binding_conditions) return;
  fields.push_back(Off("DRAConsumableCapacity",
                       "its requests for capacity are ignored, devices are given whole"));
}

}  // namespace

std::vector<UnreadField> FieldsOfGatesThatAreOff(const DeviceFeatures& features,
                                                 const Object& object) {
  std::vector<UnreadField> fields;
  switch (object.kind()) {
    case Kind::kResourceSlice:
      AddOfSlice(features, object.As<api::ResourceSlice>().spec(), fields);
      break;
    case Kind::kResourceClaim:
      AddOfClaim(features, object.As<api::ResourceClaim>().spec(), fields);
      break;
    case Kind::kResourceClaimTemplate:
      AddOfClaim(features, object.As<api::ResourceClaimTemplate>().spec().spec(), fields);
      break;
    case Kind::kDeviceTaintRule:
      if (features.device_taint_rules) break;
      fields.push_back(Off("DRADeviceTaintRules", "is ignored"));
      break;
    case Kind::kDeviceClass: {
      const auto& spec = object.As<api::DeviceClass>().spec();
      if (features.extended_resources || spec.extended_resource_name().empty()) break;
      fields.push_back(Off("DRAExtendedResource",
                           absl::StrCat("pods that request ", spec.extended_resource_name(),
                                        " get none of its devices")));
      break;
    }
    default:
      break;
  }
  return fields;
}

bool FieldsOfGatesInSlices::Any(const DeviceFeatures& features, const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kResourceSlice);
  if (version_ == version) return any_;
  version_ = version;
  any_ = absl::c_any_of(objects.List(Kind::kResourceSlice), [&](const Object* slice) {
    return !FieldsOfGatesThatAreOff(features, *slice).empty();
  });
  return any_;
}

}  // namespace berth
