// SPDX-License-Identifier: Apache-2.0
// The table of migrated plugins and the names their drivers give to volumes.
#include "plugins/node_volume_limits/migrated_volumes.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"

namespace berth {
namespace {

constexpr MigratedPlugin kAwsEbs = {"kubernetes.io/aws-ebs", "ebs.csi.aws.com", true, false};
constexpr MigratedPlugin kGcePd = {"kubernetes.io/gce-pd", "pd.csi.storage.gke.io", true, false};
constexpr MigratedPlugin kAzureDisk = {"kubernetes.io/azure-disk", "disk.csi.azure.com", true,
                                       false};
constexpr MigratedPlugin kCinder = {"kubernetes.io/cinder", "cinder.csi.openstack.org", true,
                                    false};
constexpr MigratedPlugin kPortworx = {"kubernetes.io/portworx-volume", "pxd.portworx.com", true,
                                      true};
constexpr MigratedPlugin kAzureFile = {"kubernetes.io/azure-file", "file.csi.azure.com", false,
                                       false};
constexpr MigratedPlugin kVsphere = {"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com",
                                     false, false};

template <class Source>
const MigratedPlugin* PluginOf(const Source& source) {
  if (source.has_aws_elastic_block_store()) return &kAwsEbs;
  if (source.has_gce_persistent_disk()) return &kGcePd;
  if (source.has_azure_disk()) return &kAzureDisk;
  if (source.has_cinder()) return &kCinder;
  if (source.has_portworx_volume()) return &kPortworx;
  if (source.has_azure_file()) return &kAzureFile;
  if (source.has_vsphere_volume()) return &kVsphere;
  return nullptr;
}

// "aws://zone/vol-1" or "vol-1".
std::optional<std::string> EbsHandle(absl::string_view volume_id) {
  constexpr absl::string_view kScheme = "aws://";
  if (!absl::StartsWith(volume_id, kScheme)) return std::string(volume_id);
  const size_t slash = volume_id.find('/', kScheme.size());
  if (slash == absl::string_view::npos) return std::nullopt;
  absl::string_view id = volume_id.substr(slash);
  while (absl::ConsumePrefix(&id, "/")) continue;
  while (absl::ConsumeSuffix(&id, "/")) continue;
  if (!absl::StartsWith(id, "vol-") || absl::StrContains(id, '/')) return std::nullopt;
  return std::string(id);
}

// "us-east1" of "us-east1-b"; empty if the zone is not written like that.
absl::string_view RegionOf(absl::string_view zone) {
  const std::vector<absl::string_view> parts = absl::StrSplit(zone, '-');
  return parts.size() == 3 ? zone.substr(0, zone.rfind('-')) : absl::string_view();
}

// A disk of one zone, of the region of several zones, or of an unknown zone.
std::optional<std::string> GcePdHandle(absl::string_view disk, absl::string_view zone_label) {
  const std::vector<absl::string_view> zones = absl::StrSplit(zone_label, "__");
  if (zones.size() == 1) {
    return absl::StrCat("projects/UNSPECIFIED/zones/", zones[0].empty() ? "UNSPECIFIED" : zones[0],
                        "/disks/", disk);
  }
  const absl::string_view region = RegionOf(zones[0]);
  for (const absl::string_view zone : zones) {
    if (region.empty() || RegionOf(zone) != region) return std::nullopt;
  }
  return absl::StrCat("projects/UNSPECIFIED/regions/", region, "/disks/", disk);
}

template <class Source>
std::optional<std::string> HandleOf(const Source& source, absl::string_view zone_label) {
  if (source.has_aws_elastic_block_store()) {
    return EbsHandle(source.aws_elastic_block_store().volume_id());
  }
  if (source.has_gce_persistent_disk()) {
    return GcePdHandle(source.gce_persistent_disk().pd_name(), zone_label);
  }
  if (source.has_azure_disk()) return source.azure_disk().disk_uri();
  if (source.has_cinder()) return source.cinder().volume_id();
  if (source.has_portworx_volume()) return source.portworx_volume().volume_id();
  return std::nullopt;
}

// What the node says of them, "" if nothing.
absl::string_view MigratedPlugins(const api::CSINode& node) {
  const auto& annotations = node.metadata().annotations();
  const auto migrated = annotations.find("storage.alpha.kubernetes.io/migrated-plugins");
  return migrated == annotations.end() ? absl::string_view("") : migrated->second;
}

}  // namespace

const MigratedPlugin* FindMigratedPlugin(absl::string_view name) {
  for (const MigratedPlugin* plugin :
       {&kAwsEbs, &kGcePd, &kAzureDisk, &kCinder, &kPortworx, &kAzureFile, &kVsphere}) {
    if (plugin->name == name) return plugin;
  }
  return nullptr;
}

const MigratedPlugin* FindMigratedPlugin(const api::VolumeSource& volume) {
  return PluginOf(volume);
}

const MigratedPlugin* FindMigratedPlugin(const api::PersistentVolume& volume) {
  return PluginOf(volume.spec().persistent_volume_source());
}

std::optional<std::string> CsiHandle(const api::VolumeSource& volume) {
  return HandleOf(volume, "");
}

std::optional<std::string> CsiHandle(const api::PersistentVolume& volume) {
  absl::string_view zones = "";  // not null: that has no parts, not even an empty one
  for (const char* key :
       {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"}) {
    const auto label = volume.metadata().labels().find(key);
    if (zones.empty() && label != volume.metadata().labels().end()) zones = label->second;
  }
  return HandleOf(volume.spec().persistent_volume_source(), zones);
}

bool IsMigratedOn(const api::CSINode& node, const MigratedPlugin& plugin) {
  if (!plugin.counted) return false;
  if (!plugin.by_annotation) return true;
  for (const absl::string_view name : absl::StrSplit(MigratedPlugins(node), ',')) {
    if (name == plugin.name) return true;
  }
  return false;
}

bool HaveSamePlugins(const api::CSINode& a, const api::CSINode& b) {
  return MigratedPlugins(a) == MigratedPlugins(b);
}

}  // namespace berth
