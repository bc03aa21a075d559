// SPDX-License-Identifier: Apache-2.0
// Implementation of group_placements.h.
#include "engine/group_placements.h"

#include "engine/placement_trial.h"

namespace berth {

bool GroupPlacements::Place(const AttemptRequest& request, AttemptResult& result) {
  const ProfilePlugins& plugins = request.framework->plugins();
  if (plugins.placement_generate.empty() || plugins.group == nullptr || request.group.empty()) {
    return false;
  }
  return PlacementTrial({cluster_, pod_scheduler_, group_scheduler_, room_sums_, validator_},
                        request, result)
      .Run();
}

}  // namespace berth
