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

// Of a claim: it is bound for good, and the node of its pod, for which it gets a new volume.
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

  const Quantity& size() const { return capacity; }
  bool Matches(const LabelSet& node_labels) const { return affinity.Matches(node_labels); }
  std::optional<std::pair<Symbol, Symbol>> NeededLabel() const { return affinity.NeededLabel(); }
};

// The volumes of one storage class, the smallest first, of equals the one that came first. A
// position is an index into volumes().
class VolumesOfClass {
 public:
  // In the order in which they came.
  explicit VolumesOfClass(const std::vector<std::shared_ptr<const ParsedVolume>>& volumes);

  absl::Span<const std::shared_ptr<const ParsedVolume>> volumes() const { return by_size_.items(); }
  const SizedByNode<ParsedVolume>& by_size() const { return by_size_; }
  // Those whose claimRef has that namespace and name, in the order in which they came.
  absl::Span<const int> PromisedTo(absl::string_view namespace_name, absl::string_view name) const;
  // The position of the volume, or -1.
  int Find(const api::PersistentVolume& volume) const;

 private:
  SizedByNode<ParsedVolume> by_size_;
  absl::flat_hash_map<std::string, std::vector<int>> by_claim_;
  absl::flat_hash_map<const api::PersistentVolume*, int> positions_;
};

// Follows the cluster. Threads: the scheduling thread.
class VolumesByClass {
 public:
  // Those of that class as of now; null if there are none.
  std::shared_ptr<const VolumesOfClass> Of(const ObjectStore& objects,
                                           const std::string& class_name);

 private:
  void Read(const ObjectStore& objects);

  uint64_t version_ = 0;  // of the volumes
  absl::flat_hash_map<const api::PersistentVolume*, std::shared_ptr<const ParsedVolume>> parsed_;
  absl::flat_hash_map<std::string, std::shared_ptr<const VolumesOfClass>> by_class_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_VOLUMES_BY_CLASS_H_
