// SPDX-License-Identifier: Apache-2.0
// Which units may go for a pod at all, by the rules of quotas.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_EVICTABLE_UNITS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_EVICTABLE_UNITS_H_

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "berth/columns/node_table.h"
#include "berth/preemption/victim_rules.h"
#include "plugins/capacity_scheduling/victim_list.h"
#include "plugins/capacity_scheduling/victim_query.h"

namespace berth {

// Asks the trial once for each unit and kind of node, and notes when those that may not go yet may.
// Scheduling thread.
class EvictableUnits {
 public:
  // Both outlive this.
  EvictableUnits(const VictimQuery& query, const VictimList& units)
      : query_(query), units_(units) {}

  // From now on units are judged for the pod on that node.
  void PlaceOn(NodeRow row) {
    const NodeInfo& node = query_.handle.nodes().node(row);
    if (query_.trial.PlaceOn(query_.book.LabelsOf(node))) Forget();
  }
  // What the trial says of units has changed.
  void Forget() { may_go_.clear(); }

  // To be asked before anything is gone.
  bool MayGo(int unit) {
    const auto [may_go, is_new] = may_go_.try_emplace(unit, false);
    if (is_new) {
      const VictimTrial::Verdict verdict = query_.trial.MayEvict(units_.unit(unit));
      may_go->second = verdict.status.ok();
      any_unless_others_go_ |= verdict.unless_others_go;
      if (!may_go->second) WaitsUntil(verdict.until);
    }
    return may_go->second;
  }
  bool IsKnownToStay(int unit) const {
    const auto known = may_go_.find(unit);
    return known != may_go_.end() && !known->second;
  }
  // Beside those that are gone by now.
  VictimTrial::Verdict MayGoToo(int unit) const { return query_.trial.MayEvict(units_.unit(unit)); }

  void WaitsUntil(absl::Time until) { retry_at_ = std::min(retry_at_, until); }
  // When the first of those who may not go may.
  absl::Time retry_at() const { return retry_at_; }
  // Some unit may go only once others are gone.
  bool any_unless_others_go() const { return any_unless_others_go_; }

 private:
  const VictimQuery& query_;
  const VictimList& units_;
  absl::flat_hash_map<int, bool> may_go_;  // on the node of the last PlaceOn()
  absl::Time retry_at_ = absl::InfiniteFuture();
  bool any_unless_others_go_ = false;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_EVICTABLE_UNITS_H_
