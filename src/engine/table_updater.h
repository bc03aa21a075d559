// SPDX-License-Identifier: Apache-2.0
// Keeps the node table, and what plugins derive of it, from falling far behind the cluster.
#ifndef BERTH_SRC_ENGINE_TABLE_UPDATER_H_
#define BERTH_SRC_ENGINE_TABLE_UPDATER_H_

#include <cstdint>

#include "engine/cluster_state.h"
#include "engine/framework_set.h"

namespace berth {

// So that no scheduling cycle has to make again what covers the whole cluster. Scheduling thread.
class TableUpdater {
 public:
  // Both outlive this.
  TableUpdater(ClusterState& cluster, const FrameworkSet& profiles)
      : cluster_(cluster), profiles_(profiles) {}

  // The cluster is known: builds the tables and calls OnSynced(). `events`: how many have come.
  void Prime(uint64_t events);
  // Brings them up to date if an attempt comes next, or if much has changed.
  void Update(uint64_t events, bool before_attempt);

 private:
  uint64_t Changes(uint64_t events) const { return cluster_.nodes().version() + events; }

  ClusterState& cluster_;
  const FrameworkSet& profiles_;
  uint64_t updated_at_ = 0;  // Changes() as of the last call of plugins
  uint64_t order_ = 0;       // NodeTable::order_version() then
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_TABLE_UPDATER_H_
