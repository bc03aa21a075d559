// SPDX-License-Identifier: Apache-2.0
// Implementation of device_sums.h.
#include "plugins/dynamic_resources/device_sums.h"

#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_counts.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {
namespace {

// Requests for other sorts than these count for nothing.
constexpr size_t kMostSorts = 4;
constexpr int64_t kNothingIsKnown = int64_t{1} << 32;

}  // namespace

std::unique_ptr<DeviceSums> DeviceSums::Of(absl::Span<const std::shared_ptr<const PodInfo>> pods,
                                           Handle& handle, ClusterDevices& devices,
                                           const Evictions& evictions) {
  if (absl::c_none_of(pods, [](const auto& pod) { return HasResourceClaims(*pod); })) {
    return nullptr;
  }
  std::unique_ptr<DeviceSums> sums(new DeviceSums(handle, devices, evictions));
  for (const auto& pod : pods) {
    sums->Add(*pod);
    if (sums->pods_.empty() || !pod->SharesSpec(*sums->pods_.back())) sums->pods_.push_back(pod);
  }
  if (sums->selectors_.empty()) return nullptr;
  for (std::vector<int64_t>& needs : sums->needs_) {
    needs.resize(sums->selectors_.size(), 0);
    needs.push_back(absl::c_accumulate(needs, int64_t{0}));
  }
  return sums;
}

void DeviceSums::Add(const PodInfo& pod) {
  std::vector<int64_t>& needs = needs_.emplace_back();
  std::vector<PodClaim> claims;
  if (!HasResourceClaims(pod) || !FindPodClaims(pod, handle_.objects(), claims).ok()) return;
  for (const PodClaim& claim : claims) {
    const bool is_to_allocate = !claim.claim().status().has_allocation() &&
                                devices_.InFlight(claim.object.uid()) == nullptr &&
                                counted_.insert(std::string(claim.object.uid())).second;
    if (!is_to_allocate) continue;
    for (const api::DeviceRequest& request : claim.claim().spec().devices().requests()) {
      if (request.has_exactly() && !request.exactly().admin_access()) Add(request.exactly(), needs);
    }
  }
}

void DeviceSums::Add(const api::ExactDeviceRequest& request, std::vector<int64_t>& needs) {
  const Object* const device_class =
      handle_.objects().Find(Kind::kDeviceClass, "", request.device_class_name());
  if (device_class == nullptr) return;
  std::vector<std::string> selectors;
  const auto add = [&selectors](const auto& all) {
    for (const api::DeviceSelector& selector : all) {
      if (selector.has_cel()) selectors.push_back(selector.cel().expression());
    }
  };
  add(device_class->As<api::DeviceClass>().spec().selectors());
  add(request.selectors());
  const auto known = absl::c_find(selectors_, selectors);
  const auto sort = static_cast<size_t>(known - selectors_.begin());
  if (known == selectors_.end()) {
    if (selectors_.size() == kMostSorts) return;
    selectors_.push_back(std::move(selectors));
  }
  if (needs.size() <= sort) needs.resize(sort + 1, 0);
  needs[sort] += request.allocation_mode() == "All" ? 1 : CountOf(request);
}

void DeviceSums::FreeOn(const NodeInfo& node, int32_t gone_below, absl::Span<int64_t> free) const {
  const bool are_gone = gone_below != std::numeric_limits<int32_t>::min();
  if (are_gone) {
    for (const auto& pod : pods_) evictions_.without_devices.Note(*pod);
  }
  bool is_known = false;
  if (evictions_.free_devices && (are_gone || evictions_.gone_in_plan.number != 0)) {
    const absl::flat_hash_set<DeviceId> kept = KeptOn(node, gone_below);
    is_known = CountMatchingDevices(
        selectors_, devices_.inventory(), node.name(), node.labels(),
        [&kept](const DeviceId& device) { return !kept.contains(device); }, free);
  } else {
    // Members of the gang may exchange what is promised to them.
    is_known = CountMatchingDevices(
        selectors_, devices_.inventory(), node.name(), node.labels(),
        [this](const DeviceId& device) {
          return !devices_.Holds(device) || devices_.IsPromised(device);
        },
        free);
  }
  if (!is_known) absl::c_fill(free, kNothingIsKnown);
}

absl::flat_hash_set<DeviceId> DeviceSums::KeptOn(const NodeInfo& node, int32_t gone_below) const {
  absl::flat_hash_set<DeviceId> kept;
  for (const auto& pod : node.pods()) {
    std::vector<PodClaim> claims;
    if (pod->priority() < gone_below || !HasResourceClaims(*pod)) continue;
    if (!FindPodClaims(*pod, handle_.objects(), claims).ok()) continue;
    for (const PodClaim& claim : claims) {
      if (!IsReservedFor(claim.claim(), pod->uid())) continue;
      for (const ClusterDevices::UsedDevice& device :
           devices_.DevicesOf(claim.claim().status().allocation())) {
        if (device.share_id.empty()) kept.insert(device.id);
      }
    }
  }
  return kept;
}

}  // namespace berth
