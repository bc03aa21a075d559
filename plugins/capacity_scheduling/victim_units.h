// SPDX-License-Identifier: Apache-2.0
// Which running pods go together.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_UNITS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_UNITS_H_

#include <memory>
#include <string>
#include <vector>

#include "berth/api/identity.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/preemption/victim_rules.h"

namespace berth {

struct RunningPod {
  std::shared_ptr<const PodInfo> pod;
  Symbol node;
};

// How many of the gang's pods may go one by one, before all others have to go at once. `coming`:
// members that are nominated, and count as well.
int SurplusOf(const Handle& handle, const std::string& group, int coming = 0);

// The pod of that uid on the node, as it is now; null if there is none.
std::shared_ptr<const PodInfo> FindOn(const NodeTable& nodes, Symbol node, UidRef pod);

// The pods in units, in their order: the first to go comes first. For a gang first its pods beyond
// the minimum, one by one; where that is reached, all the others at once, in the place of the first
// of them.
std::vector<VictimUnit> UnitsOf(const Handle& handle, const std::vector<RunningPod>& pods);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_UNITS_H_
