// SPDX-License-Identifier: Apache-2.0
// Extended resources that a DeviceClass backs: a pod requests "example.com/gpu: 2" of a container,
// and gets two devices of the class.
#ifndef BERTH_DEVICES_EXTENDED_RESOURCE_CLASSES_H_
#define BERTH_DEVICES_EXTENDED_RESOURCE_CLASSES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"
#include "berth/api/resources.h"
#include "berth/devices/device_counts.h"

namespace berth {

class NodeInfo;

// Before the name of a class, that of the extended resource that it always backs.
inline constexpr absl::string_view kDeviceClassResourcePrefix =
    "deviceclass.resource.kubernetes.io/";

// Whether devices may stand for a resource of that name: schedutil IsDRAExtendedResourceName.
bool IsDeviceResourceName(absl::string_view name);

// For profiles without DRAExtendedResource: "DeviceClass gpu.example.com would stand for it, …" if
// one of the classes backs the resource, else "".
std::string WhatDevicesWouldDo(ResourceId resource,
                               absl::FunctionRef<std::vector<const Object*>()> list_classes);

// Which class backs which resource, for the profiles that get pods devices that way
// (DRAExtendedResource). One for all profiles: Handle::Shared(). As kube-scheduler v1.35
// deviceclass/extendedresourcecache, but a function of the classes there are, not of the order in
// which they came. Threads: what changes it must be alone.
class ExtendedResourceClasses {
 public:
  // From the factory of the plugin that gets the profile's pods devices.
  void Enable(absl::string_view profile) { profiles_.emplace(profile); }
  bool IsEnabledFor(absl::string_view profile) const {
    return !profiles_.empty() && profiles_.contains(profile);  // asked for each pod, mostly in vain
  }

  // How many devices of a class a node has, and how many of them claims have or are about to have:
  // from the same factory. Any thread asks, while nothing changes.
  using CountDevices = std::function<DevicesOfClass(const api::DeviceClass&, const NodeInfo&)>;
  // `refresh` brings what is counted up to date.
  void SetCount(CountDevices count, std::function<void()> refresh) {
    count_ = std::move(count);
    refresh_ = std::move(refresh);
  }
  // For a plugin that counts before the one that gets pods their devices has run in a cycle.
  // Scheduling thread.
  void RefreshCount() const {
    if (refresh_ != nullptr) refresh_();
  }
  DevicesOfClass Count(const api::DeviceClass& device_class, const NodeInfo& node) const {
    return count_ == nullptr ? DevicesOfClass() : count_(device_class, node);
  }

  // As the classes are at `version` of their kind; `list` is called if that is another one than
  // before.
  void Update(uint64_t version, absl::FunctionRef<std::vector<const Object*>()> list);

  // The class that backs the resource, or null. Of several whose extendedResourceName it is, the
  // newest; of those that are as new, the first by name.
  std::shared_ptr<const api::DeviceClass> ClassOf(ResourceId resource) const;

 private:
  absl::flat_hash_set<std::string> profiles_;
  CountDevices count_;
  std::function<void()> refresh_;
  std::optional<uint64_t> version_;
  absl::flat_hash_map<ResourceId, std::shared_ptr<const api::DeviceClass>> classes_;
};

}  // namespace berth

#endif  // BERTH_DEVICES_EXTENDED_RESOURCE_CLASSES_H_
