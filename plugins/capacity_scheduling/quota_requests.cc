// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_requests.h.
#include "plugins/capacity_scheduling/quota_requests.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/gpu/request_marks.h"

namespace berth {
namespace {

constexpr size_t kMostShapes = 4096;  // that are kept

bool AsksForGpuParts(const PodInfo& pod) {
  return absl::c_any_of(kGpuRequestMarks,
                        [&](absl::string_view mark) { return pod.annotation(mark).has_value(); });
}

}  // namespace

bool IsPreemptible(const PodInfo& pod) {
  const Symbol* const label = pod.labels().Find(kPreemptibleLabel);
  return label == nullptr || label->view() != "false";
}

// --- What pods ask for ---

bool QuotaRequests::GoByShape(const PodInfo& pod) {
  return pod.spec().resource_claims().empty() && !AsksForGpuParts(pod);
}

const PodAmounts& QuotaRequests::Of(const PodInfo& pod, CountsClaim counts) const {
  if (!GoByShape(pod)) {
    with_annotations_ = WithoutClaims(pod);
    if (!pod.spec().resource_claims().empty()) {
      with_annotations_.Add(DevicesClaimedBy(pod, handle_.objects(), devices_, counts).amounts);
    }
    return with_annotations_;
  }
  const uint64_t counted_by = behind_resources_.version();
  if (std::exchange(shapes_by_, counted_by) != counted_by) shapes_.clear();
  const std::shared_ptr<const PodShape>& shape = pod.packed()->shape();
  const auto known = shapes_.find(shape.get());
  if (known != shapes_.end()) return known->second.amounts;
  if (shapes_.size() >= kMostShapes) shapes_.clear();
  Shape& added = shapes_[shape.get()];
  added = {shape, WithoutClaims(pod)};
  return added.amounts;
}

PodAmounts QuotaRequests::OpenClaimsOf(const PodInfo& pod, CountsClaim counts) const {
  if (pod.spec().resource_claims().empty()) return {.pods = 0};
  const ObjectStore& objects = handle_.objects();
  const auto is_open = [&](const std::string& claim) {
    return !FindClaim(claim)->status().has_allocation() && counts(claim);
  };
  return DevicesClaimedBy(pod, objects, devices_, is_open).amounts;
}

QuotaRequests::Amount QuotaRequests::AmountOf(const PodInfo& pod, QuotaId quota,
                                              const LabelSet* node) const {
  const auto no_claim = [](const std::string&) { return false; };
  Amount amount{quota, tree_.ChargeOf(Of(pod, no_claim), node), {}};
  if (pod.spec().resource_claims().empty()) return amount;
  const ObjectStore& objects = handle_.objects();
  ForEachClaim(pod, objects, [&](const std::string& claim, const api::ResourceClaim* object) {
    if (object == nullptr) return;
    amount.claims.push_back({claim, tree_.ChargeOf(DevicesOf(*object, objects, devices_), node)});
  });
  return amount;
}

PodAmounts QuotaRequests::WithoutClaims(const PodInfo& pod) const {
  PodAmounts amounts = AmountsOf(pod);
  behind_resources_.Add(devices_, amounts);
  return amounts;
}

// --- What slices and classes say ---

QuotaDevices::Difference QuotaRequests::ReadDevices() {
  std::vector<const Object*> slices;
  if (sees_devices()) slices = handle_.objects().List(Kind::kResourceSlice);
  QuotaDevices::Difference difference = devices_.Read(slices, tree_.lines());
  if (difference.in_selected) shapes_.clear();  // they may ask for other devices now
  return difference;
}

bool QuotaRequests::MayAskForDevices(const PodInfo& pod) const {
  return !pod.spec().resource_claims().empty() || behind_resources_.BackAnyOf(pod);
}

const api::ResourceClaim* QuotaRequests::FindClaim(absl::string_view key) const {
  const size_t slash = key.find('/');
  return handle_.objects().Find<api::ResourceClaim>(key.substr(0, slash), key.substr(slash + 1));
}

bool QuotaRequests::Concerns(const QuotaDevices::Difference& difference, const PodInfo& pod,
                             const std::vector<ClaimCharge>& claims) const {
  if (difference.in_selected && behind_resources_.BackAnyOf(pod)) return true;
  return absl::c_any_of(claims, [&](const ClaimCharge& charge) {
    const api::ResourceClaim* const claim = FindClaim(charge.claim);
    if (claim == nullptr || !claim->status().has_allocation()) return difference.in_selected;
    const auto& results = claim->status().allocation().devices().results();
    return !difference.devices.empty() && absl::c_any_of(results, [&](const auto& result) {
      return difference.devices.contains(
          DeviceId::Of(result.driver(), result.pool(), result.device()));
    });
  });
}

}  // namespace berth
