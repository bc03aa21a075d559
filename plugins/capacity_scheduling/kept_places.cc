// SPDX-License-Identifier: Apache-2.0
// Implementation of kept_places.h.
#include "plugins/capacity_scheduling/kept_places.h"

#include <optional>
#include <utility>

namespace berth {

bool KeptPlaces::MayKeep(const PodInfo& pod, QuotaId quota) {
  if (std::exchange(tree_version_, book_.tree_version()) != book_.tree_version()) quotas_.clear();
  const absl::Time now = handle_.clock().Now();
  OfQuota& of = quotas_.try_emplace(quota, OfQuota{.since = now}).first->second;
  if (of.pod != nullptr && !book_.IsPromised(*of.pod)) of.pod = nullptr;  // it is gone
  if (of.pod == nullptr) return now >= of.since + kPatience && now >= of.not_before;
  if (of.pod->uid() != pod.uid()) return false;
  if (now < of.progress + kWithoutProgress) return true;
  Pause(quota, kWithoutProgress);
  return false;
}

void KeptPlaces::Keep(const PodInfo& pod, QuotaId quota, size_t awaited) {
  OfQuota& of = quotas_.at(quota);
  if (of.pod == nullptr || awaited < of.awaited) {
    of.progress = handle_.clock().Now();
    of.awaited = awaited;
  }
  of.pod = pod.identity();
}

void KeptPlaces::Pause(QuotaId quota, absl::Duration pause) {
  OfQuota& of = quotas_.at(quota);
  of.pod = nullptr;
  of.not_before = handle_.clock().Now() + pause;
}

void KeptPlaces::OnAssigned(const PodInfo& pod) {
  if (quotas_.empty()) return;
  const std::optional<QuotaId> quota = book_.QuotaOf(pod);
  if (!quota.has_value()) return;
  const auto found = quotas_.find(*quota);
  if (found != quotas_.end()) found->second.since = handle_.clock().Now();
}

}  // namespace berth
