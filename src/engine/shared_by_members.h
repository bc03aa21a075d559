// SPDX-License-Identifier: Apache-2.0
// What the Filter plugins of a profile say of what members of a group share (MemberChoices).
#ifndef BERTH_SRC_ENGINE_SHARED_BY_MEMBERS_H_
#define BERTH_SRC_ENGINE_SHARED_BY_MEMBERS_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "berth/extensions/member_choices.h"
#include "berth/framework/pod_info.h"
#include "framework/framework.h"

namespace berth {

// Those of the pods that share something with another one of them: where one goes says where the
// others can go.
absl::flat_hash_set<const PodInfo*> FindPodsThatShare(
    const Framework& framework, absl::Span<const std::shared_ptr<const PodInfo>> pods);

// Whether members on other nodes than the running pod's may be short of what it holds.
bool HoldsForOtherNodes(const Framework& framework, const PodInfo& pod);

// Why a search over all nodes is no proof for these pods; empty if it is one.
std::string WhyNotAllTried(const Framework& framework,
                           absl::Span<const std::shared_ptr<const PodInfo>> pods);

// What the pods need of what plugins count; null for most. Of several plugins, of the first that
// counts anything.
std::shared_ptr<const CountedNeeds> CountNeeds(
    const Framework& framework, absl::Span<const std::shared_ptr<const PodInfo>> pods);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_SHARED_BY_MEMBERS_H_
