// SPDX-License-Identifier: Apache-2.0
// What a remote plugin was told of the nodes, and what it is to be told next.
#ifndef BERTH_SRC_REMOTE_PLUGIN_NODE_MIRROR_H_
#define BERTH_SRC_REMOTE_PLUGIN_NODE_MIRROR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/framework/node_info.h"
#include "remote/plugin/description.h"

namespace berth {

// A node has an index as long as it lives; rows move, indexes do not. Only what differs from what
// was told is told, whatever the journal says: the journal says only where to look. Threads: the
// scheduling thread.
class NodeMirror {
 public:
  explicit NodeMirror(const RemoteDescription& description);

  // The peer knows nothing any more.
  void Reset();

  // What the peer is to be told so that it knows `table`; absent if it does. Afterwards it counts
  // as told.
  std::optional<v1::Update> Advance(const NodeTable& table);

  // The revision of the latest Update; 0 before the first.
  uint64_t revision() const { return revision_; }
  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }

  // As of the latest Advance().
  uint32_t index(NodeRow row) const { return index_of_row_[row]; }
  // The revision of the Update that told of the node's last change.
  uint64_t changed(uint32_t index) const { return nodes_[index].changed; }
  // The name of the node of that index; empty if there is none.
  Symbol name(uint32_t index) const { return nodes_[index].name; }

  // Whether the peer would be told the same of `node` as it was of `index`.
  bool IsAsTold(uint32_t index, const NodeInfo& node) const;
  // `node`, which differs from what was told of `index` by its pods.
  v1::HypotheticalNode Hypothetical(uint32_t index, const NodeInfo& node) const;

 private:
  struct Told {
    Symbol name;
    std::shared_ptr<const NodeSpec> spec;
    ResourceVector requested;
    int64_t pod_count = 0;
    std::vector<std::shared_ptr<const PodInfo>> pods;
    uint64_t changed = 0;
    bool is_new = false;
  };

  void FollowOrder(const NodeTable& table, v1::Update& update);
  void Compare(const NodeInfo& node, Aspects aspects, uint32_t index, v1::Update& update);
  static void FillUsage(const NodeInfo& node, v1::NodeUsage& usage);

  const RemoteDescription& description_;
  const Aspects told_aspects_;  // what may change something here
  std::vector<Told> nodes_;     // by index
  std::vector<uint32_t> free_;
  absl::flat_hash_map<Symbol, uint32_t> index_of_name_;
  std::vector<uint32_t> index_of_row_;
  uint64_t table_id_ = 0, version_ = 0, order_version_ = 0;  // of the table as it was told
  uint64_t revision_ = 0;
  bool knows_table_ = false;
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_NODE_MIRROR_H_
