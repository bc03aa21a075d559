// SPDX-License-Identifier: Apache-2.0
// What is written to the cluster so that a pod gets its volumes, and whether it has got them.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_VOLUME_WRITES_H_
#define BERTH_PLUGINS_VOLUME_BINDING_VOLUME_WRITES_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "plugins/volume_binding/pod_volumes.h"

namespace berth {

// The writes of one pod on one node, with the objects as they were when it was reserved there. As
// kube-scheduler v1.35 binder.go bindAPIUpdate and checkBindings, with their texts. What becomes of
// it is up to the volume controller and the provisioners of the cluster.
class VolumeWrites {
 public:
  VolumeWrites() = default;
  explicit VolumeWrites(const VolumeChoice& choice);

  bool empty() const { return bindings_.empty() && provisions_.empty(); }

  // Promises the chosen volumes to their claims, and selects the node for claims that get new ones.
  // Ends with the first write that fails; what is written stays so. Blocks; any thread.
  absl::Status Write(absl::string_view node_name, Handle& handle);
  // The claims and volumes whose changes may make a difference.
  void PollWhenTheyChange(CycleState& state) const;

  // Whether all claims are bound. An error if that will not happen any more, or the node cannot use
  // what they are bound to. After Write(), on the scheduling thread.
  absl::StatusOr<bool> AreBound(absl::string_view node_name, const Handle& handle) const;

 private:
  struct Binding {
    std::shared_ptr<const api::PersistentVolume> volume;
    std::shared_ptr<const api::PersistentVolumeClaim> claim;
    bool written = false;  // false, too, if there is nothing to change
  };
  struct Provision {
    std::shared_ptr<const api::PersistentVolumeClaim> claim;
    bool written = false;
  };
  struct Node;

  static absl::StatusOr<bool> IsBound(const Binding& binding, const Node& node);
  static absl::StatusOr<bool> IsBound(const Provision& provision, const Node& node);

  std::vector<Binding> bindings_;
  std::vector<Provision> provisions_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_VOLUME_WRITES_H_
