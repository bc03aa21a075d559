// SPDX-License-Identifier: Apache-2.0
// Whether a pod fits on a node without those that go in a plan.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_POD_ROOM_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_POD_ROOM_H_

#include <vector>

#include "berth/api/resources.h"
#include "berth/columns/node_table.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"
#include "plugins/capacity_scheduling/deficit.h"
#include "plugins/capacity_scheduling/evicted_units.h"
#include "plugins/capacity_scheduling/victim_list.h"
#include "plugins/capacity_scheduling/victim_query.h"

namespace berth {

// Sums of requests first, which mostly say no and cost little; then the filters. Pods that leave
// already count as gone. Of quotas it knows nothing. Scheduling thread.
class PodRoom {
 public:
  // Both outlive this.
  PodRoom(const VictimQuery& query, const VictimList& units);

  // Whether devices may stand for the resource, so that sums do not say what a node lacks of it.
  bool IsOfDevices(ResourceId id) const;
  Deficit DeficitOf(NodeRow row) const;
  // Whether it makes a difference on the row's node that the unit is gone; then it is.
  bool Remove(int unit, NodeRow row, Deficit& deficit) const;

  // Whether sums allow the pod there, if `spared` stayed.
  bool SumsHold(NodeRow row, const EvictedUnits& gone, int spared = -1) const;
  // Success if the filters have it there without those that are gone, there and elsewhere.
  Status Filter(NodeRow row, const EvictedUnits& gone) const;

 private:
  bool Counts(const PodInfo& nominated) const;

  const VictimQuery& query_;
  const NodeTable& nodes_;
  const VictimList& units_;
  std::vector<ResourceId> of_devices_;  // what the pod requests for which devices stand
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_POD_ROOM_H_
