// SPDX-License-Identifier: Apache-2.0
// Implementation of claim_hints.h.
#include "plugins/dynamic_resources/claim_hints.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/api/resource_v1.pb.h"
#include "plugins/dynamic_resources/extended_resource_claim.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {
namespace {

// Whether the pod names the claim, or controls it.
bool MayUse(const PodInfo& pod, const Object& claim) {
  if (claim.namespace_name() != pod.namespace_name().view()) return false;
  for (const api::PodResourceClaim& reference : pod.spec().resource_claims()) {
    if (reference.resource_claim_name() == claim.name()) return true;
  }
  return IsControlledBy(claim.As<api::ResourceClaim>(), pod.uid());
}

// Whether the claims that the pod refers to by name are there.
bool HasNamedClaims(const PodInfo& pod, const ObjectStore& objects) {
  const absl::string_view space = pod.namespace_name().view();
  for (const api::PodResourceClaim& reference : pod.spec().resource_claims()) {
    if (!reference.has_resource_claim_name()) continue;
    const Object* const claim =
        objects.Find(Kind::kResourceClaim, space, reference.resource_claim_name());
    if (claim == nullptr) return false;
    if (claim->As<api::ResourceClaim>().metadata().has_deletion_timestamp()) return false;
  }
  return true;
}

// Whether the claim has devices, and a user that it had not before, or one less.
bool HasOtherUsers(const api::ResourceClaim* before, const api::ResourceClaim& now) {
  if (!now.status().has_allocation()) return false;
  const auto has_more = [](const api::ResourceClaim& one, const api::ResourceClaim* other) {
    return absl::c_any_of(one.status().reserved_for(), [&](const auto& user) {
      return other == nullptr || !IsReservedFor(*other, user.uid());
    });
  };
  return has_more(now, before) || (before != nullptr && has_more(*before, &now));
}

// isSchedulableAfterClaimChange. What of a pod's own claims is missing yet is left to the pod's
// PreEnqueue: so it reads nothing of the pod that others of its spec do not have, but whose claim
// it is.
QueueingHint AfterClaimChange(const PodInfo& pod, const ObjectChange& change,
                              const ObjectStore& objects, const NominatedDevices& nominated,
                              const NotedPreemptors* refused) {
  if (change.new_object == nullptr) {
    const auto& last = change.old_object->As<api::ResourceClaim>();
    const bool frees = last.status().has_allocation() && HasNamedClaims(pod, objects);
    return frees || SpecialClaimOwner(last) == pod.uid() ? QueueingHint::kQueue
                                                         : QueueingHint::kSkip;
  }
  const auto& now = change.new_object->As<api::ResourceClaim>();
  const auto* const before =
      change.old_object == nullptr ? nullptr : &change.old_object->As<api::ResourceClaim>();
  // Its devices may be what the pod waits for.
  if (before != nullptr && before->status().has_allocation() && !now.status().has_allocation()) {
    return HasNamedClaims(pod, objects) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }
  const bool left_some =
      now.status().has_allocation() &&
      (nominated.LeftSome(change.new_object->uid()) || nominated.LeftSome(SpecialClaimOwner(now)));
  if (left_some && HasNamedClaims(pod, objects)) return QueueingHint::kQueue;
  if (refused != nullptr && HasOtherUsers(before, now) && refused->Has(pod)) {
    return QueueingHint::kQueue;
  }
  if (!MayUse(pod, *change.new_object)) return QueueingHint::kSkip;
  if (before == nullptr) return QueueingHint::kQueue;
  const bool is_same = before->status().SerializeAsString() == now.status().SerializeAsString();
  return is_same ? QueueingHint::kSkip : QueueingHint::kQueue;
}

// isSchedulableAfterPodChange.
QueueingHint AfterPodChange(const PodInfo& pod, const ObjectChange& change,
                            const ObjectStore& objects) {
  if (change.new_pod == nullptr || change.new_pod->uid() != pod.uid()) return QueueingHint::kSkip;
  std::vector<PodClaim> claims;
  const bool usable = FindPodClaims(*change.new_pod, objects, claims).ok();
  return usable ? QueueingHint::kQueue : QueueingHint::kSkip;
}

// Devices that a pod was promised, and that no claim has had, are free when it is not placed any
// more: upstream's pods do not hear of that.
QueueingHint AfterPodEnd(const PodInfo&, const ObjectChange& change, const ObjectStore&) {
  const bool had_claims = change.old_pod != nullptr && HasResourceClaims(*change.old_pod);
  return had_claims ? QueueingHint::kQueue : QueueingHint::kSkip;
}

// The same with DRAExtendedResource.
QueueingHint AfterPodWithDevicesEnd(const PodInfo& pod, const ObjectChange& change,
                                    const ObjectStore& objects) {
  if (change.old_pod != nullptr && RequestsDeviceResources(*change.old_pod)) {
    return QueueingHint::kQueue;
  }
  return AfterPodEnd(pod, change, objects);
}

// Upstream's pods hear of slices whose devices have other taints.
QueueingHint AfterTaintRuleChange(const PodInfo&, const ObjectChange& change, const ObjectStore&) {
  if (change.old_object == nullptr || change.new_object == nullptr) return QueueingHint::kQueue;
  const auto& before = change.old_object->As<api::DeviceTaintRule>().spec();
  const auto& now = change.new_object->As<api::DeviceTaintRule>().spec();
  const bool is_same = before.SerializeAsString() == now.SerializeAsString();
  return is_same ? QueueingHint::kSkip : QueueingHint::kQueue;
}

}  // namespace

std::vector<ClusterEventWithHint> ClaimEvents(const ObjectStore& objects,
                                              const DeviceFeatures& features,
                                              std::shared_ptr<const NominatedDevices> nominated,
                                              std::shared_ptr<const NotedPreemptors> refused) {
  constexpr ActionType kAddOrUpdate = action::kAdd | action::kUpdate;
  const auto with = [&objects](auto hint) -> QueueingHintFn {
    return [&objects, hint = std::move(hint)](const PodInfo& pod, const ObjectChange& change) {
      return hint(pod, change, objects);
    };
  };
  std::vector<ClusterEventWithHint> events = {
      {{EventResource::Node(),
        action::kAdd | action::kUpdateNodeLabel | action::kUpdateNodeAllocatable},
       nullptr},
      {{EventResource::Of(Kind::kResourceClaim),
        features.extended_resources ? kAddOrUpdate | action::kDelete : kAddOrUpdate},
       with([nominated = std::move(nominated), refused = std::move(refused)](
                const PodInfo& pod, const ObjectChange& change, const ObjectStore& store) {
         return AfterClaimChange(pod, change, store, *nominated, refused.get());
       })},
      {{EventResource::Pod(), action::kUpdatePodGeneratedResourceClaim}, with(&AfterPodChange)},
      {{EventResource::AssignedPod(), action::kDelete},
       features.extended_resources ? with(&AfterPodWithDevicesEnd) : with(&AfterPodEnd)},
      // Of several classes that name one resource another backs it when one goes.
      {{EventResource::Of(Kind::kDeviceClass),
        features.extended_resources ? kAddOrUpdate | action::kDelete : kAddOrUpdate},
       nullptr},
      {{EventResource::Of(Kind::kResourceSlice), kAddOrUpdate}, nullptr},
  };
  if (features.device_taint_rules) {
    events.push_back({{EventResource::Of(Kind::kDeviceTaintRule), kAddOrUpdate | action::kDelete},
                      with(&AfterTaintRuleChange)});
  }
  return events;
}

}  // namespace berth
