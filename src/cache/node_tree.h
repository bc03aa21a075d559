// SPDX-License-Identifier: Apache-2.0
// The order of nodes in the snapshot: zone by zone in turn.
#ifndef BERTH_SRC_CACHE_NODE_TREE_H_
#define BERTH_SRC_CACHE_NODE_TREE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/api/segmented_map.h"
#include "berth/columns/node_table.h"
#include "berth/framework/node_info.h"

namespace berth {

// One node that came or went, as positions in the order.
struct OrderChange {
  Symbol node;
  // If it came, where it is now; else as RowMove::Went() takes them.
  std::vector<NodeRow> rows;
  bool came = false;
};

// Region and zone by a node's topology labels, the old ones first; empty if it has neither.
using ZoneKey = std::pair<Symbol, Symbol>;
ZoneKey ZoneOf(const NodeSpec& node);

// kube-scheduler v1.35 backend/cache/node_tree.go: nodes in a list by zone, zones in the order in
// which they appeared; listed round robin over the zones.
class NodeTree {
 public:
  // Adds the node, or moves it to the end of its new zone if that changed. Appends what that does
  // to the order, nothing if it stays, unless `changes` is null: then the change costs the same
  // however many nodes there are. Returns whether the order changed. Until it is removed, the node
  // is this NodeInfo.
  bool Set(const NodeInfo& node, std::vector<OrderChange>* changes);
  // Returns whether it was there.
  bool Remove(Symbol name, std::vector<OrderChange>* changes);

  int size() const { return static_cast<int>(member_of_.size()); }
  std::vector<const NodeInfo*> List() const;

 private:
  // Nodes in the order in which they came, which their numbers rise in; null where one went
  // before others.
  struct Zone {
    ZoneKey key;
    std::vector<const NodeInfo*> nodes;
    std::vector<uint64_t> numbers;
    int size = 0;  // without those that went
  };
  struct Member {
    Zone* zone = nullptr;
    uint64_t number = 0;
  };

  void Add(const NodeInfo& node, Zone& zone);
  // Where in the zone's lists it is.
  static size_t PlaceOf(const Member& member);
  // In which turn the zone's node at `place` is listed.
  static size_t TurnOf(const Zone& zone, size_t place);
  // Takes those that went off the zone's lists.
  static void DropGone(Zone& zone);
  // Where the nodes of `zone` are, from turn `from` on.
  std::vector<NodeRow> RowsOf(const Zone& zone, size_t from) const;

  std::vector<std::unique_ptr<Zone>> zones_;  // none is empty
  absl::flat_hash_map<ZoneKey, Zone*> zone_of_key_;
  SegmentedMap<Symbol, Member> member_of_;
  uint64_t next_number_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_CACHE_NODE_TREE_H_
