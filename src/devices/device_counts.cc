// SPDX-License-Identifier: Apache-2.0
// Implementation of device_counts.h.
#include "berth/devices/device_counts.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_allocator.h"
#include "berth/devices/device_inventory.h"
#include "devices/compiled_selector.h"
#include "devices/offered_slice.h"

namespace berth {
namespace {

// api/resource/v1 AllocationMode: an API server sets it, and the count, where they are left out.
template <class Request>
int64_t CountOfRequest(const Request& request) {
  if (request.allocation_mode() == "All") return kMaxDevicesOfClaim;
  return request.count() == 0 ? 1 : request.count();
}

}  // namespace

int64_t CountOf(const api::ExactDeviceRequest& request) { return CountOfRequest(request); }
int64_t CountOf(const api::DeviceSubRequest& request) { return CountOfRequest(request); }

std::map<std::string, int64_t> CountRequestedDevices(const api::ResourceClaimSpec& claim) {
  std::map<std::string, int64_t> counts;
  for (const api::DeviceRequest& request : claim.devices().requests()) {
    if (request.exactly().admin_access()) continue;
    if (request.first_available().empty()) {
      counts[request.exactly().device_class_name()] += CountOf(request.exactly());
      continue;
    }
    std::map<std::string, int64_t> most;
    for (const api::DeviceSubRequest& sub : request.first_available()) {
      int64_t& count = most[sub.device_class_name()];
      count = std::max(count, CountOf(sub));
    }
    for (const auto& [device_class, count] : most) counts[device_class] += count;
  }
  return counts;
}

std::map<std::string, int64_t> CountAllocatedDevices(
    const api::ResourceClaim& claim, absl::FunctionRef<bool(const DeviceId&)> counts) {
  std::map<absl::string_view, absl::string_view> class_of;  // by request, or subrequest
  std::vector<std::string> names;
  for (const api::DeviceRequest& request : claim.spec().devices().requests()) {
    class_of[request.name()] = request.exactly().device_class_name();
    for (const api::DeviceSubRequest& sub : request.first_available()) {
      names.push_back(absl::StrCat(request.name(), "/", sub.name()));
    }
  }
  size_t next = 0;
  for (const api::DeviceRequest& request : claim.spec().devices().requests()) {
    for (const api::DeviceSubRequest& sub : request.first_available()) {
      class_of[names[next++]] = sub.device_class_name();
    }
  }
  std::map<std::string, int64_t> by_class;
  for (const auto& result : claim.status().allocation().devices().results()) {
    if (result.admin_access()) continue;
    const auto found = class_of.find(result.request());
    if (found == class_of.end()) continue;
    if (counts(DeviceId::Of(result.driver(), result.pool(), result.device()))) {
      ++by_class[std::string(found->second)];
    }
  }
  return by_class;
}

DevicesOfClass CountDevicesOfClass(const api::DeviceClass& device_class, DeviceInventory& inventory,
                                   Symbol node_name, const LabelSet& node_labels,
                                   absl::FunctionRef<bool(const DeviceId&)> is_taken) {
  DevicesOfClass counts;
  const absl::StatusOr<std::vector<NodePool>> pools = inventory.PoolsOf(node_name, node_labels);
  if (!pools.ok()) return counts;
  std::vector<std::shared_ptr<const CompiledSelector>> selectors;
  for (const api::DeviceSelector& selector : device_class.spec().selectors()) {
    if (!selector.has_cel()) continue;
    selectors.push_back(inventory.Compile(selector.cel().expression()));
    if (!selectors.back()->selector().ok()) return {};
  }
  for (const NodePool& pool : *pools) {
    for (const auto& slice : pool.slices) {
      for (const OfferedDevice& device : slice->devices()) {
        if (!slice->HasFor(device, node_name, node_labels)) continue;
        bool matches = true;
        for (size_t i = 0; i < selectors.size() && matches; ++i) {
          const absl::StatusOr<bool> verdict = inventory.Matches(*selectors[i], device);
          if (!verdict.ok()) return {};
          matches = *verdict;
        }
        if (!matches) continue;
        ++counts.all;
        counts.any_is_shared |= device.allows_multiple;
        if (is_taken(device.id)) ++counts.taken;
      }
    }
  }
  return counts;
}

bool CountMatchingDevices(absl::Span<const std::vector<std::string>> lists,
                          DeviceInventory& inventory, Symbol node_name, const LabelSet& node_labels,
                          absl::FunctionRef<bool(const DeviceId&)> is_free,
                          absl::Span<int64_t> counts) {
  constexpr int64_t kVeryMany = int64_t{1} << 32;
  absl::c_fill(counts, 0);
  const absl::StatusOr<std::vector<NodePool>> pools = inventory.PoolsOf(node_name, node_labels);
  if (!pools.ok()) return false;
  std::vector<std::vector<std::shared_ptr<const CompiledSelector>>> compiled(lists.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const std::string& expression : lists[i]) {
      compiled[i].push_back(inventory.Compile(expression));
      if (!compiled[i].back()->selector().ok()) return false;
    }
  }
  for (const NodePool& pool : *pools) {
    for (const auto& slice : pool.slices) {
      for (const OfferedDevice& device : slice->devices()) {
        if (!slice->HasFor(device, node_name, node_labels) || !is_free(device.id)) continue;
        const int64_t count = device.allows_multiple ? kVeryMany : 1;
        bool any = false;
        for (size_t i = 0; i < lists.size(); ++i) {
          const bool may_match = absl::c_all_of(compiled[i], [&](const auto& selector) {
            return inventory.Matches(*selector, device).value_or(true);
          });
          if (may_match) counts[i] += count;
          any |= may_match;
        }
        if (any) counts.back() += count;
      }
    }
  }
  return true;
}

}  // namespace berth
