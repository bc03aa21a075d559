// SPDX-License-Identifier: Apache-2.0
// Finds which properties of a pod changed.
#include "queue/pod_update_events.h"

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

bool ScaledDown(const ResourceVector& old_requests, const ResourceVector& new_requests) {
  bool less = false;
  const auto compare = [&](ResourceId id, int64_t) {
    less |= old_requests.Get(id) > new_requests.Get(id);
  };
  old_requests.ForEach(compare);
  return less;
}

bool SameClaimStatuses(const api::PodStatus& a, const api::PodStatus& b) {
  if (a.resource_claim_statuses_size() != b.resource_claim_statuses_size()) return false;
  for (int i = 0; i < a.resource_claim_statuses_size(); ++i) {
    if (a.resource_claim_statuses(i).SerializeAsString() !=
        b.resource_claim_statuses(i).SerializeAsString()) {
      return false;
    }
  }
  return a.extended_resource_claim_status().SerializeAsString() ==
         b.extended_resource_claim_status().SerializeAsString();
}

}  // namespace

ClusterEvents PodChangeEvents(const PodInfo& old_pod, const PodInfo& new_pod) {
  const bool assigned = !new_pod.node_name().empty();
  const EventResource resource =
      assigned ? EventResource::AssignedPod() : EventResource::UnscheduledPod();
  ClusterEvents events;
  const auto add = [&](ActionType action, absl::string_view what) {
    events.push_back(
        {resource, action, absl::StrCat(assigned ? "AssignedPod" : "UnschedulablePod", what)});
  };
  if (old_pod.labels() != new_pod.labels()) add(action::kUpdatePodLabel, "UpdatePodLabel");
  if (ScaledDown(old_pod.requests(), new_pod.requests())) {
    add(action::kUpdatePodScaleDown, "UpdatePodScaleDown");
  }
  if (new_pod.scheduling_gates().empty() && !old_pod.scheduling_gates().empty()) {
    add(action::kUpdatePodSchedulingGatesEliminated, "UpdatePodSchedulingGatesEliminated");
  }
  // Tolerations can only be added: the API server refuses other changes.
  if (old_pod.tolerations().size() != new_pod.tolerations().size()) {
    add(action::kUpdatePodToleration, "UpdatePodToleration");
  }
  bool same_claims = true;
  if (old_pod.has_claim_statuses() || new_pod.has_claim_statuses()) {
    old_pod.packed()->ReadOwn([&](const api::Pod& before) {
      new_pod.packed()->ReadOwn([&](const api::Pod& now) {
        same_claims = SameClaimStatuses(before.status(), now.status());
      });
    });
  }
  if (!same_claims) {
    add(action::kUpdatePodGeneratedResourceClaim, "UpdatePodGeneratedResourceClaim");
  }
  if (events.empty()) add(action::kUpdateOther, "Update");
  return events;
}

ClusterEvent ForceActivate() { return {EventResource::Wildcard(), action::kAll, "ForceActivate"}; }

}  // namespace berth
