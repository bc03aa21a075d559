// SPDX-License-Identifier: Apache-2.0
// Which running pods go together.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_UNITS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_UNITS_H_

#include <memory>
#include <vector>

#include "berth/api/symbol.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/preemption/victim_rules.h"

namespace berth {

struct RunningPod {
  std::shared_ptr<const PodInfo> pod;
  Symbol node;
};

// The pods in units, in their order: the first to go comes first. Of a gang first its pods beyond
// the minimum, one by one; where that is reached, all the others at once, in the place of the first
// of them.
std::vector<VictimUnit> UnitsOf(const Handle& handle, const std::vector<RunningPod>& pods);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_UNITS_H_
