// SPDX-License-Identifier: Apache-2.0
// Which members of a gang are beyond its minimum, for a pod on one node.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_SURPLUS_BY_NODE_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_SURPLUS_BY_NODE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/columns/node_table.h"
#include "berth/preemption/victim_rules.h"
#include "plugins/capacity_scheduling/victim_list.h"

namespace berth {

// A list in which any member of a gang may be surplus: on each node those that stand there are the
// first that go alone, and whoever is left goes with the rest. A unit that is other than the listed
// one has the place of that one in the order; where two have the same place, the member that the
// list has first comes first.
class SurplusByNode final : public VictimList {
 public:
  // Both outlive this.
  SurplusByNode(const NodeTable& nodes, VictimList& listed) : nodes_(nodes), listed_(listed) {}

  int At(int position) override { return listed_.At(position); }
  // The unit that takes the place of a listed one in a plan for that row; mostly itself.
  int ForRow(int number, NodeRow row);
  const VictimUnit& unit(int number) const override;
  bool Before(int a, int b) const override;
  // As they are for this row.
  const std::vector<int>& OnRow(NodeRow row) override {
    const OfRow* const split = Row(row);
    return split == nullptr ? listed_.OnRow(row) : split->units;
  }
  std::vector<int> OfGang(int number) override;
  int32_t LeastPriorityFrom(int position) const override {
    return listed_.LeastPriorityFrom(position);
  }
  int64_t MostRequested(ResourceId resource) override { return listed_.MostRequested(resource); }

 private:
  struct Made {
    VictimUnit unit;
    int listed;         // the unit whose place it has
    int place, member;  // of these two in the gang: of the listed one, and of its first pod
    int begin, end;     // the numbers of its gang's units
  };
  struct OfRow {
    std::vector<int> units;
    absl::flat_hash_map<int, int> in_place_of;  // of listed ones
  };
  static constexpr int kFirstMade = 1 << 30;  // lists have no such numbers
  static bool IsMade(int number) { return number >= kFirstMade; }
  const Made& made(int number) const { return made_[number - kFirstMade]; }
  int ListedOf(int number) const { return IsMade(number) ? made(number).listed : number; }
  // Null where all units are as listed.
  const OfRow* Row(NodeRow row);
  void Split(int core, Symbol node, OfRow& of_row);

  const NodeTable& nodes_;
  VictimList& listed_;
  std::vector<Made> made_;
  absl::flat_hash_map<NodeRow, std::unique_ptr<const OfRow>> rows_;  // that have pods of gangs
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_SURPLUS_BY_NODE_H_
