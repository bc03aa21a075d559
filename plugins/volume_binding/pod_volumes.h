// SPDX-License-Identifier: Apache-2.0
// The claims of one pod, sorted by what they still need, and which nodes can give it.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_POD_VOLUMES_H_
#define BERTH_PLUGINS_VOLUME_BINDING_POD_VOLUMES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/quantity.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"
#include "berth/handle/object_store.h"
#include "berth/incremental/filter_inputs.h"
#include "plugins/volume_binding/assumed_volumes.h"
#include "plugins/volume_binding/storage_by_class.h"
#include "plugins/volume_binding/volume_affinity.h"
#include "plugins/volume_binding/volumes_by_class.h"

namespace berth {

// Where a class can make new volumes for a claim.
struct Provisioning {
  bool supported = false;
  // Labels of the nodes it serves, one of the lists; absent means any node.
  std::optional<std::vector<std::vector<LabelRequirement>>> topologies;
  // Where the driver counts what is free: which nodes have how much of it. Null: none has any.
  bool storage_is_limited = false;
  const StorageOfClass* storage = nullptr;
};

// A claim that gets its volume once its pod has a node.
struct DelayedClaim {
  std::shared_ptr<const api::PersistentVolumeClaim> claim;
  std::string identity;
  std::optional<std::string> selected_node;  // where it is being provisioned
  Quantity request;
  // The volumes among which it looks, null if there are none; and those that are promised to this
  // very claim, which then takes no other.
  const VolumesOfClass* volumes = nullptr;
  std::vector<ParsedVolumePtr> promised;
  std::optional<LabelSelector> selector;  // of volumes
  std::string selector_error;             // why it is none
  Provisioning provisioning;
};

// What is kept of all volumes and capacities.
struct KnownVolumes {
  VolumesByClass volumes;
  StorageByClass storage;
};

struct PodVolumes {
  // The volumes of the bound claims; nothing for one that does not exist.
  std::vector<std::optional<VolumeAffinity>> bound;
  std::vector<DelayedClaim> delayed;
  std::vector<size_t> by_request;  // indexes into `delayed`, the smallest request first
  bool has_unbound_immediate = false;
  FilterInputs inputs;  // of ChooseVolumes()
};

// Which volumes a pod would take on one node.
struct VolumeChoice {
  struct Binding {
    const DelayedClaim* claim;
    const ParsedVolume* volume;
  };
  std::vector<Binding> bindings;
  std::vector<const DelayedClaim*> provisions;
};

// Whether the pod's claims are there and fit to be used. `has_claims` is set to whether it has any.
Status CheckClaims(const PodInfo& pod, const ObjectStore& objects, bool& has_claims);

// Looks at the claims, which CheckClaims() found to be right. Error if a class is not valid.
// `volumes` is about `known`, which must outlive it.
Status FindPodVolumes(const PodInfo& pod, const ObjectStore& objects, const AssumedVolumes& assumed,
                      KnownVolumes& known, PodVolumes& volumes);

// Why a pod cannot run on a node, as far as its volumes go.
struct VolumeVerdict {
  bool bound_match = true, unbound_match = true, enough_storage = true, bound_exist = true;
  std::string error;  // ends the cycle

  bool ok() const {
    return bound_match && unbound_match && enough_storage && bound_exist && error.empty();
  }
  // Another number for each list of reasons.
  uint8_t reasons() const {
    return static_cast<uint8_t>(bound_match | unbound_match << 1 | enough_storage << 2 |
                                bound_exist << 3);
  }
  Status ToStatus() const;  // with every reason
};

// Whether the pod can run on the node, and in `choice`, which is empty, what it would take there.
// `csi_node` is the node's, or null.
VolumeVerdict ChooseVolumes(const PodVolumes& volumes, const AssumedVolumes& assumed,
                            const NodeInfo& node, const api::CSINode* csi_node,
                            VolumeChoice& choice);

// What ChooseVolumes() finds out of one claim at a time.

// The smallest free volume for the claim that nodes with these labels can use; or null.
const ParsedVolume* FindFreeVolume(const DelayedClaim& claim, const AssumedVolumes& assumed,
                                   const LabelSet& node_labels);
// Whether the claim can get a new volume on nodes with these labels.
VolumeVerdict CheckProvision(const DelayedClaim& claim, const LabelSet& node_labels);
// What FindFreeVolume() goes by, but the claim's identity: for claims without a volume that is
// promised to them.
std::string RequestOf(const DelayedClaim& claim);

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_POD_VOLUMES_H_
