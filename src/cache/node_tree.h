// The order of nodes in the snapshot: zone by zone in turn.
#ifndef BERTH_SRC_CACHE_NODE_TREE_H_
#define BERTH_SRC_CACHE_NODE_TREE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/framework/node_info.h"
#include "berth/framework/node_table.h"

namespace berth {

// One node that came or went, as positions in the order.
struct OrderChange {
  Symbol node;
  // Came: one, where it is now; who was there and all behind moved up by one. Went: its own first,
  // then rising: who was at each moved to the one before it, and all behind the last one down by
  // one.
  std::vector<NodeRow> rows;
  bool came = false;
};

// kube-scheduler v1.35 backend/cache/node_tree.go: nodes in a list by zone, zones in the order in
// which they appeared; listed round robin over the zones.
class NodeTree {
 public:
  // Adds the node, or moves it to the end of its new zone if that changed. Appends what that does
  // to the order, nothing if it stays, unless `changes` is null.
  void Set(const NodeSpec& node, std::vector<OrderChange>* changes);
  // Returns whether it was there.
  bool Remove(Symbol name, std::vector<OrderChange>* changes);

  int size() const { return static_cast<int>(zone_of_.size()); }
  std::vector<Symbol> List() const;

 private:
  struct Zone {
    std::string key;
    std::vector<Symbol> nodes;
  };
  // Where the nodes of zone `index` are, from turn `from` on.
  std::vector<NodeRow> RowsOf(size_t index, size_t from) const;

  std::vector<Zone> zones_;  // none is empty
  absl::flat_hash_map<Symbol, std::string> zone_of_;
};

// "region:\0:zone" from the node's topology labels, the old ones first; empty if it has neither.
std::string ZoneKey(const NodeSpec& node);

}  // namespace berth

#endif  // BERTH_SRC_CACHE_NODE_TREE_H_
