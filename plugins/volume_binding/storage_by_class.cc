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

const StorageOfClass* StorageByClass::Of(const std::string& class_name) const {
  const auto found = by_class_.find(class_name);
  return found == by_class_.end() ? nullptr : &found->second;
}

void StorageByClass::Refresh(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kCSIStorageCapacity);
  if (version_ == version) return;
  const auto changes = version_.has_value()
                           ? objects.ChangesSince(Kind::kCSIStorageCapacity, *version_)
                           : std::nullopt;
  version_ = version;
  if (!changes.has_value()) {
    Read(objects);
    return;
  }
  for (const IdentityPtr& who : *changes) {
    ApplyChange(who->key(),
                objects.Find(Kind::kCSIStorageCapacity, who->namespace_name(), who->name()));
  }
}

// The plain form: all capacities as they are.
void StorageByClass::Read(const ObjectStore& objects) {
  by_key_.clear();
  for (auto& [name, rooms] : by_class_) rooms = StorageOfClass();
  for (const Object* object : objects.List(Kind::kCSIStorageCapacity)) Insert(*object);
}

void StorageByClass::ApplyChange(const std::string& key, const Object* now) {
  if (const auto before = by_key_.find(key); before != by_key_.end()) {
    const std::shared_ptr<const StorageRoom> room = std::move(before->second);
    by_key_.erase(before);
    by_class_[room->capacity->storage_class_name()].Erase(room);
  }
  if (now != nullptr) Insert(*now);
}

void StorageByClass::Insert(const Object& object) {
  auto capacity = object.Share<api::CSIStorageCapacity>();
  const std::optional<Quantity> limit = VolumeLimit(*capacity);
  if (!limit.has_value() || !capacity->has_node_topology()) return;
  absl::StatusOr<LabelSelector> nodes = LabelSelector::FromProto(&capacity->node_topology());
  if (!nodes.ok()) return;
  const std::string& class_name = capacity->storage_class_name();
  auto room = std::make_shared<const StorageRoom>(
      StorageRoom{capacity, object.identity()->key(), limit->Value(), *std::move(nodes)});
  by_class_[class_name].Insert(room);
  by_key_.insert_or_assign(room->key, room);
}

std::optional<Quantity> VolumeLimit(const api::CSIStorageCapacity& capacity) {
  if (!capacity.has_maximum_volume_size() && !capacity.has_capacity()) return std::nullopt;
  const api::Quantity& limit =
      capacity.has_maximum_volume_size() ? capacity.maximum_volume_size() : capacity.capacity();
  const absl::StatusOr<Quantity> parsed = Quantity::Parse(limit.string());
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

}  // namespace berth
