// The claims of one pod, sorted by what they still need, and which nodes can give it.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_POD_VOLUMES_H_
#define BERTH_PLUGINS_VOLUME_BINDING_POD_VOLUMES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/quantity.h"
#include "berth/framework/filter_basis.h"
#include "berth/framework/node_info.h"
#include "berth/framework/object_store.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"
#include "plugins/volume_binding/assumed_volumes.h"
#include "plugins/volume_binding/volume_affinity.h"

namespace berth {

// A volume that a claim could take on the nodes of its affinity.
struct VolumeCandidate {
  std::shared_ptr<const api::PersistentVolume> volume;
  VolumeAffinity affinity;
  Quantity capacity;
  bool promised = false;  // to this very claim, which then takes no other
};

// Where a class can make new volumes for a claim.
struct Provisioning {
  bool supported = false;
  // Labels of the nodes it serves, one of the lists; absent means any node.
  std::optional<std::vector<std::vector<LabelRequirement>>> topologies;
  // Nodes with enough free storage, one of the selectors; absent means that nobody counts.
  std::optional<std::vector<LabelSelector>> storage;
};

// A claim that gets its volume once its pod has a node.
struct DelayedClaim {
  std::shared_ptr<const api::PersistentVolumeClaim> claim;
  std::string identity;
  std::optional<std::string> selected_node;  // where it is being provisioned
  Quantity request;
  std::vector<VolumeCandidate> candidates;  // promised ones, then the smallest first
  std::string candidates_error;             // why they could not be found
  Provisioning provisioning;
};

struct PodVolumes {
  // The volumes of the bound claims; nothing for one that does not exist.
  std::vector<std::optional<VolumeAffinity>> bound;
  std::vector<DelayedClaim> delayed;
  std::vector<size_t> by_request;  // indexes into `delayed`, the smallest request first
  bool has_unbound_immediate = false;
  FilterBasis basis;  // of ChooseVolumes()
};

// Which volumes a pod would take on one node.
struct VolumeChoice {
  struct Binding {
    const DelayedClaim* claim;
    const VolumeCandidate* candidate;
  };
  std::vector<Binding> bindings;
  std::vector<const DelayedClaim*> provisions;
};

// Whether the pod's claims are there and fit to be used. `has_claims` is set to whether it has any.
Status CheckClaims(const PodInfo& pod, const ObjectStore& objects, bool& has_claims);

// Looks at the claims, which CheckClaims() found to be right. Error if a class is not valid.
Status FindPodVolumes(const PodInfo& pod, const ObjectStore& objects, const AssumedVolumes& assumed,
                      PodVolumes& volumes);

// Success and what the pod would take on the node, or every reason why it cannot run there.
// `csi_node` is the node's, or null.
Status ChooseVolumes(const PodVolumes& volumes, const NodeInfo& node, const api::CSINode* csi_node,
                     VolumeChoice& choice);

// How large volumes may be that `capacity` stands for; nothing if it does not say.
std::optional<Quantity> VolumeLimit(const api::CSIStorageCapacity& capacity);

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_POD_VOLUMES_H_
