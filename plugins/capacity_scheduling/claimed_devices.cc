// SPDX-License-Identifier: Apache-2.0
// Implementation of claimed_devices.h.
#include "plugins/capacity_scheduling/claimed_devices.h"

#include <optional>
#include <set>
#include <string>

#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

// The claim that was made for a reference to a template; empty if none is needed, absent if there
// is none yet.
std::optional<std::string> MadeFor(const PodInfo& pod, const std::string& reference) {
  std::optional<std::string> made;
  pod.packed()->ReadOwn([&](const api::Pod& own) {
    for (const api::PodResourceClaimStatus& status : own.status().resource_claim_statuses()) {
      if (status.name() == reference) made = status.resource_claim_name();
    }
  });
  return made;
}

}  // namespace

ClaimedDevices DevicesClaimedBy(const PodInfo& pod, const ObjectStore& objects,
                                const QuotaDevices& devices) {
  const auto find_class = [&](absl::string_view name) {
    return objects.Find<api::DeviceClass>("", name);
  };
  ClaimedDevices claimed;
  std::set<std::string> counted;
  for (const api::PodResourceClaim& reference : pod.spec().resource_claims()) {
    const std::optional<std::string> name = reference.has_resource_claim_name()
                                                ? reference.resource_claim_name()
                                                : MadeFor(pod, reference.name());
    if (name == "" || (name.has_value() && !counted.insert(*name).second)) continue;
    const auto* const claim =
        name.has_value() ? objects.Find<api::ResourceClaim>(pod.namespace_name().view(), *name)
                         : nullptr;
    if (claim == nullptr) {
      claimed.is_complete = false;
      continue;
    }
    devices.AddClaim(*claim, find_class, claimed.amounts);
    if (devices.has_attribute_lines() && !claim->status().has_allocation()) {
      claimed.is_complete = false;
    }
  }
  return claimed;
}

const ExtendedResourceClasses& DevicesBehindResources::Classes() const {
  const ObjectStore& objects = handle_.objects();
  classes_->Update(objects.version(Kind::kDeviceClass),
                   [&] { return objects.List(Kind::kDeviceClass); });
  return *classes_;
}

bool DevicesBehindResources::Back(ResourceId resource) const {
  return is_enabled() && Classes().ClassOf(resource) != nullptr;
}

void DevicesBehindResources::Add(const QuotaDevices& devices, PodAmounts& amounts) const {
  if (!is_enabled()) return;
  const ExtendedResourceClasses& classes = Classes();
  const ResourceVector resources = amounts.resources;
  resources.ForEach([&](ResourceId resource, int64_t count) {
    const auto device_class = classes.ClassOf(resource);
    if (device_class != nullptr) devices.AddBehind(resource, *device_class, count, amounts);
  });
}

}  // namespace berth
