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
#include "absl/container/node_hash_map.h"
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
  std::string key;  // "namespace/name"
  int64_t limit_bytes;
  LabelSelector nodes;

  const std::string& name() const { return key; }
  int64_t size() const { return limit_bytes; }
  bool Matches(const LabelSet& node_labels) const { return nodes.Matches(node_labels); }
  std::optional<std::pair<Symbol, Symbol>> NeededLabel() const;
};

using StorageOfClass = SizedByNode<StorageRoom>;

// Follows the cluster: what Refresh() costs follows the capacities that changed. Threads: the
// scheduling thread changes it.
class StorageByClass {
 public:
  // Brings all in step with the objects.
  void Refresh(const ObjectStore& objects);

  // That of the storage class; null if there never was any. Valid as long as this is, and follows
  // it.
  const StorageOfClass* Of(const std::string& class_name) const;

 private:
  void Read(const ObjectStore& objects);
  void ApplyChange(const std::string& key, const Object* now);
  void Insert(const Object& object);

  std::optional<uint64_t> version_;  // of the capacities
  absl::flat_hash_map<std::string, std::shared_ptr<const StorageRoom>> by_key_;
  absl::node_hash_map<std::string, StorageOfClass> by_class_;
};

// How large volumes of `capacity` may be; absent if it does not say.
std::optional<Quantity> VolumeLimit(const api::CSIStorageCapacity& capacity);

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_STORAGE_BY_CLASS_H_
