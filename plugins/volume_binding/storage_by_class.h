// SPDX-License-Identifier: Apache-2.0
// How much storage drivers can still make volumes of, and on which nodes.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_STORAGE_BY_CLASS_H_
#define BERTH_PLUGINS_VOLUME_BINDING_STORAGE_BY_CLASS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/quantity.h"
#include "berth/api/symbol.h"
#include "berth/handle/object_store.h"
#include "plugins/volume_binding/sized_by_node.h"

namespace berth {

// What is parsed of a CSIStorageCapacity.
struct StorageRoom {
  std::shared_ptr<const api::CSIStorageCapacity> capacity;
  int64_t limit_bytes;
  LabelSelector nodes;

  int64_t size() const { return limit_bytes; }
  bool Matches(const LabelSet& node_labels) const { return nodes.Matches(node_labels); }
  std::optional<std::pair<Symbol, Symbol>> NeededLabel() const;
};

using StorageOfClass = SizedByNode<StorageRoom>;

// Follows the cluster. Threads: the scheduling thread.
class StorageByClass {
 public:
  // That of the storage class as of now; null if there is none.
  std::shared_ptr<const StorageOfClass> Of(const ObjectStore& objects,
                                           const std::string& class_name);

 private:
  void Read(const ObjectStore& objects);

  uint64_t version_ = 0;  // of the capacities
  absl::flat_hash_map<std::string, std::shared_ptr<const StorageOfClass>> by_class_;
};

// How large volumes of `capacity` may be; absent if it does not say.
std::optional<Quantity> VolumeLimit(const api::CSIStorageCapacity& capacity);

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_STORAGE_BY_CLASS_H_
