// SPDX-License-Identifier: Apache-2.0
// What storage drivers do: make volumes for claims. There is nothing behind them.
#ifndef BERTH_SRC_CLUSTER_VOLUME_PROVISIONER_H_
#define BERTH_SRC_CLUSTER_VOLUME_PROVISIONER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/labels.h"
#include "berth/api/object.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/api/symbol.h"
#include "cluster/cluster_objects.h"

namespace berth {

// For a StorageClass: how long its provisioner takes ("90s"; 1 s if it does not say), and the names
// of nodes, separated by commas, for which it fails.
inline constexpr char kProvisionTime[] = "simulation.berth/provision-time";
inline constexpr char kProvisionFailsOn[] = "simulation.berth/provision-fails-on";

// All of them. Not thread-safe.
class VolumeProvisioner {
 public:
  explicit VolumeProvisioner(ClusterObjects& objects) : objects_(objects) {}

  // Whether the class has a provisioner at all.
  static bool Serves(const api::StorageClass& storage_class);
  static absl::Duration Time(const api::StorageClass& storage_class);

  // Makes a volume that is promised to the claim, and returns whether it could. `node_name` is the
  // node that was selected; "": any that the class allows, since the claim does not wait for a pod.
  //
  // The volume can be used where the driver's topology keys (CSINode) have that node's labels;
  // without a CSINode those of the class's allowedTopologies, and without those the zone. If the
  // driver counts its storage, the volume takes from a CSIStorageCapacity.
  bool Provision(const api::PersistentVolumeClaim& claim, const api::StorageClass& storage_class,
                 absl::string_view node_name);
  // Deletes a volume, and gives back what it took.
  void Delete(const std::string& volume_name);

  // A CSIStorageCapacity is there, has changed, or is gone. Returns whether volumes may be made of
  // it now that could not be made before.
  bool FollowCapacity(const Object& capacity, bool is_gone);

 private:
  std::shared_ptr<const api::Node> ChooseNode(const api::StorageClass& storage_class) const;
  bool TakeStorage(const api::StorageClass& storage_class, const api::Node* node,
                   const std::string& volume_name, int64_t bytes);
  void ChangeStorage(const std::string& capacity_key, int64_t bytes);

  // What is parsed of a CSIStorageCapacity of nodes.
  struct Capacity {
    uint64_t arrival;
    std::string key, class_name;
    int64_t limit_bytes;
    LabelSelector nodes;
  };
  using InOrder = std::map<uint64_t, const Capacity*>;  // by arrival
  // The capacities of a class whose nodes have one label, or of any nodes ("", "").
  using Place = std::tuple<std::string, Symbol, Symbol>;
  static Place PlaceOf(const Capacity& capacity);
  const Capacity* FindCapacity(const std::string& class_name, const api::Node& node,
                               int64_t bytes) const;

  struct Taken {
    std::string capacity;  // the key of a CSIStorageCapacity
    int64_t bytes = 0;
  };
  ClusterObjects& objects_;
  std::map<std::string, Capacity> capacities_;  // by key
  std::map<Place, InOrder> capacities_at_;
  uint64_t next_arrival_ = 0;
  std::map<std::string, Taken> taken_;      // by volume
  std::map<std::string, int64_t> largest_;  // by CSIStorageCapacity: its maximumVolumeSize at first
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_VOLUME_PROVISIONER_H_
