// SPDX-License-Identifier: Apache-2.0
// Volumes of the plugins that were once part of Kubernetes, seen as volumes of the CSI drivers that
// serve them now.
#ifndef BERTH_PLUGINS_NODE_VOLUME_LIMITS_MIGRATED_VOLUMES_H_
#define BERTH_PLUGINS_NODE_VOLUME_LIMITS_MIGRATED_VOLUMES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace berth {

namespace api {
class CSINode;
class PersistentVolume;
class VolumeSource;
}  // namespace api

// A plugin that was part of Kubernetes, and its driver.
struct MigratedPlugin {
  absl::string_view name;    // "kubernetes.io/gce-pd"
  absl::string_view driver;  // "pd.csi.storage.gke.io"
  bool counted;              // whether attach limits count its volumes
  bool by_annotation;        // whether a node must say that it has been migrated there
};

// The plugin that serves a volume, or null if no plugin of that kind does.
const MigratedPlugin* FindMigratedPlugin(absl::string_view name);
const MigratedPlugin* FindMigratedPlugin(const api::VolumeSource& volume);
const MigratedPlugin* FindMigratedPlugin(const api::PersistentVolume& volume);

// How the driver names the volume; nullopt if the volume's own name cannot be understood.
std::optional<std::string> CsiHandle(const api::VolumeSource& volume);
std::optional<std::string> CsiHandle(const api::PersistentVolume& volume);

// Whether the volumes of `plugin` count on the node that `node` belongs to.
bool IsMigratedOn(const api::CSINode& node, const MigratedPlugin& plugin);

// Whether no call of IsMigratedOn() tells one from the other.
bool HaveSamePlugins(const api::CSINode& a, const api::CSINode& b);

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_VOLUME_LIMITS_MIGRATED_VOLUMES_H_
