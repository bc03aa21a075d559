// SPDX-License-Identifier: Apache-2.0
// Implementation of storage_by_class.h.
#include "plugins/volume_binding/storage_by_class.h"

#include <vector>

#include "berth/api/storage_v1.pb.h"

namespace berth {

std::optional<std::pair<Symbol, Symbol>> StorageRoom::NeededLabel() const {
  for (const LabelRequirement& requirement : nodes.requirements()) {
    if (requirement.op() != SelectorOperator::kIn || requirement.values().size() != 1) continue;
    return std::pair(requirement.key(), requirement.values().front());
  }
  return std::nullopt;
}

std::shared_ptr<const StorageOfClass> StorageByClass::Of(const ObjectStore& objects,
                                                         const std::string& class_name) {
  const uint64_t version = objects.version(Kind::kCSIStorageCapacity);
  if (version != version_) Read(objects);
  version_ = version;
  const auto found = by_class_.find(class_name);
  return found == by_class_.end() ? nullptr : found->second;
}

void StorageByClass::Read(const ObjectStore& objects) {
  absl::flat_hash_map<std::string, std::vector<std::shared_ptr<const StorageRoom>>> of_class;
  for (const Object* object : objects.List(Kind::kCSIStorageCapacity)) {
    auto capacity = object->Share<api::CSIStorageCapacity>();
    const std::optional<Quantity> limit = VolumeLimit(*capacity);
    if (!limit.has_value() || !capacity->has_node_topology()) continue;
    absl::StatusOr<LabelSelector> nodes = LabelSelector::FromProto(&capacity->node_topology());
    if (!nodes.ok()) continue;
    of_class[capacity->storage_class_name()].push_back(std::make_shared<const StorageRoom>(
        StorageRoom{capacity, limit->Value(), *std::move(nodes)}));
  }
  by_class_.clear();
  for (auto& [name, rooms] : of_class) {
    by_class_[name] = std::make_shared<const StorageOfClass>(std::move(rooms));
  }
}

std::optional<Quantity> VolumeLimit(const api::CSIStorageCapacity& capacity) {
  if (!capacity.has_maximum_volume_size() && !capacity.has_capacity()) return std::nullopt;
  const api::Quantity& limit =
      capacity.has_maximum_volume_size() ? capacity.maximum_volume_size() : capacity.capacity();
  const absl::StatusOr<Quantity> parsed = Quantity::Parse(limit.string());
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

}  // namespace berth
