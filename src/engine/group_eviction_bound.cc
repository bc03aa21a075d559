// SPDX-License-Identifier: Apache-2.0
// Implementation of group_eviction_bound.h.
#include "engine/group_eviction_bound.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "berth/preemption/victim_rules.h"
#include "engine/group_preemption_draft.h"
#include "engine/post_filter_bounds.h"
#include "search/room.h"

namespace berth {

bool AnyNominated(const AttemptRequest& request, const ClusterState& cluster) {
  return cluster.nominations().size() > 0 && absl::c_any_of(request.pods, [&](const auto& pod) {
           return !cluster.nominations().NominatedNode(*pod).empty();
         });
}

bool EvictsLowerPriorityOnly(const AttemptRequest& request) {
  const PostFilterBounds bounds(*request.framework);
  const PodInfo* last = nullptr;
  return absl::c_all_of(request.pods, [&](const auto& pod) {
    if (last != nullptr && AreEquivalent(*pod, *last)) return true;
    last = pod.get();
    return bounds.FreeLowerPriorityOnly(*pod);
  });
}

bool HasVictimRules(const AttemptRequest& request) {
  return absl::c_any_of(request.framework->plugins().post_filter, [](const auto& hook) {
    return dynamic_cast<VictimRules*>(hook.plugin) != nullptr;
  });
}

namespace {

int32_t HighestPriority(const AttemptRequest& request) {
  int32_t highest = std::numeric_limits<int32_t>::min();
  for (const auto& pod : request.pods) highest = std::max(highest, pod->priority());
  return highest;
}

}  // namespace

std::optional<int64_t> RoomByEvictionsAtMost(const AttemptRequest& request,
                                             const GroupShortage& shortage,
                                             const ClusterState& cluster) {
  if (shortage.members == 0 || AnyNominated(request, cluster)) return std::nullopt;
  if (!EvictsLowerPriorityOnly(request)) return std::nullopt;
  const int32_t highest = HighestPriority(request);
  const NodeTable& nodes = cluster.nodes();
  const int64_t room = request.placement == nullptr
                           ? RoomWithoutPodsBelow(shortage.needed, nodes, highest, shortage.members)
                           : RoomWithoutPodsBelow(shortage.needed, nodes, request.placement->rows,
                                                  highest, shortage.members);
  if (room >= shortage.members) return std::nullopt;
  return room;
}

bool AreTooManyWithEvictions(const AttemptRequest& request, const ClusterState& cluster) {
  if (AnyNominated(request, cluster) || !EvictsLowerPriorityOnly(request)) return false;
  const NodeTable& nodes = cluster.nodes();
  const std::optional<PackingBound> bound = PackingOf(request, nodes);
  return bound.has_value() &&
         bound
             ->Check(nodes, request.placement == nullptr ? nullptr : &request.placement->rows,
                     request.minimum, HighestPriority(request))
             .is_proof;
}

}  // namespace berth
