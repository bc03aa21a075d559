// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_claims.h.
#include "plugins/dynamic_resources/pod_claims.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

// resourceclaim.Name(): the claim that a reference names.
struct ClaimName {
  std::optional<std::string> name;  // absent: no claim is needed
  bool is_of_template = false;
};

absl::Status FindName(const PodInfo& pod, const api::PodResourceClaim& reference,
                      ClaimName& found) {
  if (reference.has_resource_claim_name()) {
    found.name = reference.resource_claim_name();
    return absl::OkStatus();
  }
  if (!reference.has_resource_claim_template_name()) {
    return absl::FailedPreconditionError(absl::StrCat("pod \"", pod.key(),
                                                      "\", spec.resourceClaim \"", reference.name(),
                                                      "\": none of the supported fields are set"));
  }
  found.is_of_template = true;
  bool is_made = false;
  pod.packed()->ReadOwn([&](const api::Pod& own) {
    for (const api::PodResourceClaimStatus& status : own.status().resource_claim_statuses()) {
      if (status.name() != reference.name()) continue;
      is_made = true;
      if (status.has_resource_claim_name()) found.name = status.resource_claim_name();
      return;
    }
  });
  if (is_made) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("pod \"", pod.key(), "\": ResourceClaim not created yet"));
}

}  // namespace

bool IsControlledBy(const api::ResourceClaim& claim, absl::string_view pod_uid) {
  for (const api::OwnerReference& owner : claim.metadata().owner_references()) {
    if (owner.controller()) return owner.uid() == pod_uid;
  }
  return false;
}

bool HasResourceClaims(const PodInfo& pod) { return !pod.spec().resource_claims().empty(); }

bool IsAmong(absl::Span<const PodClaim> claims, absl::string_view uid) {
  return absl::c_any_of(claims, [uid](const PodClaim& claim) { return claim.object.uid() == uid; });
}

absl::Status FindPodClaims(const PodInfo& pod, const ObjectStore& objects,
                           std::vector<PodClaim>& claims) {
  const absl::string_view space = pod.namespace_name().view();
  for (const api::PodResourceClaim& reference : pod.spec().resource_claims()) {
    ClaimName found;
    absl::Status named = FindName(pod, reference, found);
    if (!named.ok()) return named;
    if (!found.name.has_value()) continue;
    const Object* const object = objects.Find(Kind::kResourceClaim, space, *found.name);
    if (object == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("could not find ResourceClaim \"", space, "/", *found.name, "\""));
    }
    const auto& claim = object->As<api::ResourceClaim>();
    if (claim.metadata().has_deletion_timestamp()) {
      return absl::FailedPreconditionError(
          absl::StrCat("resourceclaim \"", *found.name, "\" is being deleted"));
    }
    if (found.is_of_template && !IsControlledBy(claim, pod.uid())) {
      return absl::FailedPreconditionError(absl::StrCat("ResourceClaim ", object->key(),
                                                        " was not created for pod ", pod.key(),
                                                        " (pod is not owner)"));
    }
    const bool is_known = absl::c_any_of(
        claims, [&](const PodClaim& known) { return known.object.key() == object->key(); });
    if (!is_known) claims.push_back({reference.name(), *object});
  }
  return absl::OkStatus();
}

bool IsReservedFor(const api::ResourceClaim& claim, absl::string_view pod_uid) {
  return absl::c_any_of(claim.status().reserved_for(),
                        [&](const auto& user) { return user.uid() == pod_uid; });
}

bool IsPod(const api::ResourceClaimConsumerReference& consumer) {
  return consumer.resource() == "pods" && consumer.api_group().empty();
}

}  // namespace berth
