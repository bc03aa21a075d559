// SPDX-License-Identifier: Apache-2.0
// Who may stay after all, once a plan holds.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_SPARED_UNITS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_SPARED_UNITS_H_

#include "berth/columns/node_table.h"
#include "plugins/capacity_scheduling/evicted_units.h"
#include "plugins/capacity_scheduling/pod_room.h"
#include "plugins/capacity_scheduling/taken_places.h"
#include "plugins/capacity_scheduling/victim_list.h"
#include "plugins/capacity_scheduling/victim_query.h"

namespace berth {

// Whoever turns out not to be needed stays, or keeps the place that he is nominated to: the pod
// still fits on its node, its quotas have room, and gangs are left whole. Scheduling thread.
class SparedUnits {
 public:
  // All outlive this.
  SparedUnits(const VictimQuery& query, const VictimList& units, const PodRoom& room,
              TakenPlaces& taken)
      : query_(query), units_(units), room_(room), taken_(taken) {}

  // Whether the others still have to be allowed to go once one is spared: so it is where the rules
  // allowed them only one after the other.
  enum class Orders { kAsListed, kWeighed };
  // Goes through them, the most important first, so that the least important stay evicted; those
  // that violate a budget beside less important ones before all others. May leave nobody.
  void SpareOn(NodeRow row, EvictedUnits& gone, Orders orders) const;

  // Who went elsewhere, for the quotas, may have made room there too: then those who went for room
  // on the site may stay, or keep their places. Returns the row that the pod gets.
  NodeRow SpareOnTheWay(NodeRow site, EvictedUnits& gone) const;

 private:
  const VictimQuery& query_;
  const VictimList& units_;
  const PodRoom& room_;
  TakenPlaces& taken_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_SPARED_UNITS_H_
