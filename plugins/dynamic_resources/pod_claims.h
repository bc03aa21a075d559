// SPDX-License-Identifier: Apache-2.0
// The ResourceClaims that a pod refers to.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_POD_CLAIMS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_POD_CLAIMS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/object.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"

namespace berth {

struct PodClaim {
  std::string reference;  // its name in spec.resourceClaims
  Object object;

  const api::ResourceClaim& claim() const { return object.As<api::ResourceClaim>(); }
};

bool HasResourceClaims(const PodInfo& pod);

// Whether one of the claims has that uid.
bool IsAmong(absl::Span<const PodClaim> claims, absl::string_view uid);

// As kube-scheduler v1.35 dynamicresources foreachPodResourceClaim, in the order of the pod, each
// once, by its first reference. Without references for which no claim is needed.
// FailedPrecondition, with upstream's text, if one cannot be used.
absl::Status FindPodClaims(const PodInfo& pod, const ObjectStore& objects,
                           std::vector<PodClaim>& claims);

// metav1.IsControlledBy.
bool IsControlledBy(const api::ResourceClaim& claim, absl::string_view pod_uid);

// Whether the pod has a reservation.
bool IsReservedFor(const api::ResourceClaim& claim, absl::string_view pod_uid);

// Of other consumers of a claim nobody knows whether they are there.
bool IsPod(const api::ResourceClaimConsumerReference& consumer);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_POD_CLAIMS_H_
