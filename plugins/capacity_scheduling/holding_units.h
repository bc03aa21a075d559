// SPDX-License-Identifier: Apache-2.0
// Units that hold together, on whatever nodes, what a pod needs on its own.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_HOLDING_UNITS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_HOLDING_UNITS_H_

#include <vector>

#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/framework/pod_info.h"
#include "berth/preemption/held_elsewhere.h"
#include "plugins/capacity_scheduling/victim_list.h"
#include "plugins/capacity_scheduling/victim_query.h"

namespace berth {

// The users of a claim that the pod names itself, or of devices of a network: the pod gets these
// once all of them are gone. Scheduling thread.
class HoldingUnits {
 public:
  struct Holders {
    SharedHolding holding;
    std::vector<int> units;  // in order
  };
  // Both outlive this.
  HoldingUnits(const VictimQuery& query, VictimList& units) : query_(query), units_(units) {}

  // Those of which all users are in units, in the order of the last of them.
  absl::Span<const Holders> All();
  // Whether one more may be tried. So many may, on all nodes.
  bool MayTryOne() { return --left_ >= 0; }

 private:
  int UnitOf(const PodInfo& pod, Symbol node);

  const VictimQuery& query_;
  VictimList& units_;
  std::vector<Holders> all_;
  bool is_known_ = false;
  int left_ = 256;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_HOLDING_UNITS_H_
