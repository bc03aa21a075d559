// SPDX-License-Identifier: Apache-2.0
// The units of one plan of evictions, in their order.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_LIST_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/api/resources.h"
#include "berth/columns/node_table.h"
#include "berth/preemption/victim_rules.h"

namespace berth {

// Units by numbers that say nothing of their order. Lives as long as one plan; meanwhile nothing
// changes but the plan.
class VictimList {
 public:
  virtual ~VictimList() = default;

  // The number of the unit at a position of the order, the first to go at 0; -1 behind the last.
  virtual int At(int position) = 0;
  virtual const VictimUnit& unit(int number) const = 0;
  virtual bool Before(int a, int b) const = 0;
  // Those with a pod on the row, in order.
  virtual const std::vector<int>& OnRow(NodeRow row) = 0;
  // Those of the unit's gang, itself included, in any order; of a pod on its own that unit.
  virtual std::vector<int> OfGang(int number) = 0;

  // Bounds: no pod at that position or behind it has a lower priority, and none of any unit
  // requests more of the resource. The position is one that At() was asked for.
  virtual int32_t LeastPriorityFrom(int position) const = 0;
  virtual int64_t MostRequested(ResourceId resource) = 0;
};

// The plain form: all of VictimTrial::Units().
class AllVictims final : public VictimList {
 public:
  AllVictims(const NodeTable& nodes, std::vector<VictimUnit> units);

  int At(int position) override {
    return position < static_cast<int>(units_.size()) ? position : -1;
  }
  const VictimUnit& unit(int number) const override { return units_[number]; }
  bool Before(int a, int b) const override { return a < b; }
  const std::vector<int>& OnRow(NodeRow row) override;
  std::vector<int> OfGang(int number) override;
  int32_t LeastPriorityFrom(int position) const override { return least_priority_[position]; }
  int64_t MostRequested(ResourceId resource) override;

 private:
  const std::vector<VictimUnit> units_;
  absl::flat_hash_map<NodeRow, std::vector<int>> on_row_;
  std::vector<int32_t> least_priority_;  // by position
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_VICTIM_LIST_H_
