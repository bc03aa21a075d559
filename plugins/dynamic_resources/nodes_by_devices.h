// SPDX-License-Identifier: Apache-2.0
// Nodes on which claims find the same devices, and the same of them held.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_NODES_BY_DEVICES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_NODES_BY_DEVICES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/devices/fields_read.h"
#include "berth/framework/node_info.h"
#include "berth/mutex.h"
#include "plugins/dynamic_resources/cluster_devices.h"

namespace berth {

// The equivalence classes of nodes for claims that read the same fields of devices: what the
// allocator says of one node it says of all in its class. A node is put into a class again when its
// devices, or who holds them, or its object change. Threads: any.
class NodesByDevices {
 public:
  // No class: the node is like no other.
  static constexpr uint64_t kNone = 0;

  // `devices` outlives this.
  NodesByDevices(const ClusterDevices& devices, FieldsRead fields)
      : devices_(devices), fields_(std::move(fields)) {}

  const FieldsRead& fields() const { return fields_; }

  // The class of the node, or kNone. The number is that of no other class later on.
  uint64_t ClassOf(const NodeInfo& node);
  // The same of the nodes in some rows, in order.
  std::vector<uint64_t> ClassesOfRows(const NodeTable& nodes, absl::Span<const NodeRow> rows);
  // A class, and one of its nodes.
  struct Class {
    uint64_t number;
    Symbol node;
  };
  // The classes of all nodes; absent if one is in none, or they are more than `most`. Scheduling
  // thread.
  std::optional<std::vector<Class>> ClassesOf(const NodeTable& nodes, size_t most);

 private:
  struct Entry {
    uint64_t version = 0;  // ClusterDevices::NodeVersion()
    std::shared_ptr<const NodeSpec> node;
    uint64_t in_class = kNone;
    uint64_t counted_in = kNone;  // in nodes_in_
    bool is_counted = false;
  };

  Entry& Find(const NodeInfo& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t ClassNamed(const std::string& devices) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountChanges(const NodeTable& nodes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountAll(const NodeTable& nodes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(const NodeTable& nodes, NodeRow row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClusterDevices& devices_;
  const FieldsRead fields_;
  Mutex mutex_;
  absl::flat_hash_map<Symbol, Entry> of_node_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, uint64_t> classes_ ABSL_GUARDED_BY(mutex_);  // by DevicesAsRead
  uint64_t latest_ ABSL_GUARDED_BY(mutex_) = kNone;
  // So many nodes get no class before it is looked again which classes are unused.
  int refusals_ ABSL_GUARDED_BY(mutex_) = 0;

  // The nodes of the table by class, and the class by row, at these versions.
  absl::flat_hash_map<uint64_t, absl::flat_hash_set<Symbol>> nodes_in_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> of_row_ ABSL_GUARDED_BY(mutex_);
  uint64_t table_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t order_version_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t table_version_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t devices_version_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_NODES_BY_DEVICES_H_
