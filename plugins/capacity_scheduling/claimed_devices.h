// SPDX-License-Identifier: Apache-2.0
// The devices that a pod's ResourceClaims ask for, as amounts of resources.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIMED_DEVICES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"
#include "berth/quota/quota_devices.h"

namespace berth {

namespace api {
class ResourceClaim;
}  // namespace api

// Visits each claim that the pod refers to once, as "namespace/name". Null: it is not there (yet);
// of a template no claim may have been made, then the name is empty.
void ForEachClaim(
    const PodInfo& pod, const ObjectStore& objects,
    absl::FunctionRef<void(const std::string& claim, const api::ResourceClaim* object)> visit);

// Whether the pod refers to the claim.
bool RefersTo(const PodInfo& pod, const api::ResourceClaim& claim, const ObjectStore& objects);

struct ClaimedDevices {
  PodAmounts amounts;
  bool is_complete = true;  // else a claim is not there (yet), and counts nothing
};
// Of the claims that the pod refers to and that count. By lines with attributes only with the
// `devices` that they see. A claim without devices is not complete if these change what it is
// charged. No pod is among the amounts.
using CountsClaim = absl::FunctionRef<bool(const std::string& claim)>;
ClaimedDevices DevicesClaimedBy(const PodInfo& pod, const ObjectStore& objects,
                                const QuotaDevices& devices, CountsClaim counts);
// Of all of them, whichever other pods refer to them.
ClaimedDevices DevicesClaimedBy(const PodInfo& pod, const ObjectStore& objects,
                                const QuotaDevices& devices = {});
// Of one of them.
PodAmounts DevicesOf(const api::ResourceClaim& claim, const ObjectStore& objects,
                     const QuotaDevices& devices);

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
  // Whether a class backs a resource that the pod requests.
  bool BackAnyOf(const PodInfo& pod) const;
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
