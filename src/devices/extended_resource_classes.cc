// SPDX-License-Identifier: Apache-2.0
// Implementation of extended_resource_classes.h.
#include "berth/devices/extended_resource_classes.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/time.h"

namespace berth {
namespace {

bool IsPreferred(const api::DeviceClass& one, const api::DeviceClass& other) {
  const absl::Time created = ToTime(one.metadata().creation_timestamp());
  const absl::Time other_created = ToTime(other.metadata().creation_timestamp());
  if (created != other_created) return created > other_created;
  return one.metadata().name() < other.metadata().name();
}

}  // namespace

bool IsDeviceResourceName(absl::string_view name) {
  return IsExtendedResourceName(name) || absl::StartsWith(name, kDeviceClassResourcePrefix);
}

std::string WhatDevicesWouldDo(ResourceId resource,
                               absl::FunctionRef<std::vector<const Object*>()> list_classes) {
  ExtendedResourceClasses classes;
  classes.Update(0, list_classes);
  const auto device_class = classes.ClassOf(resource);
  if (device_class == nullptr) return "";
  return absl::StrCat("DeviceClass ", device_class->metadata().name(),
                      " would stand for it, but feature gate DRAExtendedResource of "
                      "DynamicResources is off");
}

void ExtendedResourceClasses::Update(uint64_t version,
                                     absl::FunctionRef<std::vector<const Object*>()> list) {
  if (version_ == version) return;
  version_ = version;
  classes_.clear();
  for (const Object* const object : list()) {
    const auto device_class = object->Share<api::DeviceClass>();
    classes_[ResourceIdOf(absl::StrCat(kDeviceClassResourcePrefix, object->name()))] = device_class;
    const std::string& resource = device_class->spec().extended_resource_name();
    // An API server lets no other name through: "hugepages-2Mi" stays what it is.
    if (!IsExtendedResourceName(resource)) continue;
    std::shared_ptr<const api::DeviceClass>& backing = classes_[ResourceIdOf(resource)];
    if (backing == nullptr || IsPreferred(*device_class, *backing)) backing = device_class;
  }
}

std::shared_ptr<const api::DeviceClass> ExtendedResourceClasses::ClassOf(
    ResourceId resource) const {
  const auto found = classes_.find(resource);
  return found == classes_.end() ? nullptr : found->second;
}

}  // namespace berth
