// SPDX-License-Identifier: Apache-2.0
// Which requests count. As kube-scheduler v1.35 noderesources fit.go, fitsRequest.
#include "plugins/node_resources/requests.h"

#include <algorithm>

#include "absl/strings/string_view.h"

namespace berth {
namespace {

bool IsIgnored(absl::string_view name, const absl::flat_hash_set<std::string>& ignored_resources,
               const absl::flat_hash_set<std::string>& ignored_groups) {
  if (ignored_resources.empty() && ignored_groups.empty()) return false;
  return IsExtendedResourceName(name) && (ignored_resources.contains(name) ||
                                          ignored_groups.contains(name.substr(0, name.find('/'))));
}

}  // namespace

Requests RequestsToFit(const PodInfo& pod,
                       const absl::flat_hash_set<std::string>& ignored_resources,
                       const absl::flat_hash_set<std::string>& ignored_groups) {
  Requests requests;
  pod.requests().ForEach([&](ResourceId id, int64_t amount) {
    if (amount <= 0 && id <= kEphemeralStorage) return;
    if (id > kEphemeralStorage) {
      const absl::string_view name = ResourceName(id);
      if (!IsScalarResourceName(name) || IsIgnored(name, ignored_resources, ignored_groups)) return;
    }
    requests.emplace_back(id, amount);
  });
  const auto by_name = std::find_if(requests.begin(), requests.end(),
                                    [](const auto& r) { return r.first > kEphemeralStorage; });
  std::sort(by_name, requests.end(), [](const auto& a, const auto& b) {
    return ResourceName(a.first) < ResourceName(b.first);
  });
  return requests;
}

std::vector<bool> BackedByDevices(const Requests& requests,
                                  const ExtendedResourceClasses* classes) {
  std::vector<bool> backed;
  if (classes == nullptr) return backed;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (classes->ClassOf(requests[i].first) == nullptr) continue;
    backed.resize(requests.size());
    backed[i] = true;
  }
  return backed;
}

ResourceUse UseOf(ResourceId resource, const ResourceVector& requested, const NodeInfo& node,
                  const ExtendedResourceClasses* classes) {
  const ResourceUse by_itself{requested.Get(resource), node.allocatable().Get(resource)};
  if (by_itself.capacity != 0 || classes == nullptr) return by_itself;
  const auto device_class = classes->ClassOf(resource);
  if (device_class == nullptr) return by_itself;
  const DevicesOfClass devices = classes->Count(*device_class, node);
  return devices.all > 0 ? ResourceUse{devices.taken, devices.all} : by_itself;
}

const ExtendedResourceClasses* UpToDate(ExtendedResourceClasses* classes, const Handle& handle) {
  if (classes == nullptr || !classes->IsEnabledFor(handle.profile_name())) return nullptr;
  const ObjectStore& objects = handle.objects();
  classes->Update(objects.version(Kind::kDeviceClass),
                  [&] { return objects.List(Kind::kDeviceClass); });
  return classes;
}

void SignResources(const ResourceVector& amounts, PodSignature& signature) {
  int64_t count = 0;
  amounts.ForEach([&](ResourceId, int64_t) { ++count; });
  signature.Add(count);
  amounts.ForEach([&](ResourceId id, int64_t amount) {
    signature.Add(int64_t{id});
    signature.Add(amount);
  });
}

}  // namespace berth
