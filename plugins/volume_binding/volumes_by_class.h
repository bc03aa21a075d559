// SPDX-License-Identifier: Apache-2.0
// The volumes of the cluster as claims without one look for them.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_VOLUMES_BY_CLASS_H_
#define BERTH_PLUGINS_VOLUME_BINDING_VOLUMES_BY_CLASS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/quantity.h"
#include "berth/api/symbol.h"
#include "berth/handle/object_store.h"
#include "plugins/volume_binding/sized_by_node.h"
#include "plugins/volume_binding/volume_affinity.h"

namespace berth {

// For a claim: it is bound for good, and the node of its pod, for which it gets a new volume.
inline constexpr char kBindCompleted[] = "pv.kubernetes.io/bind-completed";
inline constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";

// The annotation of that name, or "".
template <class T>
std::string Annotation(const T& object, const char* key) {
  const auto found = object.metadata().annotations().find(key);
  return found == object.metadata().annotations().end() ? std::string() : found->second;
}

// The storage class of a volume or a claim.
template <class T>
std::string ClassOf(const T& object) {
  constexpr char kBetaClass[] = "volume.beta.kubernetes.io/storage-class";
  const bool beta = object.metadata().annotations().contains(kBetaClass);
  return beta ? Annotation(object, kBetaClass) : object.spec().storage_class_name();
}

// The amount of storage in a map of resources, 0 if there is none.
template <class Map>
Quantity Storage(const Map& resources) {
  const auto found = resources.find("storage");
  if (found == resources.end()) return Quantity();
  return Quantity::Parse(found->second.string()).value_or(Quantity());
}

// What is parsed of a volume.
struct ParsedVolume {
  std::shared_ptr<const api::PersistentVolume> volume;
  VolumeAffinity affinity;
  Quantity capacity;
  int slot = -1;  // VolumesByClass::FreeAt(); -1 if it is not free

  explicit ParsedVolume(std::shared_ptr<const api::PersistentVolume> of);
  // Whether claims may take it to which it is not promised.
  bool is_free() const;
  const std::string& name() const { return volume->metadata().name(); }
  const Quantity& size() const { return capacity; }
  bool Matches(const LabelSet& node_labels) const { return affinity.Matches(node_labels); }
  std::optional<std::pair<Symbol, Symbol>> NeededLabel() const { return affinity.NeededLabel(); }
};

using ParsedVolumePtr = std::shared_ptr<const ParsedVolume>;

// The volumes of one storage class.
class VolumesOfClass {
 public:
  void Insert(const ParsedVolumePtr& volume);
  // One that was inserted.
  void Erase(const ParsedVolumePtr& volume);

  // Those that are available to any claim: no other volume suits a claim, but one that is promised
  // to it.
  const SizedByNode<ParsedVolume>& free() const { return free_; }
  // Grows with each that comes to be free.
  uint64_t became_free() const { return became_free_; }
  // Those whose claimRef has that namespace and name, the smallest first.
  absl::Span<const ParsedVolumePtr> PromisedTo(absl::string_view namespace_name,
                                               absl::string_view name) const;

 private:
  SizedByNode<ParsedVolume> free_;
  uint64_t became_free_ = 0;
  absl::flat_hash_map<std::string, std::vector<ParsedVolumePtr>> by_claim_;
};

// Follows the cluster: what Refresh() costs follows the volumes that changed. Threads: the
// scheduling thread changes it.
class VolumesByClass {
 public:
  // Brings all in step with the objects.
  void Refresh(const ObjectStore& objects);

  // Those of that class; null if there never were any. Valid as long as this is, and follows it.
  const VolumesOfClass* Of(const std::string& class_name) const;
  // The volume, if it is still this object; or null.
  ParsedVolumePtr Find(const api::PersistentVolume& volume) const;
  // The free volume of that slot, or null if it is no longer free. Slots are not used again, and
  // valid until slots_id() changes.
  const api::PersistentVolume* FreeAt(int slot) const { return free_by_slot_[slot]; }
  uint64_t slots_id() const { return slots_id_; }

 private:
  void Read(const ObjectStore& objects);
  void ApplyChange(const std::string& name, const Object* now);
  void Insert(const Object& object);

  std::optional<uint64_t> version_;  // of the volumes
  absl::flat_hash_map<std::string, ParsedVolumePtr> by_name_;
  absl::node_hash_map<std::string, VolumesOfClass> by_class_;
  std::vector<const api::PersistentVolume*> free_by_slot_;
  uint64_t slots_id_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_VOLUMES_BY_CLASS_H_
