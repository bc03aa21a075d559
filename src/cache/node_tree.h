// The order of nodes in the snapshot: zone by zone in turn.
#ifndef BERTH_SRC_CACHE_NODE_TREE_H_
#define BERTH_SRC_CACHE_NODE_TREE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/framework/node_info.h"

namespace berth {

// kube-scheduler v1.35 backend/cache/node_tree.go: nodes in a list by zone, zones in the order in
// which they appeared; listed round robin over the zones.
class NodeTree {
 public:
  // Adds the node, or moves it to the end of its new zone if that changed. Returns whether the
  // order changed.
  bool Set(const NodeSpec& node);
  bool Remove(Symbol name);

  int size() const { return static_cast<int>(zone_of_.size()); }
  std::vector<Symbol> List() const;

 private:
  struct Zone {
    std::string key;
    std::vector<Symbol> nodes;
  };
  std::vector<Zone> zones_;  // none is empty
  absl::flat_hash_map<Symbol, std::string> zone_of_;
};

// "region:\0:zone" from the node's topology labels, the old ones first; empty if it has neither.
std::string ZoneKey(const NodeSpec& node);

}  // namespace berth

#endif  // BERTH_SRC_CACHE_NODE_TREE_H_
