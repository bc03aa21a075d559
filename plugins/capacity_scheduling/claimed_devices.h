// SPDX-License-Identifier: Apache-2.0
// The devices that a pod's ResourceClaims ask for, as amounts of resources.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_

#include <cstdint>
#include <memory>

#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"
#include "berth/quota/quota_devices.h"

namespace berth {

struct ClaimedDevices {
  PodAmounts amounts;
  bool is_complete = true;  // else a claim is not there (yet), and counts nothing
};
// Each claim that the pod refers to, once, whichever other pods refer to it. By lines with
// attributes only with the `devices` that they see: then a claim without devices is not complete.
ClaimedDevices DevicesClaimedBy(const PodInfo& pod, const ObjectStore& objects,
                                const QuotaDevices& devices = {});

// The devices that stand for extended resources (DRAExtendedResource), by the classes there are.
// Where a node has the resource by itself a pod gets none; it is charged all the same, as it is not
// known before where it runs. Scheduling thread.
class DevicesBehindResources {
 public:
  // `handle` outlives this.
  explicit DevicesBehindResources(Handle& handle)
      : handle_(handle), classes_(handle.Shared<ExtendedResourceClasses>()) {}

  // Another number when classes have changed; always 0 in a profile that gets pods no devices that
  // way.
  uint64_t version() const {
    return is_enabled() ? handle_.objects().version(Kind::kDeviceClass) + 1 : 0;
  }
  // Whether a class backs the resource.
  bool Back(ResourceId resource) const;
  // Adds the devices behind the resources in `amounts`, which has nothing of claims yet.
  void Add(const QuotaDevices& devices, PodAmounts& amounts) const;

 private:
  const ExtendedResourceClasses& Classes() const;
  bool is_enabled() const { return classes_->IsEnabledFor(handle_.profile_name()); }

  Handle& handle_;
  const std::shared_ptr<ExtendedResourceClasses> classes_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_
