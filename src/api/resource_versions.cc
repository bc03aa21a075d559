// SPDX-License-Identifier: Apache-2.0
// Implementation of resource_versions.h.
#include "api/resource_versions.h"

#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

void ConvertRequests(api::ResourceClaimSpec& spec) {
  for (api::DeviceRequest& request : *spec.mutable_devices()->mutable_requests()) {
    if (!request.has_v1beta1()) continue;
    request.mutable_exactly()->MergeFrom(request.v1beta1());
    request.clear_v1beta1();
  }
}

void ConvertDevices(api::ResourceSliceSpec& spec) {
  for (api::SliceDevice& device : *spec.mutable_devices()) {
    if (!device.has_basic()) continue;
    const api::SliceDevice basic = device.basic();
    device.clear_basic();
    device.MergeFrom(basic);
  }
}

}  // namespace

void ConvertFromBeta(Kind kind, google::protobuf::Message& message) {
  if (kind == Kind::kResourceClaim) {
    auto& claim = static_cast<api::ResourceClaim&>(message);
    if (claim.spec().has_devices()) ConvertRequests(*claim.mutable_spec());
  } else if (kind == Kind::kResourceClaimTemplate) {
    auto& spec = *static_cast<api::ResourceClaimTemplate&>(message).mutable_spec();
    if (spec.spec().has_devices()) ConvertRequests(*spec.mutable_spec());
  } else if (kind == Kind::kResourceSlice) {
    auto& slice = static_cast<api::ResourceSlice&>(message);
    if (slice.has_spec()) ConvertDevices(*slice.mutable_spec());
  }
}

}  // namespace berth
