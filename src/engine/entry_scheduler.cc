// SPDX-License-Identifier: Apache-2.0
// Implementation of entry_scheduler.h.
#include "engine/entry_scheduler.h"

#include <algorithm>

#include "berth/check.h"

namespace berth {

AttemptResult EntryScheduler::Run(const AttemptRequest& request, EventIntake* intake) {
  AttemptResult result = Place(request, intake);
  Permit(request, result);
  return result;
}

AttemptResult EntryScheduler::Place(const AttemptRequest& request, EventIntake* intake) {
  AttemptResult result;  // the only one that is returned: so it is not moved
  if (static_cast<int>(request.pods.size()) < request.minimum) {
    result = TooFewMembers(request);
    return result;
  }
  cluster_.Refresh();
  if (group_placements_.Place(request, result)) {
    // done
  } else if (request.pods.size() == 1 && !request.quorum.has_parts()) {
    const bool placed = pod_scheduler_.Place(request, request.pods.front(), result);
    result.minimum_reached = placed || (request.minimum == 0 && !result.yielded);
    if (!result.yielded) group_scheduler_.PlanMoves(request, result);
  } else {
    group_scheduler_.Place(request, result, intake);
  }
  BERTH_CHECK(result.minimum_reached || result.yielded || !result.failed.empty());
  return result;
}

void EntryScheduler::Permit(const AttemptRequest& request, AttemptResult& result) {
  if (!result.minimum_reached) return;
  const auto refused =
      std::remove_if(result.placed.begin(), result.placed.end(), [&](Binder::Member& member) {
        const Status status = PodScheduler::Permit(*request.framework, member);
        if (status.ok()) return false;
        result.failed.push_back(pod_scheduler_.Refused(request, member.placement.pod, status));
        pod_scheduler_.Undo(member.placement);
        return true;
      });
  result.placed.erase(refused, result.placed.end());
  if (!request.IsReachedBy(result.placed)) {
    result.minimum_reached = false;
    // The cause stands first: the group fails for the pod refused here, not for its surplus.
    std::rotate(result.failed.begin(), result.failed.end() - 1, result.failed.end());
    pod_scheduler_.RollBackGroup(request, result);
  }
}

}  // namespace berth
