// SPDX-License-Identifier: Apache-2.0
// The volumes of a pod that count against the attach limits of nodes.
#ifndef BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHABLE_VOLUMES_H_
#define BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHABLE_VOLUMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"
#include "berth/handle/object_store.h"
#include "plugins/node_volume_limits/migrated_volumes.h"

namespace berth {

struct AttachableVolume {
  std::string driver;
  std::string unique_name;                 // "driver/handle"
  const MigratedPlugin* plugin = nullptr;  // counts only where this is migrated; null: everywhere
};

// The objects that say which volumes a pod has, whether they are there or not.
struct VolumeSources {
  absl::InlinedVector<uint64_t, 2> objects;  // ObjectHash() of claims and PersistentVolumes
  bool classes = false;                      // some StorageClass
};
uint64_t ObjectHash(Kind kind, absl::string_view namespace_name, absl::string_view name);

enum class PodAge { kNew, kRunning };

// Whether the pod may have such volumes at all.
bool MayAttach(const PodInfo& pod);

// Adds the volumes of the pod; of a claim without a volume the one it will get. A rejection or
// error if a volume cannot be understood: of a new pod, every claim must be there. Adds what was
// looked at to `sources`.
Status AddAttachableVolumes(const PodInfo& pod, PodAge age, const ObjectStore& objects,
                            std::vector<AttachableVolume>& volumes, VolumeSources& sources);

// The volume that a VolumeAttachment is about; nothing if it does not count.
std::optional<AttachableVolume> FindAttached(const api::VolumeAttachment& attachment,
                                             const ObjectStore& objects);

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHABLE_VOLUMES_H_
