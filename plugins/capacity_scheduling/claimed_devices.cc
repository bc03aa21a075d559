// SPDX-License-Identifier: Apache-2.0
// Implementation of claimed_devices.h.
#include "plugins/capacity_scheduling/claimed_devices.h"

#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
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

void ForEachClaim(
    const PodInfo& pod, const ObjectStore& objects,
    absl::FunctionRef<void(const std::string& claim, const api::ResourceClaim* object)> visit) {
  std::set<std::string> visited;
  for (const api::PodResourceClaim& reference : pod.spec().resource_claims()) {
    const std::optional<std::string> name = reference.has_resource_claim_name()
                                                ? reference.resource_claim_name()
                                                : MadeFor(pod, reference.name());
    if (name == "") continue;  // none is needed
    if (!name.has_value()) {
      visit("", nullptr);
    } else if (visited.insert(*name).second) {
      const absl::string_view in = pod.namespace_name().view();
      visit(absl::StrCat(in, "/", *name), objects.Find<api::ResourceClaim>(in, *name));
    }
  }
}

bool RefersTo(const PodInfo& pod, const api::ResourceClaim& claim, const ObjectStore& objects) {
  const std::string name =
      absl::StrCat(claim.metadata().namespace_(), "/", claim.metadata().name());
  bool refers = false;
  ForEachClaim(pod, objects,
               [&](const std::string& one, const api::ResourceClaim*) { refers |= one == name; });
  return refers;
}

PodAmounts DevicesOf(const api::ResourceClaim& claim, const ObjectStore& objects,
                     const QuotaDevices& devices) {
  PodAmounts amounts;
  amounts.pods = 0;
  devices.AddClaim(
      claim, [&](absl::string_view name) { return objects.Find<api::DeviceClass>("", name); },
      amounts);
  return amounts;
}

ClaimedDevices DevicesClaimedBy(const PodInfo& pod, const ObjectStore& objects,
                                const QuotaDevices& devices, CountsClaim counts) {
  ClaimedDevices claimed;
  claimed.amounts.pods = 0;
  ForEachClaim(pod, objects, [&](const std::string& claim, const api::ResourceClaim* object) {
    if (object == nullptr) {
      claimed.is_complete = false;
    } else if (counts(claim)) {
      claimed.amounts.Add(DevicesOf(*object, objects, devices));
      claimed.is_complete &=
          object->status().has_allocation() || !devices.ChangesWithDevices(*object);
    }
  });
  return claimed;
}

ClaimedDevices DevicesClaimedBy(const PodInfo& pod, const ObjectStore& objects,
                                const QuotaDevices& devices) {
  return DevicesClaimedBy(pod, objects, devices, [](const std::string&) { return true; });
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

bool DevicesBehindResources::BackAnyOf(const PodInfo& pod) const {
  bool any = false;
  if (!is_enabled()) return any;
  const ExtendedResourceClasses& classes = Classes();
  pod.requests().ForEach(
      [&](ResourceId resource, int64_t) { any = any || classes.ClassOf(resource) != nullptr; });
  return any;
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
